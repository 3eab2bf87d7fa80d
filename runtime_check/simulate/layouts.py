"""Device tensors that are made of others: sparse ones of every layout, and nested ones with strides.

Their parts (indices, values, the buffer) are ordinary device tensors; the object around them is made by the CPU's own
constructors, which take the device from the parts or from their options (aten/src/ATen/native/sparse/SparseTensor.cpp:
new_sparse; SparseCsrTensor.cpp: new_compressed_tensor; NestedTensorImpl.cpp: generate_nested_key_set_from_buffer).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime_check.simulate import ordinals
from runtime_check.simulate.internals import C, aten, torch

HOST_KEYS = {"SparseCUDA": "SparseCPU", "SparseCsrCUDA": "SparseCsrCPU", "NestedTensorCUDA": "NestedTensorCPU"}

# What CUDA has no kernel for (compared with the registrations of torch 2.13.0+cu130).
HOST_ONLY = frozenset(
    (
        *("_pin_memory", "is_pinned", "_sparse_mm_reduce_impl", "_sparse_mm_reduce_impl_backward"),
        *("_nested_sum_backward", "sum.dim_IntList of NestedTensorCUDA"),
    )
)

# What reads or makes the object and leaves the elements alone, or does its work by operators on the parts: the CPU's
# kernel on the device tensors themselves.
ON_PARTS = frozenset(
    (
        *("_indices", "_values", "indices", "values", "_nnz", "sparse_dim", "dense_dim", "_dimI", "_dimV"),
        *("is_coalesced", "_coalesced_", "crow_indices", "col_indices", "ccol_indices", "row_indices"),
        *("_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "empty.memory_format"),
        *("empty_like", "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "zero_", "copy_"),
        *("copy_sparse_to_sparse_", "unsqueeze", "permute", "view_as_real", "view_as_complex"),
        *("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets", "unbind.int", "squeeze"),
        *("squeeze.dim", "squeeze.dims", "transpose.int", "select.int", "chunk", "split_with_sizes", "view", "alias"),
        *("detach", "narrow", "is_same_size", "_to_copy", "clone", "_to_dense"),
        *("_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr"),
        "_to_sparse_bsc",
    )
)
COMPRESSED = {"sparse_csr": ("crow", "col"), "sparse_csc": ("ccol", "row")}
COMPRESSED.update(sparse_bsr=COMPRESSED["sparse_csr"], sparse_bsc=COMPRESSED["sparse_csc"])


LAYOUTS = frozenset(getattr(torch, name) for name in (*COMPRESSED, "sparse_coo"))

# Of dense tensors: `nonzero` finds the elements, so that the host waits.
FROM_DENSE = tuple(name for name in sorted(ON_PARTS) if name.startswith("_to_sparse"))


def special(tensor: Any) -> bool:
    """Whether a tensor is made of others."""
    return tensor.layout in LAYOUTS or bool(tensor.is_nested)


def rebuild(tensor: Any, part: Callable[[Any], Any], device: Any) -> Any:
    """The tensor that is made of `part` of each part of this one; `device` is where those lie."""
    before = ordinals.use(-1 if device.index is None else device.index)
    try:
        return _rebuilt(tensor, part, device)
    finally:
        ordinals.use(before)


def _rebuilt(tensor: Any, part: Callable[[Any], Any], device: Any) -> Any:
    if tensor.is_nested:
        about = (_ask(tensor, f"_nested_tensor_{name}") for name in ("size", "strides", "storage_offsets"))
        view = aten._nested_view_from_buffer.default._handle.redispatch_boxed
        return view(C.DispatchKeySet(C.DispatchKey.CPU), part(_ask(tensor, "values")), *about)
    if tensor.layout is torch.sparse_coo:
        make = aten._sparse_coo_tensor_with_dims_and_tensors.default._handle.redispatch_boxed
        indices, values = part(_ask(tensor, "_indices")), part(_ask(tensor, "_values"))
        return make(
            *(_at("SparseCPU"), tensor.sparse_dim(), tensor.dense_dim(), tensor.size(), indices, values),
            dtype=tensor.dtype,
            layout=tensor.layout,
            device=device,
            is_coalesced=tensor.is_coalesced(),
        )
    names = COMPRESSED[str(tensor.layout).removeprefix("torch.")]
    parts = [part(_ask(tensor, f"{name}_indices")) for name in names]
    return aten._sparse_compressed_tensor_unsafe.default._op(
        *(*parts, part(_ask(tensor, "values")), tensor.size()), dtype=tensor.dtype, layout=tensor.layout, device=device
    )


def follow(tensor: Any, fresh: Any) -> None:
    """Let a device tensor become what `fresh` is, after an operator has changed it in place."""
    if tensor.layout is torch.sparse_coo:
        into = aten.copy_sparse_to_sparse_.default._handle.redispatch_boxed
        into(_at("SparseCPU"), tensor, fresh)
    elif not tensor.is_nested and tensor._nnz() != fresh._nnz():
        raise NotImplementedError(
            f"the simulated CUDA device does not change how many elements a tensor of layout {tensor.layout} has"
        )


def _ask(tensor: Any, name: str) -> Any:
    """A part, or what is known of the parts, without autograd."""
    operator = getattr(aten, name).default
    key = "NestedTensor" if tensor.is_nested else "Sparse" if tensor.layout is torch.sparse_coo else "SparseCsr"
    return operator._handle.redispatch_boxed(_at(f"{key}CPU"), tensor)


def _at(key: str) -> Any:
    return C.DispatchKeySet(getattr(C.DispatchKey, key))
