"""Quantised tensors on the device: whole numbers in device memory, with a quantiser beside them on the host.

C++ makes the object (aten/src/ATen/quantized/Quantizer.cpp: new_qtensor), with device memory of our allocator, and it
is then set on the memory that is meant, as views are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime_check.simulate import ordinals
from runtime_check.simulate.internals import C, aten, torch

KEY, HOST_KEY = "QuantizedCUDA", "QuantizedCPU"
PER_TENSOR = 0  # c10/core/QScheme.h: PER_TENSOR_AFFINE
INTEGERS = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
Kernel = Callable[..., Any]

# What makes the object, looks at it from another side or asks for its quantiser: the CPU's kernel on it itself.
ON_OBJECT = frozenset(
    (
        *("empty.memory_format", "empty_strided", "empty_like", "empty_quantized", "_empty_affine_quantized"),
        *("_empty_per_channel_affine_quantized", "set_.source_Storage_storage_offset", "as_strided", "view"),
        *("_reshape_alias", "unfold", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze", "qscheme", "q_scale"),
        *("q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis"),
    )
)


def over(tensor: Any, storage: Any, part: Callable[[Any], Any], device: Any) -> Any:
    """A quantised tensor over `storage`, which is on `device`, and otherwise as `tensor`; `part` is to bring scales
    there."""
    options = {"dtype": tensor.dtype, "device": device}
    empty = ordinals.guarded(_at_host_key("_empty_affine_quantized"))
    empty_per_channel = ordinals.guarded(_at_host_key("_empty_per_channel_affine_quantized"))
    if _ask(tensor, "qscheme") == PER_TENSOR:
        scale, zero = _ask(tensor, "q_scale"), _ask(tensor, "q_zero_point")
        made = empty([0], scale=scale, zero_point=zero, **options)
    else:
        scales, zeros = (part(_ask(tensor, f"q_per_channel_{name}")) for name in ("scales", "zero_points"))
        axis = _ask(tensor, "q_per_channel_axis")
        made = empty_per_channel([0], scales=scales, zero_points=zeros, axis=axis, **options)
    place = tensor.storage_offset(), tensor.size(), tensor.stride()
    _at_host_key("set_", "source_Storage_storage_offset")(made, storage, *place)
    return made


def integers(tensor: Any, whole: bool = False) -> Any:
    """The whole numbers of a quantised host tensor, over the same memory; `whole`: all that its storage holds."""
    storage = tensor.untyped_storage()
    dtype = INTEGERS.get(tensor.dtype)
    if dtype is None:
        raise NotImplementedError(f"the simulated CUDA device has no tensors of {tensor.dtype}")
    place = tensor.storage_offset(), tensor.size(), tensor.stride()
    if whole:
        place = 0, (storage.nbytes() // dtype.itemsize,), (1,)
    found = aten.empty.memory_format._op((0,), dtype=dtype, device=torch.device("cpu"))
    return found.set_(storage, *place)


def copying(host: Callable[[Any], Any], device: Callable[..., Any]) -> Kernel:
    """`copy_` where one side is quantised and on the device (aten/src/ATen/native/Copy.cpp: copy_impl)."""

    def carrier(tensor: Any) -> Any:
        return device(integers(host(tensor)), tensor.device.index) if tensor.is_cuda else integers(tensor)

    def known(tensor: Any) -> tuple[Any, ...]:
        scheme = _ask(tensor, "qscheme")
        if scheme == PER_TENSOR:
            return scheme, _ask(tensor, "q_scale"), _ask(tensor, "q_zero_point")
        parts = (_ask(tensor, f"q_per_channel_{name}") for name in ("scales", "zero_points"))
        return scheme, *((host(one) if one.is_cuda else one).tolist() for one in parts)

    def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
        if not target.is_quantized or not source.is_quantized or target.dtype != source.dtype:
            raise RuntimeError("Quantized tensors are copied from quantized tensors of the same type")
        if known(target) != known(source):
            raise NotImplementedError("the simulated CUDA device does not change the quantizer of a tensor")
        aten.copy_.default(carrier(target), carrier(source), non_blocking)
        return target

    return copy_


def _ask(tensor: Any, name: str) -> Any:
    return _at_host_key(name)(tensor)


def _at_host_key(name: str, overload: str = "default") -> Kernel:
    redispatch = getattr(getattr(aten, name), overload)._handle.redispatch_boxed
    at_host = C.DispatchKeySet(getattr(C.DispatchKey, HOST_KEY))
    return lambda *args, **kwargs: redispatch(at_host, *args, **kwargs)
