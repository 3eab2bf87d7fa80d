"""What CUDA says when an operator gets tensors from several places.

Two texts: that of the checks which torch generates for each CUDA kernel (c10/core/impl/TensorOptions,
`common_device_check_failure`: the argument is named), and that of TensorIterator (aten/src/ATen/TensorIterator.cpp,
`compute_types`: no name, and 0-dimensional host tensors pass).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runtime_check.simulate.internals import Tensor

ACCEPT_HOST_TENSORS = frozenset(
    (
        *("copy_", "_to_copy", "index.Tensor", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index.Tensor"),
        *("_unsafe_index_put", "set_.source_Tensor", "is_set_to", "is_same_size", "_has_same_storage_numel"),
        *("_pack_padded_sequence", "_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_"),
        *("record_stream", "result_type", "_foreach_add_.Tensor", "_ctc_loss", "_ctc_loss_backward"),
        *("_nested_from_padded", "_nested_view_from_buffer"),
    )
)
SAME = "Expected all tensors to be on the same device, but "


def named_difference(operator: str, arguments: Iterable[tuple[str, Any]]) -> RuntimeError | None:
    """The generated check's error where the tensors of `arguments` (name, value) lie in several places."""
    first = None
    for name, value in arguments:
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(tensor, Tensor):
                continue
            if first is None:
                first = tensor.device
            elif tensor.device != first:
                return RuntimeError(
                    f"{SAME}got {name} is on {tensor.device}, different from other tensors on {first} "
                    f"(when checking argument in method wrapper_CUDA_{operator})"
                )
    return None


def convolution_difference(arguments: Iterable[tuple[str, Any]]) -> RuntimeError | None:
    """Convolution.cpp: check_input_same_type_as_parameters, which names types, not places."""
    tensors = {name: value for name, value in arguments if isinstance(value, Tensor)}
    for name in ("weight", "bias"):
        if "input" in tensors and name in tensors and tensors["input"].device != tensors[name].device:
            return RuntimeError(
                f"Input type ({tensors['input'].type()}) and {name} type ({tensors[name].type()}) should be the same"
            )
    return None


def iterator_difference(arguments: Iterable[tuple[str, Any]]) -> RuntimeError | None:
    """TensorIterator's error where a host tensor with dimensions meets a device tensor."""
    places = []
    for _, value in arguments:
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, Tensor) and (tensor.is_cuda or tensor.dim()) and tensor.device not in places:
                places.append(tensor.device)
    if len(places) < 2:
        return None
    return RuntimeError(f"{SAME}found at least two devices, {places[0]} and {places[1]}!")


def foreach_difference(arguments: Iterable[tuple[str, Any]]) -> RuntimeError | None:
    """`_foreach_` operators take lists on several devices, one by one (aten/src/ATen/native/ForeachUtils.h:
    can_use_fast_route), so that only what stands in the same place has to be on the same device."""
    given = [value for _, value in arguments if isinstance(value, (Tensor, list, tuple))]
    for place in range(max((len(value) for value in given if not isinstance(value, Tensor)), default=0)):
        beside = (value if isinstance(value, Tensor) else value[place : place + 1] for value in given)
        error = iterator_difference(("", value) for value in beside)
        if error is not None:
            return error
    return None


def tensors(values: Iterable[Any]) -> Iterator[Any]:
    """The tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (one for one in value if isinstance(one, Tensor))
