"""Numbers that are written to elements of a tensor on the device: `x[rows] = 0`, `x[0, 0] = 0`."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import COPY_INTO, Transfer
from transferlint.flow.lattice.values import HOST_VALUE, TENSOR
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.syntax import program as p

from ..code import rewriting
from ..questions.detection import brief, clusters, hot, others, together
from . import fixed_size


def found(facts: FileFacts) -> Iterator[Finding]:
    """What TL104 says of them: the number is copied there first (aten/src/ATen/native/TensorAdvancedIndexing.cpp,
    `_index_put_impl_`; torch/csrc/autograd/python_variable_indexing.cpp)."""
    for function, group in clusters((f, t) for f, t in hot(facts, COPY_INTO) if _stored(f, t)):
        first = group[0]
        one = _one_element(function, first)
        yield function.finding(
            first.register,
            f"the number assigned to `{brief(function.text(first.register))}` is copied from the host"
            f" {function.warmth(first.register).level.each}",
            "fill that element on the device (`x[i].fill_(n)`)"
            if one
            else "assign a device value: `x[i] = x.new_full((), n)`, `x.index_fill_(0, i, n)` or `torch.where`",
            others(function, group),
            Confidence.POSSIBLE if function.warmth(first.register).unsure else Confidence.LIKELY,
            together(function, group, [_fix(function, t) for t in group]),
        )


def _stored(function: FunctionFacts, transfer: Transfer) -> bool:
    made = function.code[transfer.register]
    return isinstance(made, p.SetItem) and transfer.before.kinds == HOST_VALUE


def _one_element(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `x[0, 0] = n`; the others have tensors for indices."""
    made = function.code[transfer.register]
    assert isinstance(made, p.SetItem)
    parts = function.code[made.index]
    return not any(
        function.values[one].is_a(TENSOR) for one in (parts.items if isinstance(parts, p.Sequence) else (made.index,))
    )


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x[rows] = n` to `x[rows] = x.new_full((), n)`, which has the dtype of `x` as the number gets it, and `x[0] = n`
    to `x[0].fill_(n)`."""
    made = function.code[transfer.register]
    assert isinstance(made, p.SetItem)
    start, end = fixed_size.line_of(function, made)
    whole = rewriting.operand(function, made.object)
    if start < 0 or not whole or "#" in function.file.text[start:end]:
        return None
    number, value = function.outer_text(made.value), function.code[made.value]
    if _one_element(function, transfer):
        text = f"{function.text(transfer.register)}.fill_({number})"
        return Fix("fill it on the device", Safety.UNSAFE, (Edit(start, end, text),))
    zero = isinstance(value, p.Const) and value.value == 0 and type(value.value) is not bool
    text = f"{whole}.new_zeros(())" if zero else f"{whole}.new_full((), {number})"
    return Fix("create it on the device", Safety.UNSAFE, (Edit(*function.outer_span(made.value), text),))
