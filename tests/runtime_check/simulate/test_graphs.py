"""CUDA graphs on the simulated device: a replay computes what the program computes, and a capture that waits fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from simulated import in_fork, in_simulation

TRAINS = True


def network(kind: str) -> Any:
    """A model and the shape of its input."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    if kind == "lstm":
        return nn.LSTM(4, 5, batch_first=True), (2, 3, 4)
    if kind == "attention":
        return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)
    if kind == "convolution":
        return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)), (2, 2, 8, 8)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 4)), (6, 4)


def loss_of(model: Any, x: Any) -> Any:
    """A loss of what a model gives."""
    out = model(x)
    out = out[0] if isinstance(out, tuple) else out
    return out.sin().square().mean()


@pytest.mark.parametrize("kind", ["layers", "convolution", "lstm", "attention"])
@in_simulation
def test_whole_steps_of_training_are_replayed(kind: str) -> None:
    import torch

    def trained(graphed: bool) -> list[Any]:
        model, shape = network(kind)
        model.to("cuda")
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, capturable=True)
        batches = [torch.randn(shape, generator=torch.Generator().manual_seed(n)).cuda() for n in range(6)]
        static = torch.empty(shape, device="cuda")
        losses = []

        def step() -> Any:
            optimizer.zero_grad(set_to_none=False)
            loss = loss_of(model, static)
            loss.backward()
            optimizer.step()
            return loss

        for number in range(2):
            static.copy_(batches[number])
            losses.append(step().detach().clone())
        if graphed:
            graph = torch.cuda.CUDAGraph()
            before = [one.detach().clone() for one in model.parameters()]
            with torch.cuda.graph(graph):
                loss = step()
            assert all(torch.equal(one, two) for one, two in zip(before, model.parameters(), strict=True))
        for batch in batches[2:]:
            static.copy_(batch)
            if graphed:
                graph.replay()
                losses.append(loss.detach().clone())
            else:
                losses.append(step().detach().clone())
        return [*losses, *(one.detach() for one in model.parameters())]

    eager, replayed = trained(False), trained(True)
    assert len(eager) == len(replayed) > 6
    assert all(torch.equal(one, two) for one, two in zip(eager, replayed, strict=True))


@in_simulation
def test_graphed_callables_are_torchs_own() -> None:
    import torch

    def trained(graphed: bool) -> list[Any]:
        model, shape = network("layers")
        model.to("cuda")
        x = torch.randn(shape, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
        called = torch.cuda.make_graphed_callables(model, (torch.randn(shape, device="cuda"),)) if graphed else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            called(x).square().mean().backward()
            optimizer.step()
        return [one.detach() for one in model.parameters()]

    assert all(torch.equal(one, two) for one, two in zip(trained(False), trained(True), strict=True))


@in_simulation
def test_what_waits_cannot_be_captured() -> None:
    import torch

    x, host = torch.arange(3.0, device="cuda"), torch.ones(3)
    waits: list[Callable[[], Any]] = [
        lambda: x.sum().item(),
        lambda: int(x.any()),
        x.cpu,
        host.cuda,
        lambda: x.copy_(host),
        x.nonzero,
        lambda: x[x > 1],
        lambda: torch.tensor(1.0, device="cuda"),
        torch.cuda.synchronize,
        torch.cuda.current_stream().synchronize,
        x.to_sparse,
    ]
    for number, wait in enumerate(waits):
        graph = torch.cuda.CUDAGraph()
        refused = pytest.raises(torch.AcceleratorError, match="operation not permitted when stream is capturing")
        with refused, torch.cuda.graph(graph):
            print(number, wait())
        assert not torch.cuda.is_current_stream_capturing()
    assert x.tolist() == [0.0, 1.0, 2.0]


@in_simulation
def test_what_does_not_wait_can() -> None:
    import torch

    host = torch.ones(3).pin_memory()
    graph, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    x = torch.zeros(3, device="cuda")
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        y = host.to("cuda", non_blocking=True) * 2
        x += y
        noise = torch.rand(3, device="cuda")
        back = torch.nn.functional.dropout(y, 0.5)
    assert x.tolist() == [0.0] * 3
    host.fill_(4)
    graph.replay()
    first = noise.tolist()
    assert y.tolist() == x.tolist() == [8.0] * 3
    graph.replay()
    assert x.tolist() == [16.0] * 3
    assert noise.tolist() != first
    assert set(back.tolist()) <= {0.0, 16.0}
    with torch.cuda.graph(other, pool=graph.pool()):
        x.mul_(0)
    other.replay()
    assert x.tolist() == [0.0] * 3
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


@in_simulation
def test_the_error_of_a_capture_names_the_operation_and_what_helps() -> None:
    import torch

    x, host = torch.arange(3.0, device="cuda"), torch.ones(3)
    for wait, operation, words in (
        (x.sum().item, "aten::_local_scalar_dense", "keep it a tensor"),
        (host.cuda, "aten::copy_", "pin the memory and pass non_blocking=True"),
        (x.cpu, "aten::copy_", "copy it after the replay"),
        (x.nonzero, "aten::nonzero", "the size of its result depends on data"),
        (lambda: torch.linalg.eigh(x.diag()), "aten::_linalg_eigh", "its kernel reads a result back"),
        (torch.cuda.synchronize, "torch.cuda.synchronize", "synchronize after the replay"),
        (torch.cuda.Event().synchronize, "torch.cuda.Event.synchronize", "synchronize after the replay"),
    ):
        with pytest.raises(torch.AcceleratorError) as raised, torch.cuda.graph(torch.cuda.CUDAGraph()):
            wait()
        last = str(raised.value).splitlines()[-1]
        assert last.startswith(f"{operation}: ")
        assert words in last


@in_simulation
def test_all_lines_that_a_capture_would_refuse_are_told_at_once() -> None:
    import torch

    from transferlint import runtime

    x, host, count = torch.arange(3.0, device="cuda"), torch.ones(3), torch.zeros((), device="cuda")
    pinned = torch.ones(3).pin_memory()

    def step(scale: float) -> Any:
        count.add_(1)
        y = x * scale + pinned.to("cuda", non_blocking=True)
        if y.sum() > 0:
            y = y + host.to("cuda", non_blocking=True)
        for _ in range(3):
            torch.cuda.synchronize()
        normal = torch.distributions.Normal(y, 1.0)
        assert torch.cuda.is_current_stream_capturing()
        return normal.loc.mul_(2), y[y > 1].tolist()

    found = runtime.capturable(step, scale=2.0)
    first = step.__code__.co_firstlineno
    assert [(one.line - first, one.operation, one.count) for one in found.obstacles] == [
        (3, "aten::_local_scalar_dense", 1),
        (4, "aten::copy_", 1),
        (6, "torch.cuda.synchronize", 3),
        (7, "aten::copy_", 1),  # torch/distributions/utils.py: broadcast_all makes a tensor of the number
        (7, "aten::_local_scalar_dense", 2),  # and each of the two parameters is checked
        (9, "aten::index", 1),
        (9, "aten::copy_", 1),
    ]
    assert not found
    assert found.error is None
    assert found.obstacles[0].text == "y.sum() > 0"
    assert found.obstacles[3].inside.startswith("torch/distributions/utils.py:")
    assert "5 lines would make a capture fail" in str(found)
    assert "torch.cuda.synchronize 3 times: it synchronizes explicitly" in str(found)
    assert not torch.cuda.is_current_stream_capturing()
    assert (count.item(), x.tolist()) == (0.0, [0.0, 1.0, 2.0])  # as a capture, it computed nothing


@in_simulation
def test_what_can_be_captured_and_what_ends_early() -> None:
    import torch

    from transferlint import runtime

    model = torch.nn.Linear(3, 1).cuda()
    x = torch.ones(2, 3, device="cuda")
    fine = runtime.capturable(model, x)
    assert fine
    assert str(fine) == "nothing waits"

    def stepping(optimizer: Any) -> None:
        optimizer.step()

    for capturable, expected in ((True, True), (False, False)):
        optimizer = torch.optim.Adam(model.parameters(), capturable=capturable)
        model(x).sum().backward()
        found = runtime.capturable(stepping, optimizer)
        assert bool(found) is expected
    assert "test_graphs.py:" in str(found)
    assert "RuntimeError: Attempting CUDA graph capture of step()" in str(found)
    assert found.obstacles == ()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    graph.replay()
    assert torch.equal(y, model(x))


@in_fork
def test_without_an_accelerator_there_is_nothing_to_capture_on() -> None:
    from transferlint import runtime

    with pytest.raises(RuntimeError, match=r"transferlint.runtime.simulate\(\) simulates one"):
        runtime.capturable(int)
