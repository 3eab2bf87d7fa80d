"""`nn.DataParallel`, `torch.cuda.comm`: scatter, gather and broadcast are CUDA's in C++ (torch/csrc/cuda/comm.cpp).

What NCCL does there is no copy of torch's and is not recorded: broadcasts and sums of what lies on several devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.forge import Forge
from runtime_check.simulate.internals import C, aten, torch


def install(changes: Changes, forge: Forge) -> None:
    """Replace the functions that torch.nn.parallel.comm calls."""
    for function in (*_spreading(forge), *_collecting()):
        changes.attribute(C, function.__name__, function)
    changes.attribute(torch.cuda.nccl, "is_available", _for_nccl)
    changes.attribute(torch.cuda.nccl, "reduce", _reducing(forge))


def _place(number: int) -> Any:
    return torch.device("cuda", number)


def _spreading(forge: Forge) -> Iterable[Callable[..., Any]]:
    move = aten.to.device  # not the method, which whoever records has wrapped: CUDA's is called in C++

    def replica(tensor: Any, number: int) -> Any:
        if not tensor.is_cuda:
            return move(tensor, _place(number), tensor.dtype, True, True)
        return forge.device(aten.clone.default._op(forge.host(tensor)), number)

    def _broadcast(tensor: Any, devices: Any) -> Any:
        if tensor.is_cuda and tensor.get_device() != devices[0]:
            raise RuntimeError(
                f"Expected first output to be on the same device, but input on {tensor.device} and output on "
                f"{_place(devices[0])}"
            )
        first = tensor if tensor.is_cuda else replica(tensor, devices[0])
        return [first, *(replica(tensor, number) for number in devices[1:])]

    def _broadcast_out(tensor: Any, out: Any) -> Any:
        for one in out:
            one.copy_(tensor, non_blocking=True)
        return out

    def _broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int) -> Any:
        if any(tensor.get_device() != devices[0] for tensor in tensors):
            raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
        return [list(tensors), *([replica(tensor, number) for tensor in tensors] for number in devices[1:])]

    def _scatter(tensor: Any, devices: Any, chunk_sizes: Any = None, dim: int = 0, streams: Any = None) -> Any:
        parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
        pairs = zip(parts, devices, strict=False)
        return [move(part, _place(number), part.dtype, True) for part, number in pairs]

    def _scatter_out(tensor: Any, out: Any, dim: int = 0, streams: Any = None) -> Any:
        for part, one in zip(tensor.split([one.shape[dim] for one in out], dim), out, strict=True):
            one.copy_(part, non_blocking=True)
        return out

    return _broadcast, _broadcast_out, _broadcast_coalesced, _scatter, _scatter_out


def _collecting() -> Iterable[Callable[..., Any]]:
    def _gather_out(tensors: Any, out: Any, dim: int = 0) -> Any:
        for part, one in zip(out.split([one.shape[dim] for one in tensors], dim), tensors, strict=True):
            part.copy_(one, non_blocking=out.is_cuda)
        return out

    def _gather(tensors: Any, dim: int = 0, destination: int | None = None) -> Any:
        shape = list(tensors[0].shape)
        shape[dim] = sum(one.shape[dim] for one in tensors)
        place = "cpu" if destination == -1 else "cuda" if destination is None else _place(destination)
        return _gather_out(tensors, torch.empty(shape, dtype=tensors[0].dtype, device=place), dim)

    return _gather, _gather_out


def _for_nccl(tensors: Any) -> bool:
    """torch/csrc/cuda/nccl.cpp: is_available."""
    dense = all(one.is_cuda and not one.is_sparse and one.is_contiguous() for one in tensors)
    return dense and len({one.device for one in tensors}) == len(tensors)


def _reducing(forge: Forge) -> Callable[..., Any]:
    def reduce(inputs: Any, output: Any = None, root: int = 0, op: int = 0, **_more: Any) -> None:
        if op:
            raise NotImplementedError("the simulated NCCL has only sums")
        parts = [forge.host(one) for one in inputs]
        total = sum(parts[1:], start=parts[0])
        forge.host(inputs[root] if output is None else output).copy_(total)

    return reduce
