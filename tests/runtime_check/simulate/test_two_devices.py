"""Two simulated devices: which is where, which is the current one, what CUDA says of a mixture, and what crosses."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from simulated import in_fork, on_two_devices


@on_two_devices
def test_there_are_two_and_each_thread_has_a_current_one() -> None:
    import threading

    import torch

    cuda = torch.cuda
    assert (cuda.device_count(), cuda.current_device(), torch.accelerator.device_count()) == (2, 0, 2)
    assert cuda.get_device_properties(1).total_memory == cuda.mem_get_info(1)[1] > 0
    assert cuda.memory_stats(1)["allocated_bytes.all.peak"] == cuda.memory_allocated(1) == 0
    assert cuda.can_device_access_peer(0, 1)
    with pytest.raises(torch.AcceleratorError, match=r"invalid device ordinal(.|\n)*there are 2"):
        torch.ones(2, device="cuda:2")
    cuda.set_device(1)
    seen = []
    other = threading.Thread(target=lambda: seen.append(cuda.current_device()))
    other.start()
    other.join()
    assert seen == [0]
    assert cuda.current_device() == torch.accelerator.current_device_index() == 1
    with cuda.device(0):
        assert cuda.current_device() == 0
        with cuda.device_of(torch.ones(1, device="cuda:1")), torch.accelerator.device_index(0):
            assert cuda.current_device() == 0
        assert cuda.current_stream(1).device == cuda.default_stream(1).device == torch.device("cuda", 1)
    with cuda.device(0), cuda.stream(cuda.Stream(1)) as stream:
        assert (cuda.current_device(), cuda.current_stream() is stream) == (1, True)
        assert cuda.current_stream(0) is cuda.default_stream(0)
    assert cuda.current_stream() is cuda.default_stream(1)
    assert len(cuda.get_rng_state_all()) == len(cuda.default_generators) == 2
    assert torch.Generator("cuda").device == torch.Generator("cuda:1").device == torch.device("cuda", 1)


@on_two_devices
def test_tensors_are_where_they_are_put() -> None:
    import torch

    first, second = torch.device("cuda", 0), torch.device("cuda", 1)
    x = torch.arange(6.0).reshape(2, 3)
    there = x.to("cuda:1")
    assert there.to(second) is there
    assert there.to("cuda").device == first
    made: list[Callable[[], Any]] = [
        lambda: torch.ones(2, device="cuda:1"), lambda: torch.tensor([1.0], device=second),
        lambda: torch.randperm(4, device=second), lambda: x.cuda(1), lambda: x.to(there), lambda: there * 2,
        lambda: there @ there.t(), there.sum, lambda: there[there > 1], lambda: there.sort()[1],
        lambda: torch.nn.functional.softmax(there, 0), lambda: torch.nn.functional.dropout(there),
        lambda: torch.zeros_like(there), lambda: there.new_zeros(2), lambda: torch.empty_like(x, device=second),
        lambda: torch.nn.LSTM(3, 4).to(second)(there[None])[1][0], lambda: torch._foreach_add([there], 1.0)[0],
        there.to_sparse, lambda: there.to_sparse().coalesce().indices(), there.to_sparse_csr,
        lambda: torch.sparse.mm(there.to_sparse(), there.t()), there.half, lambda: there.clone().double(),
        lambda: torch.nn.parallel.comm.broadcast(there, [1, 0])[0], lambda: there.to("cuda:0").to("cuda:1").t(),
        lambda: torch.nested.nested_tensor([there, there[:1]]), lambda: there.to(torch.float8_e5m2),
    ]  # fmt: skip
    for number, make in enumerate(made):
        assert make().device == second, number
    with torch.cuda.device(1):
        assert [one.device for one in (torch.ones(1, device="cuda"), x.cuda(), x.to("cuda"))] == [second] * 3
        assert torch.cuda.FloatTensor(2).device == second
    assert torch.equal(there.to(first).cpu(), x)
    assert (torch._foreach_mul([x.cuda(), there], 2.0)[1].device, x.cuda().device) == (second, first)


@on_two_devices
def test_quantised_tensors_go_from_one_to_the_other() -> None:
    import torch

    whole = torch.quantize_per_tensor(torch.arange(6.0).cuda(1), 0.5, 1, torch.qint8)
    channels = torch.quantize_per_channel(
        *(torch.ones(2, 3, device="cuda:1"), torch.tensor([0.5, 0.1]).cuda(1), torch.tensor([0, 1]).cuda(1), 0),
        torch.quint8,
    )
    for tensor in (whole, channels):
        moved = tensor.to("cuda:0")
        assert (tensor.device.index, moved.device.index) == (1, 0)
        assert torch.equal(tensor.dequantize().cpu(), moved.dequantize().cpu())


@on_two_devices
def test_a_mixture_is_refused_in_cudas_words() -> None:
    import torch

    first, second = torch.arange(3.0, device="cuda:0"), torch.arange(3.0, device="cuda:1")
    expected: list[tuple[str, Callable[[], Any]]] = [
        ("found at least two devices, cuda:0 and cuda:1!", lambda: first + second),
        ("found at least two devices, cuda:0 and cuda:1!", lambda: first + second[0]),
        ("found at least two devices, cuda:0 and cuda:1!", lambda: first.add_(second)),
        ("is on cuda:1, different from other tensors on cuda:0", lambda: torch.cat([first, second])),
        ("is on cuda:1, different from other tensors on cuda:0", lambda: first @ second),
        ("on the same device as the indexed tensor \\(cuda:0\\)", lambda: first[second.long()]),
        ("found at least two devices", lambda: torch._foreach_add([first], [second])),
        ("same device", lambda: torch.nn.functional.scaled_dot_product_attention(*[first.expand(1, 1, 3)] * 2,
                                                                                  second.expand(1, 1, 3))),
    ]  # fmt: skip
    for words, action in expected:
        with pytest.raises(RuntimeError, match=words):
            action()
    put = first.clone()
    put[torch.tensor([1], device="cuda:0")] = second[2]  # one value comes over: TensorAdvancedIndexing.cpp: index_put_
    assert put.tolist() == [0.0, 2.0, 2.0]


@on_two_devices
def test_backward_runs_on_each_device_for_itself() -> None:
    import torch

    lower, upper = torch.nn.Linear(3, 4).to("cuda:0"), torch.nn.Linear(4, 2).to("cuda:1")
    seen = []
    for layer in (lower, upper):
        layer.weight.register_hook(lambda grad: seen.append((grad.device.index, torch.cuda.current_device())))
    upper(lower(torch.ones(1, 3, device="cuda")).relu().to("cuda:1")).sum().backward()
    assert seen == [(1, 1), (0, 0)]
    assert [layer.weight.grad.device.index for layer in (lower, upper)] == [0, 1]


@on_two_devices
def test_files_keep_devices_and_can_be_sent_elsewhere() -> None:
    import torch

    file = io.BytesIO()
    torch.save({"a": torch.ones(2, device="cuda:1"), "b": torch.ones(2, device="cuda:0")}, file)
    for places, expected in ((None, [1, 0]), ({"cuda:1": "cuda:0"}, [0, 0]), ("cuda:1", [1, 1])):
        file.seek(0)
        loaded = torch.load(file, map_location=places)
        assert [loaded[name].device.index for name in "ab"] == expected


@on_two_devices
def test_copies_between_devices_have_a_direction_of_their_own() -> None:
    import torch

    from runtime_check import TransferForbidden, guard, watch

    x = torch.ones(4, device="cuda:0")
    with watch() as run:
        y = x.to("cuda:1", torch.float64)
        x.copy_(y, non_blocking=True)
        y.to("cuda:1").clone()
    assert (run.d2d, run.h2d, run.d2h, run.sync) == (2, 0, 0, 0)
    assert [record.bytes for record in run.records() if record.direction.value == "d2d"] == [32, 16]
    with guard(h2d="disallow_explicit", d2h="disallow_explicit", sync="disallow_explicit"):
        x.to("cuda:1")
    with guard(d2d="disallow_explicit"), pytest.raises(TransferForbidden, match="device-to-device transfer of 16 byte"):
        x.to("cuda:1")
    assert x.to("cuda:0") is x


@in_fork
def test_a_number_of_devices_that_is_none_is_refused_in_one_line() -> None:
    import os

    from runtime_check import simulate
    from runtime_check.simulate.conditions import DEVICES

    for said in ("0", "two", "99", "-1"):
        os.environ[DEVICES] = said
        with pytest.raises(simulate.Refused, match=f"{DEVICES}={said} is no number of devices from 1 to 16"):
            simulate.start()
