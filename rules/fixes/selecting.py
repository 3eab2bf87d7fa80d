"""The fixes of what a mask selects, where several statements are about the selection, or it lands in another tensor."""

from __future__ import annotations

import ast
import re

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import BOOLEAN, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing, rewriting, statement_text
from ..code.chains import called

_SIZE = frozenset({"nelement", "numel"})
_BLANKS = late.pattern(r"[ \t]*")
_ROWS = late.pattern(r"\.(?:reshape|view)\(\s*-1\s*,[^()\[\],]+\)(?:\.contiguous\(\))?$")


def selected(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The best that can be written for a selection; None where nothing concrete is sure to mean the same."""
    return (
        _averaged(function, transfer)
        or _moved(function, transfer)
        or _scattered(function, transfer)
        or _all_rows(function, transfer)
    )


def _is_mask(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return value.kinds == TENSOR and bool(value.flags & BOOLEAN)


def _line(function: FunctionFacts, at: int) -> tuple[int, str]:
    """The offset at which the line of an offset begins, and its blanks."""
    text = function.file.text
    begin = function.file.spans.line_start(at)
    blanks = _BLANKS.match(text, begin)
    assert blanks is not None
    return begin, blanks[0]


def _commented(function: FunctionFacts, start: int, end: int) -> bool:
    return function.file.spans.commented(start, end)


def _averaged(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`kept = x[x > t]` and `if kept.numel() > 0: y = kept.mean()` to the mean over a mask."""
    made = function.code[transfer.register]
    users = function.users(transfer.register)
    stored = function.code[users[0]] if len(users) == 1 else None
    if not isinstance(made, p.Subscript) or not isinstance(stored, p.Store) or not _is_mask(function, made.index):
        return None
    begin, blanks = _line(function, function.span(transfer.register)[0])
    start = begin + len(blanks)
    first, second = statement_text.statement_at(function.file.text, start), None
    if first is not None:
        rest = re.match(r"\s*", function.file.text[start + len(first[0]) :])
        assert rest is not None
        after = start + len(first[0]) + rest.end()
        second = statement_text.statement_at(function.file.text, after) if _line(function, after)[1] == blanks else None
    if first is None or second is None or not isinstance(first[1], ast.Assign):
        return None
    reduced = _reduction(second[1], ast.unparse(first[1].targets[0]))
    end = after + len(second[0])
    torch, imports = importing.torch_name(function, transfer.register)
    if reduced is None or not torch or _commented(function, start, end):
        return None
    target, how = reduced
    x, mask, name = function.outer_text(made.object), function.outer_text(made.index), rewriting.fresh(function, "kept")
    summed = f"{torch}.where({name}, {x}, 0).sum()"
    line = f"{name} = {mask}{rewriting.newline(function)}{blanks}{target} = {summed}"
    line += f" / {name}.sum()" if how == "mean" else ""
    title = "use the mask as weights; the mean over an empty mask is NaN"
    return Fix(title, Safety.DISPLAY, (*imports, Edit(start, end, line)))


def _reduction(node: ast.stmt, name: str) -> tuple[str, str] | None:
    """For `if name.numel() > 0: y = name.mean()`: what is assigned, and how it is reduced."""
    if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1:
        return None
    test, body = node.test, node.body[0]
    asked = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt) else None
    sized = isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute) and asked.func.attr in _SIZE
    if not sized or not isinstance(body, ast.Assign) or not isinstance(body.value, ast.Call) or body.value.args:
        return None
    assert isinstance(asked, ast.Call)
    assert isinstance(asked.func, ast.Attribute)
    call = body.value.func
    if ast.unparse(asked.func.value) != name or not isinstance(call, ast.Attribute) or body.value.keywords:
        return None
    if ast.unparse(call.value) != name or call.attr not in ("mean", "sum") or len(body.targets) != 1:
        return None
    return ast.unparse(body.targets[0]), call.attr


def _assignment(function: FunctionFacts, transfer: Transfer) -> tuple[p.SetItem, int, int] | None:
    """The assignment to a masked place that a transfer is, or that takes what it selects, and its offsets."""
    for reg in sorted(function.around(transfer.register)):
        made = function.code[reg]
        if not isinstance(made, p.SetItem) or not function.has_text(made.value) or not function.has_text(made.object):
            continue
        if transfer.register in (reg, made.value) or transfer.register in function.expression(made.value):
            begin, blanks = _line(function, function.span(made.object)[0])
            found = statement_text.statement_at(function.file.text, begin + len(blanks))
            if found is not None and isinstance(found[1], ast.Assign | ast.AugAssign):
                return made, begin + len(blanks), begin + len(blanks) + len(found[0])
    return None


def _moved(function: FunctionFacts, transfer: Transfer) -> Fix | None:
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
    if not cuts or not torch or _commented(function, start, end):
        return None
    begin, stop = function.outer_span(value)
    text = function.file.text[begin:stop]
    for one, other in sorted(cuts, reverse=True):
        text = text[: one - begin] + text[other - begin :]
    x = function.text(made.object)
    text = f"{x} {operator} {text}" if operator else text
    line = f"{x}.copy_({torch}.where({function.outer_text(made.index)}, {text}, {x}))"
    return Fix("select on the device", Safety.DISPLAY, (*imports, Edit(start, end, line)))


def _scattered(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x[m] = rows.reshape(-1, d)` to `x.masked_scatter_(m.unsqueeze(-1), rows)`."""
    found = _assignment(function, transfer)
    if found is None or not _is_mask(function, found[0].index):
        return None
    made, start, end = found
    value = function.file.text[slice(*function.outer_span(made.value))]
    plain = function.file.text[start:end].rpartition(value)[0].rstrip().endswith("]") is False
    if not _ROWS.search(value) or not plain or _commented(function, start, end):
        return None
    x, mask = function.text(made.object), function.outer_text(made.index)
    mask = mask if re.fullmatch(r"[\w.]+", mask) else f"({mask})"
    line = f"{x}.masked_scatter_({mask}.unsqueeze(-1), {value})"
    return Fix("scatter the rows with the mask", Safety.DISPLAY, (Edit(start, end, line),))


def _all_rows(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`v, i = torch.unique(x, return_inverse=True, dim=1)` with what follows made for all rows, equal ones too."""
    made = function.code[transfer.register]
    if called(function, transfer.register) != "torch.unique" or not isinstance(made, p.Call) or len(made.args) != 1:
        return None
    given = {key: function.code[r] for key, r in made.keywords}
    dim, inverse = given.get("dim"), given.get("return_inverse")
    taken = [function.code[r] for r in function.users(transfer.register)]
    if given.keys() != {"dim", "return_inverse"} or not isinstance(dim, p.Const) or not isinstance(inverse, p.Const):
        return None
    if inverse.value is not True or len(taken) != 2 or not all(isinstance(one, p.Unpack) for one in taken):
        return None
    if not _indexes(function, transfer.register):
        return None
    start, end = function.span(transfer.register)
    torch, imports = importing.torch_name(function, transfer.register)
    x = function.outer_text(made.args[0])
    if not torch or not re.fullmatch(r"[\w.]+", x) or _commented(function, start, end):
        return None
    text = f"{x}, {torch}.arange({x}.shape[{dim.value}], device={x}.device)"
    return Fix("compute all rows, duplicates too", Safety.DISPLAY, (*imports, Edit(start, end, text)))


def _indexes(function: FunctionFacts, reg: Reg) -> bool:
    """True where the second of two results is nothing but an index."""
    second = [r for r in function.users(reg) if getattr(function.code[r], "index", 0) == 1]
    stores = [one for r in second for u in function.users(r) if isinstance(one := function.code[u], p.Store)]
    if len(stores) != 1:
        return False
    loads = function.loads(stores[0].slot)
    return bool(loads) and all(_index(function, load) for load in loads)


def _index(function: FunctionFacts, reg: Reg) -> bool:
    for user in function.users(reg):
        made = function.code[user]
        several = isinstance(made, p.Sequence) and all(
            isinstance(function.code[r], p.Subscript) for r in function.users(user)
        )
        if not several and not (isinstance(made, p.Subscript) and made.index == reg):
            return False
    return True
