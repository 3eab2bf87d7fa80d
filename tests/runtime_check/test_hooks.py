"""What the hooks tell of small programs on the simulated device: every transfer and wait, once, with the right line."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from listening import Told, text, told
from simulated import in_fork, in_simulation

from runtime_check.events import STAGED

pytest.importorskip("torch")
COLUMNS = sys.version_info >= (3, 11)
PACKAGES = str(Path(__file__).with_name("site-packages"))


def on_device(*shape: int) -> Any:
    import torch

    return torch.ones(shape, device="cuda")


def on_host(*shape: int) -> Any:
    import torch

    return torch.ones(shape)


def expression(source: str, line: str) -> str:
    """What a test expects of a line: the expression, or on Python 3.10 the whole line."""
    return source if COLUMNS else line


@in_simulation
def test_copies_and_reads_are_told_with_direction_bytes_and_expression() -> None:
    import torch

    with told() as seen:
        x = torch.ones(3, 4).to("cuda")
        x.cpu()
        x.sum().item()
        torch.tensor([1.0, 2.0], device="cuda")
    assert seen.lines() == [
        ("h2d", expression('torch.ones(3, 4).to("cuda")', 'x = torch.ones(3, 4).to("cuda")'), 48),
        ("d2h", "x.cpu()", 48),
        ("d2h", "x.sum().item()", 4),
        ("h2d", 'torch.tensor([1.0, 2.0], device="cuda")', 8),
    ]
    assert [event.sync for event in seen.events] == [True] * 4
    assert all(event.blocked > 0 and event.started > 0 for event in seen.events)
    assert {event.frames[0].path for event in seen.events} == {os.path.abspath(__file__)}


@in_simulation
def test_what_does_not_cross_is_not_told() -> None:
    import torch

    with told() as seen:
        x = on_device(3)
        x.to("cuda")
        x.to(torch.float64)
        x.clone()
        torch.empty(0).to("cuda")
        torch.ones(2) + torch.ones(2)
        torch.ones(2).sum().item()
    assert seen.lines() == []


@in_simulation
def test_transfers_that_no_word_names_are_told() -> None:
    import torch

    x = on_device(4)
    with told() as seen:
        if x.sum() > 0:
            pass
        float(x[0])
        x[[0, 1]]
        x[torch.tensor([2, 3])]
        f"{x[1]:.2f}"
    assert [line[::2] for line in seen.lines()] == [("d2h", 1), ("d2h", 4), ("h2d", 16), ("h2d", 16), ("d2h", 4)]
    assert text(seen.events[0]) == expression("x.sum() > 0", "if x.sum() > 0:")


@in_simulation
def test_a_change_of_type_crosses_as_the_type_that_torch_sends() -> None:
    import torch

    x = on_device(2)
    with told() as seen:
        x.to("cpu", torch.float64)  # converted after it came
        torch.ones(2).to("cuda", torch.float16)  # converted before it goes
        torch.ones(2).pin_memory().to("cuda", torch.float16, non_blocking=True)  # converted on the device
    assert [event.bytes for event in seen.events] == [8, 4, 8]


@in_simulation
def test_waits_inside_of_kernels_are_told() -> None:
    x = on_device(4)
    with told() as seen:
        x.nonzero()
        x[x > 0]
    assert [line[:2] for line in seen.lines()] == [("none", "x.nonzero()"), ("none", "x[x > 0]")]
    assert all(event.sync for event in seen.events)


@in_simulation
def test_waits_that_are_asked_for_are_told_by_name() -> None:
    import torch

    with told() as seen:
        torch.cuda.synchronize()
        torch.cuda.current_stream().synchronize()
        event = torch.cuda.Event()
        event.record()
        event.synchronize()
        torch.accelerator.synchronize()
    assert [event.operation for event in seen.events] == [
        "torch.cuda.synchronize",
        "torch.cuda.Stream.synchronize",
        "torch.cuda.Event.synchronize",
        "torch.accelerator.synchronize",
    ]
    assert all(event.sync and event.direction.value == "none" for event in seen.events)


@in_simulation
def test_a_copy_waits_unless_it_is_asked_not_to_and_is_pinned_or_a_small_upload() -> None:
    import torch

    pinned = torch.ones(2, 3).pin_memory()
    with told() as seen:
        pinned.to("cuda", non_blocking=True)
        torch.ones(2, 3).to("cuda", non_blocking=True)
        pinned.t().to("cuda", non_blocking=True)
        pinned[:, ::2].to("cuda", non_blocking=True)
        pinned.to("cuda")
        on_device(2).to("cpu", non_blocking=True)  # torch pins what it makes
        torch.ones(STAGED // 4).to("cuda", non_blocking=True)  # the driver has room for it
        torch.ones(STAGED // 4 + 1).to("cuda", non_blocking=True)
        torch.ones(2).copy_(on_device(2), non_blocking=True)
    facts = [(event.sync, event.pinned, event.dense, event.non_blocking) for event in seen.events]
    assert facts == [
        (False, True, True, True),
        (False, False, True, True),
        (False, True, True, True),
        (False, True, False, True),
        (True, True, True, False),
        (False, True, True, True),
        (False, False, True, True),
        (True, False, True, True),
        (True, False, True, True),
    ]


@in_simulation
def test_backward_is_told_by_the_line_that_called_it_and_the_node() -> None:
    import torch

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            gradient.sum().item()
            return gradient * 2

    host = torch.ones(3, requires_grad=True)
    moved = (host.to("cuda") * 2).sum()
    with told() as seen:
        moved.backward()
        Doubling.apply(on_device(3).requires_grad_()).sum().backward()
    first, second = seen.events
    assert (text(first), first.backward, first.thread) == ("moved.backward()", "ToCopyBackward0", "autograd")
    assert (text(second), second.backward) == ("gradient.sum().item()", "DoublingBackward")
    assert text(second, 1) == "Doubling.apply(on_device(3).requires_grad_()).sum().backward()"
    assert second.user == 0


@in_simulation
def test_hooks_of_tensors_are_told_by_their_own_line() -> None:
    import torch

    x = on_device(3).requires_grad_()
    x.register_hook(lambda gradient: print(gradient.sum().item()))
    total = (x * 2).sum()
    with told() as seen:
        torch.autograd.grad(total, x)
    (event,) = seen.events
    assert expression("gradient.sum().item()", "gradient.sum().item()") in text(event)
    assert text(event, 1) == "torch.autograd.grad(total, x)"


@in_simulation
def test_two_backward_passes_at_once_are_told_apart() -> None:
    import torch

    def one() -> None:
        total = (torch.ones(3, requires_grad=True).to("cuda") * 2).sum()
        together.wait()
        total.backward()

    def other() -> None:
        total = (torch.ones(5, requires_grad=True).to("cuda") * 2).sum()
        together.wait()
        total.backward()

    for _ in range(5):
        together = threading.Barrier(2)
        threads = [threading.Thread(target=run) for run in (one, other)]
        with told() as seen:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        downloads = {event.bytes: event for event in seen.events if event.direction.value == "d2h"}
        functions = {size: event.frames[0].function.rpartition(".")[2] for size, event in downloads.items()}
        assert functions == {12: "one", 20: "other"}


@in_simulation
def test_checkpointing_tells_the_forward_line_again() -> None:
    from torch.utils.checkpoint import checkpoint

    def forward(x: Any) -> Any:
        scale = x.sum().item()
        return x.sin() * scale

    for reentrant in (True, False):
        x = on_device(3).requires_grad_()
        with told() as seen:
            checkpoint(forward, x, use_reentrant=reentrant).sum().backward()
        assert len(seen.events) == 2
        again = seen.events[1]
        assert again.frames[0].function.endswith("forward")
        assert again.backward == ("CheckpointFunctionBackward" if reentrant else "SinBackward0")
        assert any("backward()" in text(again, index) for index in range(len(again.frames)))


@in_simulation
def test_threads_and_tasks_are_told() -> None:
    x = on_device(2)

    def read() -> float:
        return x.sum().item()

    async def later() -> float:
        await asyncio.sleep(0)
        return x.sum().item()

    async def both() -> None:
        await asyncio.gather(later(), later())

    with told() as seen:
        thread = threading.Thread(target=read, name="reader")
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
            pool.submit(read).result()
        asyncio.run(both())
    assert seen.threads() == ["reader", "pool_0", "MainThread", "MainThread"]
    functions = [event.frames[0].function.rpartition(".")[2] for event in seen.events]
    assert functions == ["read", "read", "later", "later"]


@in_simulation
def test_library_code_is_told_with_the_users_own_line() -> None:
    sys.path.insert(0, PACKAGES)
    from library import helping

    with told() as seen:
        helping.summarize(on_device(3))
        helping.Noisy.apply(on_device(3).requires_grad_()).sum().backward()
    called, asked = seen.events
    assert (text(called), called.user) == (expression("x.sum().item()", "return x.sum().item()"), 2)
    assert text(called, 2) == "helping.summarize(on_device(3))"
    assert (text(asked), asked.user, asked.backward) == ("gradient.sum().item()", 1, "NoisyBackward")
    assert text(asked, 1) == "helping.Noisy.apply(on_device(3).requires_grad_()).sum().backward()"


@in_simulation
def test_the_chain_comes_with_the_first_event_of_a_place() -> None:
    def inner(x: Any) -> float:
        return x.sum().item()

    with told() as seen:
        for _ in range(2):
            inner(on_device(2))
    first, second = seen.events
    assert first.frames[0].function.endswith("inner")
    assert first.frames[1].function == "test_the_chain_comes_with_the_first_event_of_a_place"
    assert second.frames == first.frames[:1]


@in_simulation
def test_each_direction_has_its_own_chain() -> None:
    def move(x: Any, where: str) -> Any:
        return x.to(where)

    def back(x: Any) -> Any:
        return move(x, "cpu")

    with told() as seen:
        back(move(on_host(2), "cuda"))
    up, down = seen.events
    assert text(up) == text(down) == "x.to(where)"
    assert up.frames[1].function.startswith("test_each_direction")
    assert down.frames[1].function.endswith("back")


@in_simulation
def test_no_frame_is_ours() -> None:
    import runtime_check

    ours = os.path.dirname(os.path.abspath(runtime_check.__file__)) + os.sep
    with told(trace=True) as seen:
        x = on_device(2).requires_grad_()
        (x.cpu() * 2).sum().backward()
        x.tolist()
        x.to("cuda")
        x.nonzero()
    assert len(seen.events) >= 5
    paths = {frame.path for event in seen.events for frame in event.frames}
    assert not [path for path in paths if path.startswith(ours) or "torch" in Path(path).parts]


@in_simulation
def test_steps_of_optimizers_are_told() -> None:
    import torch

    import runtime_check

    model = torch.nn.Linear(2, 2).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with told() as seen:
        for _ in range(2):
            model(on_device(1, 2)).sum().backward()
            optimizer.step()
        runtime_check.step()
    assert seen.notes == [("step", id(optimizer)), ("step", id(optimizer)), ("step", "")]


@in_simulation
def test_loaders_with_forked_workers_and_pinned_memory_are_told() -> None:
    import torch

    data = torch.utils.data.TensorDataset(torch.arange(4.0))
    with told() as seen:
        for (batch,) in torch.utils.data.DataLoader(data, 2, num_workers=1, pin_memory=True):
            batch.to("cuda", non_blocking=True)
    assert seen.lines() == [("h2d", 'batch.to("cuda", non_blocking=True)', 8)] * 2
    assert [event.sync for event in seen.events] == [False, False]
    assert seen.notes == []


@in_simulation
def test_what_one_call_moves_has_the_number_of_that_call() -> None:
    import io

    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2)))
    kept = io.BytesIO()
    with told() as seen:
        model.to("cuda")
        torch.save(model.state_dict(), kept)
        str(next(model.parameters()))
        on_device(2).cpu()
    by_line: dict[str, set[int]] = {}
    for event in seen.events:
        by_line.setdefault(str(event.frames[0].line), set()).add(event.call)
    moved, saved, shown, alone = by_line.values()
    assert [len(numbers) for numbers in (moved, saved, shown, alone)] == [1, 1, 1, 1]
    assert alone == {0}
    assert 0 not in moved | saved | shown
    assert len(moved | saved | shown) == 3


@in_simulation
def test_a_thread_that_is_not_pythons_has_no_caller() -> None:
    from runtime_check.hooks.observer import Observer
    from transferlint.model import Direction

    seen = Told()
    observer = Observer()
    observer.listeners = (seen,)
    event = observer.begin(observer.local.mine, Direction.D2H, "aten::copy_", 4, True, above=10_000)
    assert event is not None
    assert event.frames == ()


@in_simulation
def test_programs_of_pythons_that_are_run_are_said_to_be_missing() -> None:
    import subprocess

    with told() as seen:
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        subprocess.run(["true"], check=True)
        subprocess.run("python3 -V", shell=True, check=True, stdout=subprocess.DEVNULL)
    found = [(str(name), str(why)) for kind, name, why in seen.notes if kind == "missing"]
    assert [name.partition("(")[2] for name, _ in found] == [f"`{sys.executable} -c pass`)", "`python3 -V`)"]
    assert all("nothing records" in why for _, why in found)


@in_simulation
def test_a_process_that_records_nothing_is_said_to_be_missing() -> None:
    import multiprocessing

    with told() as seen:
        process = multiprocessing.get_context("spawn").Process(target=os.getpid)
        process.start()
        process.join()
        forked = multiprocessing.get_context("fork").Process(target=os.getpid)
        forked.start()
        forked.join()
    ((kind, name, why),) = seen.notes
    assert (kind, name) == ("missing", f"process {process.pid}")
    assert "spawn" in str(why)


@in_simulation
def test_subclasses_and_function_modes_see_nothing_of_the_hooks() -> None:
    import torch

    class Marked(torch.Tensor):
        seen = 0

        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.seen += 1
            return super().__torch_function__(function, types, args, kwargs or {})

    marked = torch.ones(2).as_subclass(Marked)
    with told() as seen:
        before = Marked.seen
        marked.to("cuda")
        assert Marked.seen == before + 1
        with torch.device("cuda"):
            torch.ones(2).sum().item()
    assert [event.direction.value for event in seen.events] == ["h2d", "d2h"]


@in_simulation
def test_subclasses_of_tensors_are_made_as_ever_while_operators_are_traced() -> None:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Named(torch.Tensor):
        def __new__(cls, data: Any, title: str = "") -> Any:
            made = super().__new__(cls, data)
            made.title = title
            return made

    class Plain(torch.Tensor):
        pass

    class Other(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return function(*args, **(kwargs or {}))

    before = torch.Tensor.__new__
    with told(trace=True) as seen:
        import torch._dynamo  # it looks at the constructor

        for data in (torch.ones(2), on_device(2), [1.0, 1.0]):
            for kind in (Named, Plain):
                made = kind(data)  # type: ignore[arg-type]
                assert type(made) is kind
                assert (made + 1).sum().item() == 4
        assert Plain(2, 3).shape == (2, 3)  # type: ignore[call-arg]
        with Other(), pytest.raises(RuntimeError, match="Creating a new Tensor subclass"):  # as without us
            Plain(torch.ones(2))
        assert torch.Tensor(torch.ones(2)).tolist() == [1.0, 1.0]
    assert [direction for direction, _, _ in seen.lines()] == ["d2h", "d2h"]
    assert torch.Tensor.__new__ is before
    assert type(Named(torch.ones(2))) is Named


@in_simulation
def test_torchscript_takes_the_replaced_functions_for_torchs_own() -> None:
    import torch

    def made(x: torch.Tensor) -> torch.Tensor:
        return x + torch.full_like(x, 2.0) + torch.tensor(1.0)

    with told():
        assert torch.jit.script(made)(torch.zeros(2)).tolist() == [3.0, 3.0]


@in_simulation
def test_warnings_of_the_program_stay_as_they_are() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with told():
            on_device(3).nonzero()
            warnings.warn("of the program", stacklevel=1)
    assert [str(one.message) for one in caught] == ["of the program"]


@in_simulation
def test_trace_describes_both_ends_and_the_lives_of_their_memory() -> None:
    import torch

    x = on_device(3)
    with told(trace=True) as seen:
        host = x.cpu()
        back = host.to("cuda")
        buffer = torch.empty(3, device="cuda")
        buffer.copy_(host)
        buffer.add_(1)
        buffer.cpu()
        del back
    down, up, copied, last = seen.events
    assert down.source is not None
    assert down.target is not None
    assert up.source is not None
    assert copied.source is not None
    assert copied.target is not None
    assert last.source is not None
    assert (down.target.pointer, down.target.bytes, down.target.shape) == (host.data_ptr(), 12, (3,))
    assert down.target.serial == up.source.serial == copied.source.serial != down.source.serial
    assert down.target.checksum == up.source.checksum is not None
    assert copied.target.version == 1
    assert last.source.version == 2
    assert up.target is not None
    assert ("gone", up.target.serial) not in seen.notes  # of a device's memory nobody needs to know
    assert ("gone", down.target.serial) not in seen.notes
    with told(trace=True) as later:
        copy = x.cpu()
        del copy
    assert [kind for kind, *_ in later.notes if kind == "gone"] == ["gone"]


@in_simulation
def test_trace_knows_the_objects_that_reads_return() -> None:
    import torch

    x = on_device(3)
    with told(trace=True) as seen:
        loss = (x * 1.37).sum().item()
        torch.tensor([loss, 1.0], device="cuda")
        torch.full((2,), loss, device="cuda")
        listed = x.tolist()
        torch.tensor(listed, device="cuda")
        count = x.long().sum().item()
        torch.tensor([count], device="cuda")
    values = [event.value for event in seen.events]
    assert values == [id(loss), id(loss), id(loss), id(listed), id(listed), 0, 0]
    filled = seen.events[2]
    assert (filled.operation, filled.direction.value, filled.sync, filled.bytes) == ("torch.full", "none", False, 0)


@in_simulation
def test_trace_tells_moves_that_cross_nothing() -> None:
    import torch

    x = on_device(3)
    with told(trace=True) as seen:
        x.to("cuda")
        x.cuda()
        x.to(torch.float32)
    assert [event.operation for event in seen.events] == ["torch.Tensor.to", "torch.Tensor.cuda"]
    assert not any(event.sync or event.bytes for event in seen.events)


@in_simulation
def test_what_is_too_large_for_a_checksum_is_known_by_its_version_after_a_write() -> None:
    import torch

    from runtime_check.collect import Collector
    from runtime_check.hooks.ends import CHECKED
    from runtime_check.provenance import Provenance
    from runtime_check.session import Session

    there, host = on_device(CHECKED), torch.ones(CHECKED)
    collector = Collector(provenance=Provenance(lifetimes=True))
    with Session(collector, trace=True):
        there.copy_(host)
        there.cpu()
        there[:] = host
        there.cpu()
        there.copy_(host)
        there.add_(1)
        there.cpu()
    assert [(link.kind.value, link.count) for link in collector.links() if link.kind.value == "h2d2h"] == [
        ("h2d2h", 1),
        ("h2d2h", 1),
    ]


@in_simulation
def test_trace_leaves_function_transforms_and_checkpoints_alone() -> None:
    import torch
    from torch.utils.checkpoint import checkpoint

    x = on_device(3).requires_grad_()
    with told(trace=True) as seen:
        checkpoint(lambda value: value.sin() * 2, x, use_reentrant=False).sum().backward()
        slope = torch.func.grad(lambda value: (value * value).sum())(on_device(2))
        sums = torch.func.vmap(lambda value: value.sum())(on_device(2, 2))
        sums.cpu()
    assert [line[0] for line in seen.lines()] == ["d2h"]
    assert slope.tolist() == [2.0, 2.0]
    assert sums.tolist() == [2.0, 2.0]


@in_simulation
def test_without_kernel_overrides_a_dispatch_mode_sees_copies_and_reads() -> None:
    import torch
    from torch.utils import _python_dispatch as modes

    get_kernel = torch.library.get_kernel
    del torch.library.get_kernel
    try:
        with told() as seen:
            x = torch.ones(3).to("cuda")
            x.cpu()
            x.sum().item()
            torch.empty(3).copy_(x)
            x.to(torch.float64)
            x.to("cpu", torch.float64)
            total = (torch.ones(3, requires_grad=True).to("cuda") * 2).sum()
            total.backward()
            thread = threading.Thread(target=x.tolist)
            thread.start()
            thread.join()
    finally:
        torch.library.get_kernel = get_kernel
    ways = [(event.direction.value, event.bytes) for event in seen.events]
    first, both = [("h2d", 12), ("d2h", 12), ("d2h", 4), ("d2h", 12), ("d2h", 12)], [("h2d", 12), ("d2h", 12)]
    assert ways == [*first, *both, ("d2h", 12)]
    assert text(seen.events[6]) == "total.backward()"
    assert modes._get_current_dispatch_mode_stack() == []


@in_fork
def test_torchs_warnings_of_waits_become_events_whatever_the_program_does_with_warnings() -> None:
    from runtime_check.hooks.observer import Observer
    from runtime_check.hooks.sync_debug import MESSAGE, _First

    seen = Told()
    observer = Observer()
    observer.listeners = (seen,)
    before = list(warnings.filters)
    first = _First(observer, swallow=True)
    first.enter()

    def wait() -> None:
        warnings.warn(f"{MESSAGE} (Triggered internally at ...)", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        wait()
        warnings.simplefilter("error")
        wait()
        warnings.filterwarnings("ignore")
        wait()
        warnings.resetwarnings()
        wait()
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            wait()
        warnings.warn("of the program", stacklevel=1)
    wait()
    assert [str(one.message) for one in caught] == ["of the program"]
    assert len(seen.events) == 6
    assert {(event.direction.value, event.sync, event.bytes) for event in seen.events} == {("none", True, 0)}
    first.leave()
    assert list(warnings.filters) == before
    with pytest.warns(UserWarning, match=MESSAGE):
        wait()
    assert len(seen.events) == 6


@in_fork
def test_a_wait_that_an_override_has_seen_is_not_told_again() -> None:
    from runtime_check.hooks.observer import Observer
    from runtime_check.hooks.sync_debug import MESSAGE, _First
    from transferlint.model import Direction

    seen = Told()
    observer = Observer()
    observer.listeners, observer.warned = (seen,), True
    first = _First(observer, swallow=True)
    observer.renew = first.enter
    first.enter()

    def warn() -> None:
        warnings.warn(MESSAGE, stacklevel=1)

    def hook() -> None:  # stands for the override, whose caller is the line that counts
        mine = observer.local.mine
        event = observer.begin(mine, Direction.D2H, "aten::copy_", 4, True)
        assert event is not None
        observer.cover(event)
        observer.finish(mine, event)

    work = observer.enter_work()
    hook()
    hook()
    for _ in range(3):  # those of autograd's threads come when backward returns
        warn()
    observer.leave_work(work)
    assert [event.operation for event in seen.events] == ["aten::copy_", "aten::copy_", "(CUDA kernel)"]
    first.leave()
