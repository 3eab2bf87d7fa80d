"""What a region forbids raises before it happens, names the line, and holds for its own thread or task alone."""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
import subprocess
import sys
import threading
from typing import Any

import pytest
from simulated import in_fork, in_simulation

import runtime_check
from runtime_check import TransferForbidden, allow, guard, watch

pytest.importorskip("torch")


def on_device(*shape: int) -> Any:
    import torch

    return torch.ones(shape, device="cuda")


@in_simulation
def test_a_forbidden_transfer_raises_before_it_happens_and_names_its_line() -> None:
    import torch

    x, target = on_device(3), torch.zeros(3)
    line = sys._getframe().f_lineno + 2
    with guard(d2h="disallow_explicit"), pytest.raises(TransferForbidden) as caught:
        target.copy_(x)
    assert target.tolist() == [0.0, 0.0, 0.0]
    message = str(caught.value)
    assert f"test_guard.py:{line}: device-to-host transfer of 12 bytes: target.copy_(x)" in message
    assert "guard(d2h='disallow_explicit')" in message
    assert 'runtime.allow("why")' in message
    assert "\n" not in message
    assert (caught.value.path, caught.value.line) == (__file__, line)
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
    with pytest.raises(TransferForbidden) as shown, guard(d2h="disallow_explicit"):
        x.sum().item()
    assert shown.traceback[-1].path.name == "test_guard.py"  # and not the hooks that raised it


@in_simulation
def test_directions_are_told_apart() -> None:
    import torch

    x = on_device(3)
    with guard(h2d="disallow_explicit"):
        x.sum().item()
        with pytest.raises(TransferForbidden, match="host-to-device transfer of 12 bytes"):
            torch.ones(3).to("cuda")
    with guard(d2h="disallow_explicit"):
        torch.ones(3).to("cuda")
        for read in (x.sum().item, x.cpu, x.tolist, lambda: bool(x.sum() > 0), lambda: str(x)):
            with pytest.raises(TransferForbidden):
                read()


@in_simulation
def test_sync_is_for_every_wait_that_its_direction_does_not_decide() -> None:
    import torch

    x = on_device(3)

    def synchronize() -> None:
        torch.cuda.synchronize()  # looked up when it is called: the name is replaced meanwhile

    waits = (synchronize, x.nonzero, x.sum().item, lambda: torch.ones(2).to("cuda"))
    with guard(sync="disallow_explicit"):
        for wait in waits:
            with pytest.raises(TransferForbidden, match="sync='disallow_explicit'"):
                wait()
        torch.ones(2).pin_memory().to("cuda", non_blocking=True)
    with guard(sync="disallow_explicit", d2h="allow"):
        x.sum().item()
        with pytest.raises(TransferForbidden, match="wait for the device"):
            x.nonzero()


@in_simulation
def test_implicit_levels_let_pass_what_the_source_names() -> None:
    import torch

    x = on_device(3)
    with guard(d2h="disallow", h2d="disallow", sync="disallow"):
        x.sum().item()
        x.cpu()
        x.to("cpu")
        torch.ones(2).to(
            "cuda",
        )
        torch.tensor([1.0], device="cuda")
        torch.cuda.synchronize()
        for line in ("bool(x.sum() > 0)", "float(x[0])", "str(x)", "x[[0, 1]]", "x.nonzero()"):
            with pytest.raises(TransferForbidden):
                eval(line, {"x": x})
        with pytest.raises(TransferForbidden):
            assert x.sum() > 0
        with pytest.raises(TransferForbidden):
            x[0] = torch.tensor(1.0)


@in_simulation
def test_log_writes_one_warning_for_each_line() -> None:
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("runtime_check").addHandler(handler)
    x = on_device(3)
    with guard(d2h="log_explicit"):
        for _ in range(3):
            x.sum().item()
        x.cpu()
    with guard(d2h="log"):
        x.sum().item()
        float(x[0])
    assert len(messages) == 3
    assert re.search(r"test_guard\.py:\d+: device-to-host transfer of 4 bytes: x\.sum\(\)\.item\(\)$", messages[0])
    assert "float(x[0])" in messages[2]


@in_simulation
def test_the_innermost_region_decides() -> None:
    x = on_device(3)
    with guard(d2h="disallow_explicit"):
        with allow("the loss is printed once"):
            x.sum().item()
            with guard(d2h="disallow_explicit"), pytest.raises(TransferForbidden):
                x.sum().item()
            x.sum().item()
        with guard(h2d="disallow_explicit"), pytest.raises(TransferForbidden):
            x.sum().item()
        with guard(d2h="allow"):
            x.sum().item()
        with pytest.raises(TransferForbidden):
            x.sum().item()
    x.sum().item()


@in_simulation
def test_a_region_holds_for_its_thread_alone() -> None:
    x = on_device(3)
    raised: list[BaseException] = []

    def read() -> None:
        try:
            x.sum().item()
        except BaseException as error:
            raised.append(error)

    with guard(d2h="disallow_explicit"), watch() as run:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert raised == []
    assert run.d2h == 0
    with watch(threads="all") as everywhere:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert everywhere.d2h == 1


@in_simulation
def test_a_region_holds_for_its_task_and_the_tasks_that_start_in_it() -> None:
    x = on_device(3)

    async def read(inside: Any = None) -> float:
        await asyncio.sleep(0)
        return x.sum().item()

    async def guarded() -> None:
        with guard(d2h="disallow_explicit"):
            await asyncio.sleep(0.01)
            with pytest.raises(TransferForbidden):
                await read()
            with pytest.raises(TransferForbidden):
                await asyncio.create_task(read())
            left = asyncio.create_task(asyncio.sleep(0.02))
        await left
        await read()

    async def both() -> None:
        await asyncio.gather(guarded(), read(), read())

    asyncio.run(both())


@in_simulation
def test_a_region_holds_for_backward_passes_in_autograds_threads() -> None:
    import torch

    total = (torch.ones(3, requires_grad=True).to("cuda") * 2).sum()
    with watch() as run, guard(d2h="disallow_explicit"):
        with pytest.raises(TransferForbidden, match=r"total\.backward\(retain_graph=True\)"):
            total.backward(retain_graph=True)
        with allow("the leaf is on the host"):
            total.backward()
    assert run.d2h == 1


@in_simulation
def test_regions_are_decorators_too() -> None:
    x = on_device(3)

    @guard(d2h="disallow_explicit")
    def read(depth: int = 0) -> float:
        """Reads."""
        return read(depth - 1) if depth else x.sum().item()

    @guard(d2h="disallow_explicit")
    async def later() -> float:
        await asyncio.sleep(0)
        return x.sum().item()

    with pytest.raises(TransferForbidden):
        read(3)
    with pytest.raises(TransferForbidden):
        asyncio.run(later())
    assert (read.__name__, read.__doc__) == ("read", "Reads.")
    x.sum().item()

    def generator() -> Any:
        yield 1

    with pytest.raises(TypeError, match="is a generator: use `with`"):
        guard(d2h="disallow_explicit")(generator)


@in_simulation
def test_a_region_that_was_left_by_an_exception_is_left() -> None:
    from runtime_check.session import RECORDER

    x = on_device(3)
    with pytest.raises(ZeroDivisionError), guard(d2h="disallow_explicit"):
        raise ZeroDivisionError

    def reads() -> Any:
        with guard(d2h="disallow_explicit"):
            yield

    suspended = reads()
    next(suspended)
    suspended.close()
    x.sum().item()
    assert RECORDER._hooks is None


@in_simulation
def test_watch_counts_by_direction_bytes_and_line() -> None:
    import torch

    with watch() as run:
        x = torch.ones(3).to("cuda")
        for _ in range(2):
            x.sum().item()
        x.nonzero()
    x.sum().item()
    assert (run.h2d, run.d2h, run.h2d_bytes, run.d2h_bytes, run.sync) == (1, 2, 12, 8, 4)
    assert [record.count for record in run.records()] == [1, 2, 1]
    text = str(run).splitlines()
    assert text[0] == "h2d 1, d2h 2, waits 4"
    assert re.search(r"test_guard\.py:\d+: d2h 2 times, 8 bytes \(aten::_local_scalar_dense\)$", text[1])
    with run:
        x.cpu()
    assert run.d2h == 3


@in_fork
def test_regions_do_nothing_where_there_is_no_accelerator() -> None:
    import torch

    with guard(h2d="disallow_explicit", d2h="disallow_explicit", sync="disallow_explicit"), watch() as run:
        torch.ones(3).sum().item()
        torch.ones(3).to("cpu")
    assert (run.h2d, run.d2h, run.sync) == (0, 0, 0)


def test_wrong_arguments_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="d2h='never': one of 'allow', 'log'"):
        guard(d2h="never")
    with pytest.raises(ValueError, match="allow\\(\\) needs a reason"):
        allow(" ")
    with pytest.raises(ValueError, match='"own" or "all"'):
        watch(threads="some")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="no attribute 'gaurd'"):
        runtime_check.gaurd  # noqa: B018


def test_importing_imports_no_torch() -> None:
    code = "import sys, runtime_check as r; r.guard(d2h='disallow_explicit'), r.watch(); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


@in_fork
def test_compiled_functions_keep_their_graphs() -> None:
    import torch

    from runtime_check.session import Session

    def plain(x: Any) -> Any:
        y = torch.tensor([1.0, 2.0]) + torch.full((2,), 3.0) + x.new_full((2,), 1.0)
        y[0] = 1.0
        y.copy_(x)
        return (x.to("cpu").sin() + y.sum()).to(torch.float32)

    def with_regions(x: Any) -> Any:
        with guard(d2h="disallow_explicit"), allow("why"):
            return plain(x)

    def traced(function: Any) -> list[str]:
        found: list[str] = []

        def backend(graph: Any, inputs: Any) -> Any:
            calls = [node.target for node in graph.graph.nodes if node.op.startswith("call")]
            found.extend(getattr(target, "__name__", str(target)) for target in calls)
            return graph.forward

        torch._dynamo.reset()
        x = torch.ones(2)
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        assert torch.equal(compiled(x), function(x))
        return found

    with Session(lambda event: None, trace=True):  # imports torch._dynamo while names are replaced
        first = traced(plain)
    alone = traced(plain)
    assert "sin" in alone
    assert "tensor" in alone
    assert first == alone
    assert traced(with_regions) == alone
    with guard(d2h="disallow_explicit"):
        assert traced(plain) == alone
    with Session(lambda event: None, trace=False):
        assert traced(plain) == alone


def test_a_wrong_policy_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=re.escape("d2h='dissallow': one of 'allow', 'log', 'disallow',")) as caught:
        guard(d2h="dissallow")
    assert "(did you mean 'disallow'?)" in str(caught.value)
    with pytest.raises(ValueError, match="policy=3: one of"):
        guard(3)  # type: ignore[arg-type]


@in_simulation
def test_one_policy_is_for_both_directions_and_waits_and_yields_to_that_of_a_direction() -> None:
    import torch

    x = on_device(3)
    with guard("disallow"):
        x.cpu()
        for line in ("x + bool(x.sum())", "x[0].__setitem__((), torch.tensor(1.0))", "x.nonzero()"):
            with pytest.raises(TransferForbidden, match=re.escape("refused by guard('disallow')")):
                eval(line, {"x": x, "torch": torch})
    with guard("disallow_explicit", h2d="allow"):
        torch.ones(2).to("cuda")
        with pytest.raises(TransferForbidden):
            x.cpu()
        with guard("allow"):
            x.cpu()
    with guard("disallow_explicit", d2h="log"):
        x.cpu()


@in_simulation
def test_what_one_call_moves_is_measured() -> None:
    from transferlint import runtime

    x = on_device(4)
    found = runtime.measure(lambda: (x.sum().item(), x.cpu(), x + 1), calls=5)
    assert (found.calls, found.h2d, found.d2h, found.d2h_bytes) == (5, 0.0, 2.0, 20.0)
    assert {record.count for record in found.records if record.crossed} == {5}
    assert str(found).startswith("a call: h2d 0 (0 bytes), d2h 2 (20 bytes), waits 2\n")
    with pytest.raises(ValueError, match="at least one call"):
        runtime.measure(on_device, calls=0)


def test_the_run_time_api_has_one_name() -> None:
    from transferlint import runtime

    shared = set(runtime.__all__) & set(runtime_check.__all__)
    assert shared >= {"TransferForbidden", "allow", "guard", "step", "watch"}
    assert all(getattr(runtime, name) is getattr(runtime_check, name) for name in shared)
