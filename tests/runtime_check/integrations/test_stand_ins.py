"""Each integration against the part of its framework's interface that it uses, made here after the documentation, so
that it is tried where the framework is not installed."""

from __future__ import annotations

import enum
import importlib
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
from simulated import in_fork, in_simulation

pytest.importorskip("torch")

MODULES = {
    "lightning": ("Lightning", ("lightning", "pytorch_lightning")),
    "transformers": ("Transformers", ("transformers",)),
    "accelerate": ("Accelerate", ("accelerate",)),
    "ignite": ("PyTorch-Ignite", ("ignite",)),
    "jupyter": ("IPython", ("IPython",)),
}


def installed(name: str, **names: Any) -> None:
    """Have `import name` find a module with these names, in this process."""
    outer = ""
    for part in name.split("."):
        inner = f"{outer}.{part}" if outer else part
        module = sys.modules[inner] = types.ModuleType(inner)
        if outer:
            setattr(sys.modules[outer], part, module)
        outer = inner
    vars(sys.modules[name]).update(names)


def step(x: Any, reads: int) -> None:
    """What a training step does: a batch goes up, and some numbers come down."""
    import torch

    batch = torch.ones(3).to("cuda")
    for _ in range(reads):
        (x * batch).sum().item()


def on_device() -> Any:
    import torch

    return torch.ones(3, device="cuda")


@in_fork
def test_importing_the_run_time_api_imports_no_framework() -> None:
    import transferlint

    assert "runtime_check.guards" not in sys.modules
    import transferlint.runtime  # noqa: F401

    found = {name.partition(".")[0] for name in sys.modules}
    assert not found & {"lightning", "pytorch_lightning", "transformers", "accelerate", "ignite", "IPython", "wandb"}


@in_fork
def test_an_import_without_its_framework_says_so_in_one_line() -> None:
    for module, (title, names) in MODULES.items():
        for name in names:
            sys.modules[name] = None  # type: ignore[assignment]
        with pytest.raises(ImportError) as caught:
            importlib.import_module(f"transferlint.runtime.{module}")
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"transferlint.runtime.{module} needs ")
        assert title in message
        assert ": pip install " in message


@in_simulation
def test_lightning() -> None:
    installed("lightning.pytorch", Callback=object)
    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.lightning import TransfersCallback

    class Trainer:
        log_every_n_steps, fast_dev_run, global_step, fit_loop = 2, False, 0, None

        def __init__(self, callback: Any) -> None:
            self.rows: list[tuple[int, dict[str, float]]] = []
            self.loggers = [self]
            self.callback = callback

        def log_metrics(self, metrics: dict[str, float], step: int) -> None:
            self.rows.append((step, dict(metrics)))

        def fit(self, reads: list[int]) -> None:
            x, hooks = on_device(), self.callback
            hooks.on_fit_start(self, None)
            hooks.on_validation_start(self, None)
            step(x, 9)
            hooks.on_validation_end(self, None)
            step(x, 9)
            hooks.on_train_epoch_start(self, None)
            for number, times in enumerate(reads):
                step(x, times)
                self.global_step = number + 1
                hooks.on_train_batch_end(self, None, None, None, number)
                if self.global_step % 2 == 0:
                    x.sum().item()  # the framework reads what it logs
                    hooks.on_validation_start(self, None)
                    step(x, 9)
                    hooks.on_validation_end(self, None)
            hooks.on_fit_end(self, None)

    callback = TransfersCallback()
    trainer = Trainer(callback)
    trainer.fit([1, 2, 3, 4, 5])
    assert pickle.loads(pickle.dumps(TransfersCallback(d2h=0))).transfers.steps == 0  # as launchers send it to workers
    logged = [(at, row["transfers/h2d"], row["transfers/d2h"]) for at, row in trainer.rows]
    assert logged == [(2, 1.0, 1.5), (4, 1.0, 4.0)]
    assert "d2h 53" in str(callback.transfers)
    trainer = Trainer(TransfersCallback(d2h=0, warmup=1))
    trainer.fit([1, 0, 0])  # the third has the read of what was logged after the second
    with pytest.raises(TransferLimitExceeded, match="step 4 transferred too often: d2h 2, limit 0"):
        Trainer(TransfersCallback(d2h=0)).fit([1, 0, 0, 2])


@in_simulation
def test_transformers() -> None:
    events = "train_begin epoch_begin step_end log evaluate save train_end".split()

    def ignore(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What a callback does that wants nothing of an event."""

    base = type("TrainerCallback", (), {f"on_{name}": ignore for name in events})
    installed("transformers", TrainerCallback=base)
    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.transformers import TransfersCallback

    class Board(base):  # type: ignore[misc, valid-type]
        """An integration, which comes before the callbacks of a program."""

        def __init__(self) -> None:
            self.rows: list[dict[str, Any]] = []

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            self.rows.append(dict(logs))

    class Handler:
        def __init__(self, callbacks: list[Any]) -> None:
            self.callbacks = callbacks

        def call_event(self, name: str, state: Any, **kwargs: Any) -> None:
            for callback in self.callbacks:
                getattr(callback, f"on_{name}")(None, state, None, **kwargs)

    def train(callback: Any, reads: list[int]) -> tuple[Board, Any]:
        board, x, state = Board(), on_device(), types.SimpleNamespace(log_history=[], global_step=0)
        handler = Handler([board, callback])

        def log(logs: dict[str, Any]) -> None:
            x.sum().item()
            state.log_history.append({**logs, "step": state.global_step})
            handler.call_event("log", state, logs=logs)

        handler.call_event("train_begin", state)
        step(x, 9)
        handler.call_event("epoch_begin", state)
        for times in reads:
            step(x, times)
            state.global_step += 1
            handler.call_event("step_end", state)
            if state.global_step % 2 == 0:
                log({"loss": 1.0})
                step(x, 9)
                log({"eval_loss": 2.0})
                handler.call_event("evaluate", state)
                step(x, 9)
                handler.call_event("save", state)
        handler.call_event("train_end", state)
        return board, state

    board, state = train(TransfersCallback(), [1, 2, 3, 4, 5])
    for rows in (board.rows, state.log_history):
        assert [row.get("transfers/d2h") for row in rows] == [1.5, None, 3.5, None]
        assert [row.get("transfers/h2d") for row in rows] == [1.0, None, 1.0, None]
    train(TransfersCallback(d2h=0), [1, 0, 0])
    with pytest.raises(TransferLimitExceeded, match="step 3 transferred too often: d2h 1, limit 0"):
        train(TransfersCallback(d2h=0), [1, 0, 1])


@in_simulation
def test_accelerate() -> None:
    import torch

    class Accelerator:
        def __init__(self) -> None:
            self.rows: list[tuple[Any, dict[str, Any]]] = []
            self.ended = 0

        def log(self, values: dict[str, Any], step: int | None = None, log_kwargs: Any = None) -> None:
            self.rows.append((step, dict(values)))

        def end_training(self) -> None:
            self.ended += 1

    installed("accelerate", Accelerator=Accelerator)
    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.accelerate import count_transfers

    with pytest.raises(TypeError, match=r"count_transfers\(int\): an Accelerator"):
        count_transfers(3)  # type: ignore[arg-type]
    x = on_device().requires_grad_()
    optimizer = torch.optim.SGD([x], 0.1)
    x.sum().backward()
    accelerator = Accelerator()
    transfers = count_transfers(accelerator)
    for number, reads in enumerate((1, 2, 3)):
        step(x, reads)
        optimizer.step()
        accelerator.log({"loss": 1.0}, step=number)
        accelerator.log({"more": 1.0}, step=number)
        with transfers.pause():
            step(x, 9)
    accelerator.end_training()
    assert [row.get("transfers/d2h") for _, row in accelerator.rows] == [1.0, None, 2.0, None, 3.0, None]
    assert [at for at, _ in accelerator.rows] == [0, 0, 1, 1, 2, 2]
    assert accelerator.ended == 1
    assert not {"log", "end_training"} & vars(accelerator).keys()
    with count_transfers(accelerator, d2h=0):
        step(x, 1)
        optimizer.step()
        step(x, 1)
        with pytest.raises(TransferLimitExceeded, match="step 2 transferred too often: d2h 1, limit 0"):
            optimizer.step()
    step(x, 1)
    optimizer.step()


@in_simulation
def test_ignite() -> None:
    events = enum.Enum("Events", "STARTED GET_BATCH_STARTED ITERATION_COMPLETED COMPLETED")

    class Engine:
        def __init__(self, process: Callable[[int], None]) -> None:
            self.handlers: list[tuple[Any, Any]] = []
            self.process = process
            self.state = types.SimpleNamespace(metrics={})

        def add_event_handler(self, event: Any, handler: Any) -> None:
            self.handlers.append((event, handler))

        def fire(self, event: Any) -> None:
            for wanted, handler in self.handlers:
                if wanted is event:
                    handler(self)

        def run(self, data: list[int]) -> None:
            self.fire(events.STARTED)
            for one in data:
                self.fire(events.GET_BATCH_STARTED)
                self.process(one)
                self.fire(events.ITERATION_COMPLETED)
            self.fire(events.COMPLETED)

    installed("ignite.engine", Engine=Engine, Events=events)
    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.ignite import TransfersHandler

    x, seen = on_device(), []
    engine = Engine(lambda reads: step(x, reads))
    TransfersHandler().attach(engine)
    engine.add_event_handler(
        events.ITERATION_COMPLETED, lambda engine: seen.append(engine.state.metrics["transfers/d2h"])
    )
    engine.add_event_handler(events.ITERATION_COMPLETED, lambda engine: step(x, 9))  # evaluation
    engine.run([1, 2, 3])
    engine.run([4])
    assert seen == [1.0, 2.0, 3.0, 4.0]
    engine = Engine(lambda reads: step(x, reads))
    TransfersHandler(d2h=0).attach(engine)
    with pytest.raises(TransferLimitExceeded, match="step 2 transferred too often: d2h 1, limit 0"):
        engine.run([1, 1])
