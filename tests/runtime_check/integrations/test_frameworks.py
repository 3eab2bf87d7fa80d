"""Each integration in a training by its framework, on the simulated accelerator; skipped where it is not installed."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from simulated import in_simulation

pytest.importorskip("torch")


def data(count: int = 16) -> Any:
    import torch

    return torch.utils.data.TensorDataset(torch.randn(count, 4), torch.arange(count) % 2)


def batches() -> Any:
    import torch

    return torch.utils.data.DataLoader(data(), batch_size=4)


@in_simulation
def test_lightning() -> None:
    import torch

    lightning = pytest.importorskip("lightning.pytorch")
    from lightning.pytorch.loggers import Logger

    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.lightning import TransfersCallback

    warnings.simplefilter("ignore")

    class Kept(Logger):  # type: ignore[misc, valid-type]
        name, version = "kept", 0

        def __init__(self) -> None:
            super().__init__()
            self.rows: list[tuple[int, dict[str, float]]] = []

        def log_metrics(self, metrics: Any, step: int | None = None) -> None:
            self.rows.append((step or 0, dict(metrics)))

        def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
            """Nothing to keep."""

    class Net(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self, reads: bool) -> None:
            super().__init__()
            self.layer, self.reads = torch.nn.Linear(4, 2), reads

        def training_step(self, batch: Any, number: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
            if self.reads:
                loss.item()
            self.log("loss", loss)
            return loss

        def validation_step(self, batch: Any, number: int) -> None:
            self.layer(batch[0]).sum().item()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    def fit(reads: bool, **limits: int) -> list[tuple[int, dict[str, float]]]:
        logger, callback = Kept(), TransfersCallback(**limits)
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="gpu", devices=1, logger=logger, callbacks=[callback], log_every_n_steps=2,
            enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
        )  # fmt: skip
        trainer.fit(Net(reads), batches(), batches())
        return logger.rows

    rows = fit(reads=True)
    ours = [(at, row["transfers/h2d"], row["transfers/d2h"]) for at, row in rows if "transfers/h2d" in row]
    theirs = [at for at, row in rows if "loss" in row]
    assert [at for at, *_ in ours] == theirs == [1, 3, 5, 7]
    assert [h2d for _, h2d, _ in ours[1:]] == [2.0, 2.0, 2.0]  # a batch of two tensors; the first logs more
    assert [d2h for _, _, d2h in ours] == [1.0, 1.5, 1.0, 1.5]  # its own, and that of the loss which was logged before
    with pytest.raises(TransferLimitExceeded, match=r"step 2 (.|\n)*test_frameworks.py:\d+: d2h 1 time"):
        fit(reads=True, d2h=0)
    fit(reads=False, d2h=0)


@in_simulation
def test_transformers(tmp_path: str) -> None:
    import torch

    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.transformers import TransfersCallback

    os.environ["WANDB_MODE"] = "disabled"

    class Net(torch.nn.Module):
        def __init__(self, reads: bool) -> None:
            super().__init__()
            self.layer, self.reads = torch.nn.Linear(4, 2), reads

        def forward(self, x: Any, labels: Any = None) -> Any:
            logits = self.layer(x)
            loss = torch.nn.functional.cross_entropy(logits, labels)
            if self.reads:
                loss.item()
            return {"loss": loss, "logits": logits}

    class Board(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.rows: list[dict[str, Any]] = []

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            self.rows.append(dict(logs))

    def train(reads: bool, checks: bool, **limits: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        board = Board()
        args = transformers.TrainingArguments(
            output_dir=tmp_path, per_device_train_batch_size=4, num_train_epochs=2, logging_steps=2, report_to=[],
            eval_strategy="steps", eval_steps=2, save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
            logging_nan_inf_filter=checks,
        )  # fmt: skip
        rows = [{"x": x, "labels": label} for x, label in data()]
        trainer = transformers.Trainer(
            model=Net(reads), args=args, train_dataset=rows, eval_dataset=rows,
            callbacks=[board, TransfersCallback(**limits)],
        )  # fmt: skip
        trainer.train()
        return trainer.state.log_history, board.rows

    for rows in train(reads=True, checks=False):
        logged = [row for row in rows if "loss" in row]
        assert [row["transfers/d2h"] for row in logged] == [1.0, 1.0, 1.0, 1.0]
        assert all("transfers/d2h" not in row for row in rows if "eval_loss" in row)
    history, _ = train(reads=False, checks=True)  # the Trainer looks whether the loss is a number, twice a step
    assert [row["transfers/d2h"] for row in history if "loss" in row] == [2.0, 2.0, 2.0, 2.0]
    train(reads=False, checks=False, d2h=0)
    with pytest.raises(TransferLimitExceeded, match=r"step 2 (.|\n)*test_frameworks.py:\d+: d2h 1 time"):
        train(reads=True, checks=False, d2h=0)


@in_simulation
def test_accelerate() -> None:
    import torch

    accelerate = pytest.importorskip("accelerate")
    from accelerate.tracking import GeneralTracker

    from transferlint.runtime.accelerate import count_transfers

    class Kept(GeneralTracker):  # type: ignore[misc, valid-type]
        name, requires_logging_directory, main_process_only = "kept", False, True

        def __init__(self) -> None:
            super().__init__()
            self.rows: list[tuple[int | None, dict[str, Any]]] = []

        @property
        def tracker(self) -> Any:
            return self.rows

        def store_init_configuration(self, values: Any) -> None:
            """Nothing to keep."""

        def log(self, values: Any, step: int | None = None, **kwargs: Any) -> None:
            self.rows.append((step, dict(values)))

    kept = Kept()
    accelerator = accelerate.Accelerator(log_with=kept, gradient_accumulation_steps=2)
    accelerator.init_trackers("tried")
    model = torch.nn.Linear(4, 2)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), batches())
    count_transfers(accelerator)
    for number, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.log({"loss": loss.item()}, step=number)
    accelerator.end_training()
    assert [step for step, row in kept.rows if "transfers/d2h" in row] == [1, 3]
    assert [row["transfers/d2h"] for _, row in kept.rows if "transfers/d2h" in row] == [1.0, 2.0]


@in_simulation
def test_ignite() -> None:
    import torch

    pytest.importorskip("ignite")
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer

    from transferlint.runtime import TransferLimitExceeded
    from transferlint.runtime.ignite import TransfersHandler

    model = torch.nn.Linear(4, 2).cuda()
    optimizer, seen = torch.optim.SGD(model.parameters(), 0.1), []
    for limits in ({}, {"d2h": 0}):
        loss = torch.nn.functional.cross_entropy
        trainer = create_supervised_trainer(model, optimizer, loss, device="cuda")
        evaluator = create_supervised_evaluator(model, device="cuda")
        TransfersHandler(**limits).attach(trainer)  # type: ignore[arg-type]
        trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: seen.append(dict(engine.state.metrics)))
        trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda _, run=evaluator.run: run(batches()))
        if limits:
            with pytest.raises(TransferLimitExceeded, match=r"in ignite/engine/__init__.py:\d+\)"):
                trainer.run(batches())
        else:
            trainer.run(batches(), max_epochs=2)
    assert [row["transfers/d2h"] for row in seen[:8]] == [1.0] * 8  # its `output_transform` reads the loss
    assert [row["transfers/h2d"] for row in seen[:8]] == [2.0] * 8


@in_simulation
def test_tensorboard(tmp_path: str) -> None:
    import torch

    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    from transferlint.runtime import Scalars

    x = torch.ones(3, device="cuda")
    writer = SummaryWriter(tmp_path)
    with Scalars(writer, every=2) as transfers:
        for _ in range(5):
            x.sum().item()
            transfers.step()
    writer.close()
    written = EventAccumulator(tmp_path).Reload()
    assert [(event.step, event.value) for event in written.Scalars("transfers/d2h")] == [(2, 1.0), (4, 1.0), (5, 1.0)]


@in_simulation
def test_wandb(tmp_path: str) -> None:
    import torch

    wandb = pytest.importorskip("wandb")
    from transferlint.runtime import Scalars

    x = torch.ones(3, device="cuda")
    run = wandb.init(mode="offline", project="tried", dir=tmp_path, settings=wandb.Settings(silent=True))
    with Scalars(run) as transfers:
        for reads in (1, 2):
            for _ in range(reads):
                x.sum().item()
            transfers.step()
    last = dict(run.summary)
    run.finish()
    assert (last["transfers/d2h"], last["transfers/step"]) == (2, 2)
    assert list(Path(tmp_path).rglob("*.wandb"))
