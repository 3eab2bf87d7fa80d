"""`torch.cuda`, `torch.accelerator` and their neighbours answer as on a machine with one GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from simulated import in_simulation


@in_simulation
def test_other_devices_are_out_of_range() -> None:
    import torch

    x = torch.ones(2)
    actions: list[Callable[[], Any]] = [
        lambda: torch.ones(2, device="cuda:1"),
        lambda: x.to("cuda:1"),
        lambda: x.cuda(1),
        lambda: x.cuda().to("cuda:1"),
        lambda: torch.tensor([1.0], device="cuda:2"),
        lambda: torch.randperm(4, device="cuda:1"),
        lambda: torch.cuda.set_device(1),
        lambda: torch.cuda.get_device_properties(1),
        lambda: torch.cuda.synchronize("cuda:1"),
        lambda: torch.cuda.device(1),
        lambda: torch.cuda.Stream(device=1),
        lambda: torch.Generator("cuda:1"),
        lambda: torch.nn.Linear(2, 2).to("cuda:1"),
    ]
    for number, action in enumerate(actions):
        with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
            print(number, action())
    assert torch.ones(1, device="cuda:0").device == torch.device("cuda", 0)


@in_simulation
def test_one_device_is_there() -> None:
    import torch

    cuda = torch.cuda
    assert (cuda.is_available(), cuda.device_count(), cuda.current_device()) == (True, 1, 0)
    assert cuda.get_device_capability() == (8, 0)
    assert cuda.get_device_properties("cuda").total_memory == cuda.mem_get_info()[1] > 0
    assert cuda.is_bf16_supported()
    assert torch.version.cuda
    assert torch.backends.cuda.is_built()
    assert torch.backends.cudnn.is_available()
    torch.backends.cudnn.benchmark = True
    assert torch.backends.cudnn.benchmark is True
    with cuda.device(0), cuda.nvtx.range("region"):
        cuda.empty_cache()
    assert cuda.memory_allocated() == cuda.max_memory_reserved() == 0
    assert cuda.memory_stats()["allocated_bytes.all.peak"] == 0
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.device_count() == 1
    assert not cuda.is_current_stream_capturing()
    assert isinstance(cuda.CUDAGraph(), torch.cuda.graphs.CUDAGraph)


@in_simulation
def test_streams_and_events_are_there_and_order_nothing() -> None:
    import threading

    import torch

    stream = torch.cuda.Stream()
    default = torch.cuda.current_stream()
    assert default == torch.cuda.default_stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
        elsewhere: list[Any] = []
        thread = threading.Thread(target=lambda: elsewhere.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
        assert elsewhere == [default]
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() is stream
    assert torch.cuda.current_stream() is default
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    stream.wait_event(start)
    stream.record_event(end)
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(torch.cuda.Event())
    with torch.Stream(device="cuda") as other:
        assert torch.accelerator.current_stream() is other
    torch.cuda.synchronize()
    torch.accelerator.synchronize()


@in_simulation
def test_random_state_is_saved_and_restored() -> None:
    import torch

    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))
    with torch.random.fork_rng(devices=[0]):
        torch.rand(3, device="cuda")
    assert isinstance(torch.default_generator, torch.Generator)
    generator = torch.Generator("cuda").manual_seed(3)
    assert generator.device == torch.device("cuda", 0)
    assert torch.Generator().device == torch.device("cpu")
    kept = generator.get_state()
    drawn = torch.randperm(9, device="cuda", generator=generator)
    generator.set_state(kept)
    assert torch.equal(drawn, torch.randperm(9, device="cuda", generator=generator))


@in_simulation
def test_pinned_memory() -> None:
    import torch

    plain = torch.ones(4)
    pinned = plain.pin_memory()
    assert (plain.is_pinned(), pinned.is_pinned(), pinned[1:].is_pinned()) == (False, True, True)
    assert pinned.pin_memory() is pinned
    assert pinned.untyped_storage().is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert torch.zeros(3, pin_memory=True).tolist() == [0.0] * 3
    device = pinned.to("cuda", non_blocking=True)
    assert not device.is_pinned()
    assert device.to("cpu", non_blocking=True).is_pinned()
    assert not device.to("cpu").is_pinned()
    assert not device.cpu().is_pinned()


@in_simulation
def test_mixed_precision() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=64.0)
    for number in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(torch.randn(4, 8, device="cuda"))
            assert output.dtype == torch.float16
            assert torch.softmax(output, -1).dtype == torch.float32
            assert nn.functional.mse_loss(output, torch.zeros_like(output)).dtype == torch.float32
        loss = output.float().square().mean() * (float("inf") if number == 1 else 1.0)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        before = model[0].weight.detach().clone()
        scaler.step(optimizer)
        assert torch.equal(before, model[0].weight) == (number == 1)
        scaler.update()
        optimizer.zero_grad()
    assert scaler.get_scale() == 32.0
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert nn.Conv2d(1, 2, 3).cuda()(torch.randn(1, 1, 5, 5, device="cuda")).dtype == torch.bfloat16
        assert nn.LSTM(4, 4).cuda()(torch.randn(3, 2, 4, device="cuda"))[0].dtype == torch.bfloat16


@in_simulation
def test_types_and_memory_of_other_makers() -> None:
    import pickle

    import torch

    half = torch.arange(4.0).cuda().to(torch.float8_e4m3fn)
    assert half.float().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert half[1:3].cpu().float().tolist() == [1.0, 2.0]
    x = torch.arange(3.0, device="cuda")
    assert pickle.loads(pickle.dumps(x)).tolist() == [0.0, 1.0, 2.0]
    shared = torch.from_dlpack(x)
    shared += 1
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert (torch.view_as_complex(torch.ones(3, 2, device="cuda")).conj() * 1j).real.tolist() == [1.0] * 3


@in_simulation
@pytest.mark.filterwarnings("ignore:(?s).*deprecated")
def test_quantised_tensors() -> None:
    import copy
    import io

    import torch

    host = torch.arange(12.0).reshape(3, 4)
    device = host.cuda()
    scales, zeros = torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2])
    pairs = [
        (torch.quantize_per_tensor(host, 0.1, 3, kind), torch.quantize_per_tensor(device, 0.1, 3, kind))
        for kind in (torch.qint8, torch.quint8, torch.qint32)
    ]
    rows = torch.quantize_per_channel(host, scales, zeros, 0, torch.quint8)
    pairs.append((rows, torch.quantize_per_channel(device, scales.cuda(), zeros.cuda(), 0, torch.quint8)))
    for ours, theirs in pairs:
        assert str(theirs.device) == "cuda:0"
        assert theirs.is_quantized
        assert theirs.qscheme() == ours.qscheme()
        stored = io.BytesIO()
        torch.save(theirs, stored)
        stored.seek(0)
        for same in (theirs, ours.cuda(), theirs.clone(), copy.deepcopy(theirs), torch.load(stored)):
            assert same.is_cuda
            assert torch.equal(same.int_repr().cpu(), ours.int_repr())
            assert torch.equal(same.dequantize().cpu(), ours.dequantize())
            assert torch.equal(same.cpu().dequantize(), ours.dequantize())
    ours, theirs = pairs[0]
    assert (theirs.q_scale(), theirs.q_zero_point()) == (0.1, 3)
    assert torch.equal(theirs.t()[1:, ::2].relu().dequantize().cpu(), ours.t()[1:, ::2].relu().dequantize())
    assert torch.equal(theirs.flip(0).unsqueeze(0).dequantize().cpu(), ours.flip(0).unsqueeze(0).dequantize())
    assert torch.equal(theirs.fill_(1.0).dequantize().cpu(), torch.ones(3, 4))
    scales_there = pairs[-1][1].q_per_channel_scales()
    assert scales_there.is_cuda
    assert torch.equal(scales_there.cpu(), rows.q_per_channel_scales())
    with pytest.raises(NotImplementedError, match="'QuantizedCUDA' backend"):  # CUDA has no such kernel either
        theirs + theirs
    with pytest.raises(NotImplementedError, match="does not change the quantizer"):
        theirs.copy_(torch.quantize_per_tensor(host, 0.2, 3, torch.qint8))
    with pytest.raises(NotImplementedError, match=r"has no tensors of torch\.quint4x2"):
        torch.quantize_per_channel(device, scales.cuda(), zeros.float().cuda(), 0, torch.quint4x2)


@in_simulation
def test_a_class_of_its_own_finds_the_factory_it_is_called_for() -> None:
    import torch

    class Boxed:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return function is torch.zeros_like, kwargs

    assert torch.zeros_like(Boxed()) == (True, {})  # type: ignore[call-overload]
    assert torch.zeros_like(Boxed(), pin_memory=True) == (True, {"pin_memory": True})  # type: ignore[call-overload]


@in_simulation
def test_windows_are_made_on_the_device() -> None:
    import torch

    makers = torch.hann_window, torch.hamming_window, torch.bartlett_window, torch.blackman_window, torch.kaiser_window
    for make in makers:
        for args in ((8,), (8, False)):
            made = make(*args, device="cuda", dtype=torch.float64)
            assert made.is_cuda
            assert torch.equal(made.cpu(), make(*args, dtype=torch.float64)), (make, args)
    assert torch.equal(torch.kaiser_window(8, True, 9.0, device="cuda").cpu(), torch.kaiser_window(8, True, 9.0))


@in_simulation
def test_a_compiled_function_runs_eagerly_and_says_so_once() -> None:
    import contextlib
    import io

    import torch

    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        doubled = torch.compile(lambda x: x * 2)
        model = torch.compile(torch.nn.Linear(2, 2).cuda(), mode="max-autotune")
        torch.nn.Linear(2, 2).compile()
        assert doubled(torch.ones(1, device="cuda")).tolist() == [2.0]
        assert model(torch.ones(1, 2, device="cuda")).is_cuda
    assert said.getvalue() == (
        "runtime_check: torch.compile does nothing on the simulated device: the program runs eagerly\n"
    )


@in_simulation
def test_the_profiler_is_quiet() -> None:
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as taken:
        torch.ones(8, device="cuda") + 1
    assert any(event.key == "aten::add" for event in taken.key_averages())


@in_simulation
def test_integers_are_counted_in_bins() -> None:
    import torch

    values = torch.tensor([0, 1, 1, 3, 7, 9, -1], dtype=torch.int32, device="cuda")
    counted = torch.histc(values, bins=4, min=0, max=7)
    assert (counted.tolist(), counted.dtype, counted.is_cuda) == ([3, 1, 0, 1], torch.int32, True)
    assert torch.histc(values, 2).tolist() == [5, 2]
    assert torch.histc(torch.zeros(3, dtype=torch.int64, device="cuda"), 3).tolist() == [0, 3, 0]
    assert torch.histc(values.float(), bins=4, min=0, max=7).tolist() == [3.0, 1.0, 0.0, 1.0]


@in_simulation
def test_root_mean_square_norm_takes_its_shape() -> None:
    import torch

    layer = torch.nn.RMSNorm(4)
    values = torch.randn(3, 4)
    found = layer.to("cuda")(values.to("cuda"))
    found.sum().backward()
    assert torch.equal(found.cpu(), layer.cpu()(values))
