"""The hooks on a real device: what they tell is what Kineto saw, and they disturb nothing. Run: `pytest -m gpu`."""

from __future__ import annotations

import collections
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from kineto import Driven, driven, stretch
from listening import Told, text, told

pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True, scope="module")
def started() -> None:
    """CUDA's own start, and that of the profiler, are no part of what is compared."""
    import torch

    if not torch.cuda.is_available() or torch.version.cuda is None:
        pytest.skip("needs a CUDA device")
    (torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")).sum().item()
    driven(lambda: None)


def both(run: Callable[[], None], trace: bool = False) -> tuple[Told, Driven]:
    """What the hooks tell and what Kineto saw, of the same run."""
    seen = Told()

    def recorded() -> None:
        with told(trace) as kept:
            run()
        seen.events[:] = kept.events
        seen.notes[:] = kept.notes

    return seen, driven(recorded)


def assert_same_copies(seen: Told, kineto: Driven) -> None:
    """Same copies, same bytes, same order."""
    recorder = [(event.direction.value, event.bytes) for event in seen.events if event.direction.value != "none"]
    assert recorder == [(copy.direction, copy.bytes) for copy in kineto.copies]


STATEMENTS = (
    "host.to('cuda')",
    "x.cpu()",
    "x.sum().item()",
    "x.tolist()",
    "float(x[0, 0])",
    "bool(x.sum() > 0)",
    "torch.tensor([1.0, 2.0], device='cuda')",
    "x.new_tensor([1.0, 2.0, 3.0])",
    "x[[0, 1]]",
    "x[torch.tensor([0, 1])]",
    "x.to('cpu', torch.float64)",
    "host.to('cuda', torch.float16)",
    "host.to('cuda', torch.float16, non_blocking=True)",
    "pinned.to('cuda', torch.float16, non_blocking=True)",
    "x.to('cpu', torch.float64, non_blocking=True)",
    "host.t().to('cuda')",
    "host[:, ::2].to('cuda')",
    "x.t().cpu()",
    "x[:, ::2].cpu()",
    "torch.empty(3, 4).copy_(x.t().contiguous().t())",
    "x.copy_(host)",
    "x[0].copy_(torch.ones(1))",
    "x.__setitem__((0, 0), 5.0)",
    "x.__setitem__(0, torch.ones(4))",
    "pinned.to('cuda', non_blocking=True)",
    "host.to('cuda', non_blocking=True)",
    "x.to('cpu', non_blocking=True)",
    "torch.full((2,), 3.0, device='cuda')",
    "x.fill_(torch.tensor(2.0))",
    "x.mul(2.0)",
    "repr(x)",
    "torch.equal(x, x)",
    "x.nonzero()",
    "x[x > 0]",
    "torch.unique(x)",
    "x.masked_select(x > 0)",
    "torch.multinomial(x[0].abs() + 1, 2)",
    "torch.nn.functional.one_hot(torch.tensor([0, 1], device='cuda'))",
    "torch.repeat_interleave(torch.tensor([1, 2], device='cuda'))",
    "torch.linalg.solve(torch.eye(3, device='cuda'), torch.ones(3, device='cuda'))",
)
# Kernels that read something back by a copy of their own, which no operator shows: told as a wait, without direction.
INSIDE = (
    *("nonzero", "x > 0", "unique", "masked_select", "multinomial", "one_hot", "repeat_interleave", "linalg", "repr"),
)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_copies_told_are_those_that_the_driver_made(statement: str, trace: bool) -> None:
    import torch

    names = {
        "torch": torch,
        "host": torch.rand(3, 4),
        "pinned": torch.rand(3, 4).pin_memory(),
        "x": torch.rand(3, 4, device="cuda"),
    }
    code = compile(statement, "<string>", "eval")
    eval(code, dict(names, x=names["x"].clone()))  # what the first call allocates or loads is no part of it
    torch.cuda.synchronize()
    seen, kineto = both(lambda: eval(code, names), trace)
    recorder = collections.Counter(
        (event.direction.value, event.bytes) for event in seen.events if event.direction.value in ("h2d", "d2h")
    )
    driver = collections.Counter((copy.direction, copy.bytes) for copy in kineto.copies)
    if any(mark in statement for mark in INSIDE):
        hidden = driver - recorder
        assert recorder - driver == collections.Counter()
        assert not any(direction == "h2d" for direction, _ in hidden)
        waits = sum(event.direction.value == "none" and event.sync for event in seen.events)
        assert waits >= 1 or not hidden
    else:
        assert recorder == driver


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_wait_of_the_driver_is_told_once(statement: str) -> None:
    import torch

    names = {
        "torch": torch,
        "host": torch.rand(3, 4),
        "pinned": torch.rand(3, 4).pin_memory(),
        "x": torch.rand(3, 4, device="cuda"),
    }
    code = compile(statement, "<string>", "eval")
    eval(code, dict(names, x=names["x"].clone()))
    torch.cuda.synchronize()
    seen, kineto = both(lambda: eval(code, names))
    streams = sum(name == "cudaStreamSynchronize" for name, _ in kineto.waits)
    told_of = [event for event in seen.events if event.sync and not (event.non_blocking and event.bytes)]
    assert len(told_of) == streams


def test_a_training_step_agrees_with_kineto_line_by_line() -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [(torch.rand(4, 8), torch.randint(4, (4,))) for _ in range(4)]

    def train() -> None:
        for inputs, labels in batches:
            with stretch("inputs.to('cuda')"):  # a profile is no JSON where a name holds double quotes
                x = inputs.to("cuda")
            with stretch("labels.to('cuda')"):
                y = labels.to("cuda")
            with stretch("loss.backward()"):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                loss.backward()
            with stretch("optimizer.step()"):
                optimizer.step()
                optimizer.zero_grad()
            with stretch("loss.item()"):
                loss.item()

    train()
    seen, kineto = both(train)
    assert_same_copies(seen, kineto)
    told_of = [text(event).replace('"', "'") for event in seen.events if event.bytes]
    assert told_of == [copy.stretch for copy in kineto.copies]
    assert [note for note, *_ in seen.notes] == ["step"] * 4


def test_autocast_and_scaling_agree_with_kineto() -> None:
    import torch

    model = torch.nn.Linear(8, 4).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    batch = torch.rand(4, 8)

    def train() -> None:
        for _ in range(3):
            with torch.autocast("cuda", torch.float16):
                loss = model(batch.to("cuda")).sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

    train()
    seen, kineto = both(train)
    assert_same_copies(seen, kineto)
    assert next(event.bytes for event in seen.events if event.direction.value == "h2d") == batch.nbytes


def test_backward_in_autograds_threads_is_told_with_its_line_and_node() -> None:
    import torch

    class Reading(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            gradient.sum().item()
            return gradient * 2

    host = torch.ones(3, requires_grad=True)

    def run() -> None:
        total = Reading.apply(host.to("cuda")).sum()
        total.backward()

    run()
    seen, kineto = both(run)
    assert_same_copies(seen, kineto)
    _, read, down = (event for event in seen.events if event.bytes)
    assert (text(read), read.backward) == ("gradient.sum().item()", "ReadingBackward")
    assert (text(down), down.backward, down.thread) == ("total.backward()", "ToCopyBackward0", "autograd")
    assert sum(event.direction.value == "none" for event in seen.events) == 0  # late warnings are of what was told


def test_waits_in_kernels_of_a_backward_pass_are_told_by_its_line() -> None:
    import torch

    class Finding(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            gradient.nonzero()
            return gradient

    x = torch.ones(3, device="cuda", requires_grad=True)
    total = Finding.apply(x).sum()
    with told() as seen:
        total.backward()
    (event,) = seen.events
    assert (event.direction.value, event.sync) == ("none", True)
    assert text(event) in ("gradient.nonzero()", "total.backward()")


def test_checkpointing_agrees_with_kineto() -> None:
    import torch
    from torch.utils.checkpoint import checkpoint

    def forward(x: Any) -> Any:
        scale = x.sum().item()
        return x.sin() * scale

    x = torch.rand(3, device="cuda", requires_grad=True)

    def run() -> None:
        for reentrant in (True, False):
            checkpoint(forward, x, use_reentrant=reentrant).sum().backward()

    run()
    seen, kineto = both(run)
    assert_same_copies(seen, kineto)
    assert [text(event) for event in seen.events if event.bytes] == ["x.sum().item()"] * 4


def test_streams_and_explicit_waits() -> None:
    import torch

    side = torch.cuda.Stream()
    pinned = torch.rand(1 << 20).pin_memory()

    def run() -> None:
        with torch.cuda.stream(side):
            x = pinned.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        event = torch.cuda.Event()
        event.record(side)
        event.synchronize()
        side.synchronize()
        torch.cuda.synchronize()
        x.sum().item()

    run()
    seen, kineto = both(run)
    assert_same_copies(seen, kineto)
    assert [event.operation for event in seen.events] == [
        "aten::copy_",
        "torch.cuda.Event.synchronize",
        "torch.cuda.Stream.synchronize",
        "torch.cuda.synchronize",
        "aten::_local_scalar_dense",
    ]
    assert [event.sync for event in seen.events] == [False, True, True, True, True]


def test_a_blocking_copy_keeps_the_host_as_long_as_the_device_is_busy() -> None:
    import torch

    x = torch.rand(4096, 4096, device="cuda")
    x @ x
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with told() as seen:
        start.record()
        for _ in range(10):
            y = x @ x
        end.record()
        y[0, 0].item()
    busy = start.elapsed_time(end) * 1e6
    (event,) = seen.events
    assert event.blocked > busy / 2


def test_cuda_graphs_can_be_captured_and_replayed() -> None:
    import torch

    x = torch.rand(8, device="cuda")
    pinned = torch.rand(8).pin_memory()
    with told(trace=False) as seen:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        count = len(seen.events)
        with torch.cuda.graph(graph):
            x.copy_(pinned, non_blocking=True)
            y = (x * 2).to(torch.float16)
        captured = [event for event in seen.events[count:] if event.bytes]
        pinned.fill_(3.0)
        graph.replay()
        torch.cuda.synchronize()
    assert captured == []  # nothing was copied while the graph was recorded
    assert y.tolist() == [6.0] * 8


def test_compiled_functions_keep_their_graphs_and_agree_with_kineto() -> None:
    import torch
    import torch._dynamo.testing

    def forward(x: Any) -> Any:
        return (x.sin() * 2 + x.cos()).sum()

    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    compiled = torch.compile(forward, backend=counter, fullgraph=True)
    host = torch.rand(64)

    def run() -> None:
        x = host.to("cuda").requires_grad_()
        loss = compiled(x)
        loss.backward()
        loss.item()

    run()
    graphs = counter.frame_count
    for trace in (False, True):
        seen, kineto = both(run, trace)
        assert_same_copies(seen, kineto)
        assert counter.frame_count == graphs
        assert [text(event) for event in seen.events if event.bytes] == ['host.to("cuda")', "loss.item()"]


def test_loaders_with_pinned_memory_and_workers_agree_with_kineto() -> None:
    import torch

    data = torch.utils.data.TensorDataset(torch.arange(32.0).reshape(8, 4))

    def run() -> None:
        loader = torch.utils.data.DataLoader(data, 2, num_workers=2, pin_memory=True)
        for (batch,) in loader:
            batch.to("cuda", non_blocking=True)

    run()
    seen, kineto = both(run)
    assert_same_copies(seen, kineto)
    assert all(event.pinned and event.non_blocking and not event.sync for event in seen.events if event.bytes)


def test_waits_in_operators_that_are_called_by_torch_ops_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    import torch

    x = torch.rand(8, device="cuda")
    with told() as seen:
        torch.ops.aten.nonzero.default(x)
        torch.ops.aten.nonzero(x)
    assert [text(event) for event in seen.events] == ["torch.ops.aten.nonzero.default(x)", "torch.ops.aten.nonzero(x)"]
    assert [event.sync for event in seen.events] == [True, True]
    assert capfd.readouterr().err == ""


def test_threads_at_once_are_all_told() -> None:
    import torch

    x = torch.rand(8, device="cuda")

    def read() -> None:
        for _ in range(200):
            x.sum().item()

    with told() as seen:
        threads = [threading.Thread(target=read, name=f"reader {index}") for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    reads = collections.Counter(event.thread for event in seen.events if event.bytes)
    assert reads == {f"reader {index}": 200 for index in range(4)}
    assert all(event.bytes for event in seen.events)  # no wait of these is told a second time


def test_warnings_stay_the_programs_and_the_mode_is_put_back() -> None:
    import torch

    x = torch.rand(8, device="cuda")
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with told() as seen:
            x.nonzero()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                x.nonzero()
    assert caught == []
    assert len(seen.events) == 2
    assert torch.cuda.get_sync_debug_mode() == before
    kernels = torch._C._dispatch_dump("aten::copy_"), torch._C._dispatch_dump("aten::_local_scalar_dense")
    with told(trace=True):
        x.cpu()
    assert kernels == (torch._C._dispatch_dump("aten::copy_"), torch._C._dispatch_dump("aten::_local_scalar_dense"))


def test_a_program_that_asks_for_the_warnings_gets_them() -> None:
    import torch

    x = torch.rand(8, device="cuda")
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with told() as seen, pytest.warns(UserWarning, match="synchronizing CUDA operation"):
            x.nonzero()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(seen.events) == 1


def test_a_guard_refuses_before_the_copy() -> None:
    import torch

    from runtime_check import TransferForbidden, guard

    x = torch.rand(8, device="cuda")

    def synchronize() -> None:
        torch.cuda.synchronize()  # looked up when it is called: the name is replaced meanwhile

    def run() -> None:
        with guard(h2d="disallow_explicit", d2h="disallow_explicit", sync="disallow_explicit"):
            for refused in (x.cpu, x.sum().item, lambda: torch.ones(2).to("cuda"), synchronize):
                with pytest.raises(TransferForbidden):
                    refused()
            x.mul_(2)

    assert driven(run).copies == ()


@pytest.mark.parametrize("level", ["guard", "trace"])
def test_a_program_that_records_to_its_end_ends_as_it_would(level: str) -> None:
    code = f"""
        import sys, torch
        from runtime_check import session
        count = [0]
        def take(event):
            count[0] += 1
        session.start({level!r}, take)
        x = torch.rand(8, requires_grad=True)
        x.to("cuda").sum().backward()
        loader = torch.utils.data.DataLoader(torch.arange(8.0), 2, num_workers=1, pin_memory=True)
        for batch in loader:
            batch.to("cuda", non_blocking=True)
        print(count[0] >= 6)
        sys.exit(5)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ran.stdout.strip(), ran.stderr, ran.returncode) == ("True", "", 5)
