"""Device memory lives as long as a tensor, a view, an autograd graph or another thread needs it, and no longer."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from simulated import in_simulation


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@in_simulation
def test_memory_is_given_back() -> None:
    import torch

    layer = torch.nn.Linear(256, 256).cuda()

    def work(times: int) -> None:
        for _ in range(times):
            x = torch.ones(1 << 18, device="cuda")
            y = (x * 2).view(512, 512).t()[3:5].sum()
            layer(torch.ones(64, 256, device="cuda")).sum().backward()
            del x, y

    work(20)
    before = resident()
    work(200)
    assert resident() - before < 32 << 20  # the work allocated 400 MiB


@in_simulation
def test_a_view_keeps_its_memory() -> None:
    import torch

    view = torch.arange(1000.0, device="cuda")[10:20]
    gc.collect()
    junk = [torch.zeros(1000) for _ in range(50)]
    assert view.tolist() == [float(number) for number in range(10, 20)]
    del junk


@in_simulation
def test_a_graph_keeps_its_memory() -> None:
    import torch

    weight = torch.full((100,), 2.0, device="cuda", requires_grad=True)
    product = weight * torch.full((100,), 3.0, device="cuda")
    gc.collect()
    junk = [torch.randn(100) for _ in range(100)]
    (product * product).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [36.0] * 100
    del junk


@in_simulation
def test_threads_compute_at_once() -> None:
    import threading

    import torch

    found: dict[int, list[Any]] = {}

    def work(number: int) -> None:
        weight = torch.full((4,), float(number), device="cuda", requires_grad=True)
        for _ in range(20):
            weight.grad = None
            (weight * weight).sum().backward()
        assert weight.grad is not None
        found[number] = weight.grad.tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [2.0 * number] * 4 for number in range(6)}


@in_simulation
def test_an_exception_in_backward_arrives() -> None:
    import torch

    def raising(one: Any) -> Any:
        raise KeyError("on purpose")

    x = torch.ones(3, device="cuda", requires_grad=True)
    y = x * 2
    y.register_hook(raising)
    with pytest.raises(KeyError, match="on purpose"):
        y.sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, raising):
        z = torch.sin(x).sum()
    with pytest.raises(KeyError, match="on purpose"):
        z.backward()
    torch.sin(x).sum().backward()
    assert x.grad is not None
