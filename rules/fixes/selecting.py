"""The fix of what a mask selects, where it lands in another tensor."""

from __future__ import annotations

import ast

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import BOOLEAN, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing, statement_text

_BLANKS = late.pattern(r"[ \t]*")


def selected(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x[m] = y[m]` and `x[m] += y[m]` to `x.copy_(torch.where(m, y, x))`."""
    found = _assignment(function, transfer)
    if found is None or not _is_mask(function, found[0].index) or not function.has_text(found[0].index):
        return None
    made, start, end = found
    mask = function.text(made.index)
    value = made.value
    source = function.code[value]
    operator = ""
    if isinstance(source, p.Binary) and source.inplace:
        operator, value = source.operator, source.right
    if not function.has_text(value):
        return None
    cuts = []
    for reg in function.expression(value):
        inner = function.code[reg]
        if isinstance(inner, p.Subscript) and function.has_text(reg) and function.has_text(inner.index):
            if function.text(inner.index) != mask:
                return None
            cuts.append((function.span(inner.object)[1], function.span(reg)[1]))
    torch, imports = importing.torch_name(function, transfer.register)
    if not cuts or not torch or function.file.spans.commented(start, end):
        return None
    begin, stop = function.outer_span(value)
    text = function.file.text[begin:stop]
    for one, other in sorted(cuts, reverse=True):
        text = text[: one - begin] + text[other - begin :]
    x = function.text(made.object)
    text = f"{x} {operator} {text}" if operator else text
    line = f"{x}.copy_({torch}.where({function.outer_text(made.index)}, {text}, {x}))"
    return Fix("select on the device", Safety.DISPLAY, (*imports, Edit(start, end, line)))


def _is_mask(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return value.kinds == TENSOR and bool(value.flags & BOOLEAN)


def _assignment(function: FunctionFacts, transfer: Transfer) -> tuple[p.SetItem, int, int] | None:
    """The assignment to a masked place that a transfer is, or that takes what it selects, and its offsets."""
    for reg in sorted(function.around(transfer.register)):
        made = function.code[reg]
        if not isinstance(made, p.SetItem) or not function.has_text(made.value) or not function.has_text(made.object):
            continue
        if transfer.register in (reg, made.value) or transfer.register in function.expression(made.value):
            blanks = _BLANKS.match(function.file.text, function.file.spans.line_start(function.span(made.object)[0]))
            found = statement_text.statement_at(function.file.text, blanks.end()) if blanks is not None else None
            if blanks is not None and found is not None and isinstance(found[1], ast.Assign | ast.AugAssign):
                return made, blanks.end(), blanks.end() + len(found[0])
    return None
