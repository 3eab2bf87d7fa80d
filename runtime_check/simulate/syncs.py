"""The waits that CUDA kernels make inside an operator, where its CPU kernel makes none.

Every row was read in the file of torch's source named beside it (under aten/src/ATen/native/, or of the library that is
named); those that a call of the knowledge tables reaches do so on an H200 (benchmarks/results/conformance.md). A row
says how the value comes to the host, because that decides who sees it:

- READ: `.item()`, through `aten::_local_scalar_dense`; whoever overrides that operator sees it, so the simulator runs
  it through the dispatcher.
- COPY: `.cpu()`, through `aten::copy_`, likewise.
- WAIT: a raw `memcpy` and a stream synchronisation, which no operator shows; the simulator reports it.
- UPLOAD: what the host has worked out goes to the device, through `aten::copy_`, and the host waits.

Operators that C++ composes of others (`allclose`, `one_hot`, `linalg.inv`, ...) need no row: their `.item()` runs here
as it does on CUDA.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any

from runtime_check.simulate.internals import torch


class How(enum.Enum):
    """By what way the host gets the value."""

    READ = "read"
    COPY = "copy"
    WAIT = "wait"
    UPLOAD = "upload"


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """One wait of the host for `bytes` bytes. READ and COPY also say the `dtype` of the one element, by name, and
    UPLOAD that of as many as there are."""

    bytes: int
    how: How = How.WAIT
    dtype: str = ""


Rule = Callable[[tuple[Any, ...], Mapping[str, Any]], list[Wait]]

COUNT = Wait(4)
LONG = Wait(8, How.READ, "int64")
FLAG = Wait(1, How.READ, "bool")


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """`operators` are names, with or without overload; those of other libraries than ATen with their namespace."""

    operators: tuple[str, ...]
    waits: Rule
    source: str


def always(*waits: Wait) -> Rule:
    """A rule for operators that wait whatever their arguments are."""
    return lambda args, kwargs: list(waits)


def masks(indices: Any) -> int:
    """How many of the indices are masks on the device: CUDA expands each by `nonzero`."""
    return sum(
        index is not None and index.is_cuda and index.dtype in (torch.bool, torch.uint8) for index in indices or ()
    )


def argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], place: int, name: str, default: Any = None) -> Any:
    """An argument given by place or by name."""
    return args[place] if len(args) > place else kwargs.get(name, default)


def _index(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    return [COUNT] * masks(argument(args, kwargs, 1, "indices"))


def fills_masked(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether CUDA takes the way of `masked_fill`, which needs no indices (`canDispatchToMaskedFill`): one mask, on the
    device, and one value, on the host."""
    indices, values = argument(args, kwargs, 1, "indices"), argument(args, kwargs, 2, "values")
    if argument(args, kwargs, 3, "accumulate", False) or values.numel() != 1 or values.is_cuda:
        return False
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype in (torch.bool, torch.uint8) and given[0].is_cuda


def _index_put(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    return [] if fills_masked(args, kwargs) else _index(args, kwargs)


def _repeat_interleave(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    return [LONG, FLAG] if argument(args, kwargs, 1, "output_size") is None else []


def _equal(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    left, right = args[0], args[1]
    same = (  # the same elements of the same memory need no look
        left.untyped_storage()._cdata == right.untyped_storage()._cdata
        and left.storage_offset() == right.storage_offset()
        and left.dtype == right.dtype
        and left.stride() == right.stride()
        and left.is_conj() == right.is_conj()
        and left.is_neg() == right.is_neg()
    )
    return [FLAG] if left.shape == right.shape and left.numel() and not same else []


def _element(tensor: Any, how: How) -> Wait:
    return Wait(tensor.element_size(), how, str(tensor.dtype).removeprefix("torch."))


def _bincount(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    values = args[0]
    if not values.numel():
        return []
    most = _element(values, How.COPY)
    return [most] if values.dtype is torch.uint8 else [most, most]


def _histc(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    least, most = argument(args, kwargs, 2, "min", 0), argument(args, kwargs, 3, "max", 0)
    return [_element(args[0], How.COPY)] * 2 if least == most and args[0].numel() else []


def _normal(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    deviation = args[1]
    return [FLAG] if deviation.numel() and not deviation.is_complex() else []


def _masked_fill(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    return [_element(args[2], How.READ)] if args[2].is_cuda else []


def _isin(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    elements, tested = args[0], args[1]
    if not elements.numel() or not tested.numel() or tested.numel() < 10 * elements.numel() ** 0.145:
        return []
    return [] if kwargs.get("assume_unique") else [LONG, LONG]


def _unique(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    if not args[0].numel():
        return []
    return [COUNT] if args[0].dtype is torch.bool else [LONG]  # of bools, the true ones are counted


def _unique_consecutive(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    if argument(args, kwargs, 3, "dim") is not None:
        return [Wait(8)]
    return [LONG] if args[0].numel() else []


def _flattening(tensor: Any) -> list[Wait]:
    """Indices of several dimensions become numbers: the factors come from the host."""
    dimensions = tensor.sparse_dim()
    return [Wait(8 * dimensions, How.UPLOAD, "int64")] if dimensions > 1 else []


def _coalesce(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    loose = args[0].layout is torch.sparse_coo and not args[0].is_coalesced() and args[0]._nnz() > 1
    return [*_flattening(args[0]), Wait(8)] if loose else []


def _factor(place: int) -> Rule:
    return lambda args, kwargs: _coalesce(args[place:], kwargs) if args[place].layout is torch.sparse_coo else []


def _added(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    left, right = args[0], argument(args, kwargs, 1, "other")
    mixed = left.layout is torch.strided and right.layout is torch.sparse_coo and not right.is_coalesced()
    return _flattening(right) if mixed and right._nnz() else []


def _scale_and_zero(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    given = (argument(args, kwargs, place, name) for place, name in ((1, "scale"), (2, "zero_point")))
    return [_element(one, How.READ) for one in given if one.is_cuda]


def _nms(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Wait]:
    return [COUNT] if args[0].numel() else []


TABLE: tuple[Row, ...] = (
    Row(("nonzero",), always(COUNT), "cuda/Nonzero.cu: nonzero_cuda_out_impl"),
    Row(("masked_select",), always(COUNT), "cuda/IndexKernel.cpp: masked_select_out_cuda_impl, by nonzero"),
    Row(("index.Tensor", "_unsafe_index.Tensor"), _index, "IndexingUtils.h: expandTensors, by nonzero"),
    Row(
        ("index_put_", "index_put", "_index_put_impl_", "_unsafe_index_put"),
        _index_put,
        "TensorAdvancedIndexing.cpp: _index_put_impl_, by nonzero",
    ),
    Row(("_unique2", "_unique"), _unique, "cuda/UniqueCub.cu: compute_unique, UniqueCub<bool>"),
    Row(("unique_consecutive",), _unique_consecutive, "cuda/Unique.cu: unique_consecutive_cuda, by compute_unique"),
    Row(("unique_dim", "unique_dim_consecutive"), always(Wait(8)), "cuda/Unique.cu, by thrust"),
    Row(("repeat_interleave.Tensor",), _repeat_interleave, "Repeat.cpp: repeat_interleave_common"),
    Row(("equal",), _equal, "cuda/Equal.cpp: cuda_equal"),
    Row(("bincount",), _bincount, "cuda/SummaryOps.cu: _bincount_cuda_template"),
    Row(("histc",), _histc, "cuda/SummaryOps.cu: _histc_cuda_template"),
    Row(
        ("normal.Tensor_Tensor", "normal.float_Tensor"),
        _normal,
        "DistributionTemplates.h: CHECK_NORMAL_TENSOR_STD",
    ),
    Row(("masked_fill_.Tensor",), _masked_fill, "cuda/Indexing.cu: masked_fill__cuda"),
    Row(("isin.Tensor_Tensor",), _isin, "TensorCompare.cpp: isin_sorting, by _unique"),
    Row(("embedding_renorm_",), always(LONG), "cuda/Embedding.cu: embedding_renorm_cuda_"),
    Row(
        ("cholesky", "_linalg_eigh", "_linalg_svd", "linalg_eig", "_linalg_eigvals"),
        always(FLAG),
        "BatchLinearAlgebra.cpp: _linalg_check_errors",
    ),
    Row(
        ("quantize_per_tensor.tensor_qparams",),
        _scale_and_zero,
        "quantized/QTensor.cpp: quantize_per_tensor_tensor_qparams",
    ),
    Row(
        ("quantize_per_tensor_dynamic",),
        always(*[Wait(4, How.READ, "float32")] * 2),
        "quantized/QTensor.cpp: quantize_per_tensor_dynamic",
    ),
    Row(("torchvision::nms",), _nms, "torchvision/csrc/ops/cuda/nms_kernel.cu: nms_kernel, by masked_select"),
)

# Of tensors that are made of parts. What is not here waits where the operators on the parts do, as far as it is known.
OF_PARTS: tuple[Row, ...] = (
    Row(("_coalesce",), _coalesce, "sparse/cuda/SparseCUDATensor.cu: _coalesce_sparse_cuda, flatten_indices"),
    Row(("mm", "mv"), _factor(0), "sparse/cuda/SparseCUDATensorMath.cu: s_addmm_out_sparse_dense_cuda, by coalesce"),
    Row(("addmm", "addmm_"), _factor(1), "sparse/cuda/SparseCUDATensorMath.cu: s_addmm_out_sparse_dense_cuda"),
    Row(
        ("add.Tensor", "add_.Tensor"),
        _added,
        "sparse/cuda/SparseCUDATensorMath.cu: add_out_dense_sparse_cuda, by flatten_indices",
    ),
)


def rule(name: str, full: str, namespace: str = "aten", of_parts: bool = False) -> Rule | None:
    """The rule of an operator, by its name without and with overload; `out=` forms wait as the others do."""
    if namespace != "aten":
        name, full = f"{namespace}::{name}", f"{namespace}::{full}"
    for row in OF_PARTS if of_parts else TABLE:
        for operator in row.operators:
            base = operator.partition(".")[0]
            if operator in (full, name) or (base == name and full.endswith("out")):
                return row.waits
    return None
