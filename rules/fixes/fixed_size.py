"""The fixes of a result whose size the device decides: sums over a mask, and forms that keep the shape."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import BOOLEAN, CONTAINER, HOST_VALUE, ON_DEVICE, SCALAR, TENSOR
from transferlint.flow.sharing import path
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import arguments, importing, rewriting, statement_text
from ..code.chains import called, method, origin, receiver, user

_WEIGHTED = "use the mask as weights"
_ENTRIES = frozenset({"mean", "sum"})


def of_fixed_size(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The best that can be written; None where nothing concrete is sure to mean the same."""
    return (
        _masked_sum(function, transfer)
        or _filled(function, transfer)
        or _set(function, transfer)
        or _repeated(function, transfer)
        or _position(function, transfer)
    )


def _before(function: FunctionFacts, at: int) -> str:
    """What stands before an offset in its line."""
    return function.file.text[function.file.spans.line_start(at) : at]


def _selection(function: FunctionFacts, reg: Reg) -> tuple[Reg, Reg] | None:
    """The tensor and the mask of `x[mask]`, `x.masked_select(mask)` and `torch.masked_select(x, mask)`."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return (made.object, made.index) if _is_mask(function, made.index) else None
    if not isinstance(made, p.Call) or made.keywords or any(made.stars):
        return None
    if called(function, reg) == "torch.masked_select" and len(made.args) == 2:
        return made.args[0], made.args[1]
    inner = receiver(function, reg)
    if method(function, reg) == "masked_select" and inner is not None and len(made.args) == 1:
        return inner, made.args[0]
    return None


def _is_mask(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return value.kinds == TENSOR and bool(value.flags & BOOLEAN)


def _masked_sum(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x[mask].mean()` to `(x * mask).sum() / mask.sum()`."""
    found = _selection(function, transfer.register)
    taken = user(function, transfer.register) if found is not None else None
    if found is None or taken is None or method(function, taken) not in _ENTRIES:
        return None
    made = function.code[taken]
    if not isinstance(made, p.Call) or made.args or made.keywords or receiver(function, taken) != transfer.register:
        return None
    x, mask = rewriting.operand(function, found[0]), rewriting.operand(function, found[1])
    torch, edits = importing.torch_name(function, taken)
    start, end = function.span(taken)
    if not x or not mask or not torch or _commented(function, start, end):
        return None
    kept = f"{torch}.where({function.outer_text(found[1])}, {function.outer_text(found[0])}, 0).sum()"
    text = kept
    if method(function, taken) == "mean":
        text = statement_text.in_place(function, start, end, f"{kept} / {mask}.sum()")
    return Fix(_WEIGHTED, Safety.DISPLAY, (*edits, Edit(start, end, text)))


def _filled(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x[mask] = t` for a tensor without dimensions to `x.masked_fill_(mask, t)`."""
    made = function.code[transfer.register]
    if not isinstance(made, p.SetItem) or not _is_mask(function, made.index):
        return None
    value = function.values[made.value]
    whole, source = rewriting.operand(function, made.object), function.code[made.value]
    if not whole or not function.has_text(made.value) or (isinstance(source, p.Binary) and source.inplace):
        return None
    if not value.flags & SCALAR or value.kinds != TENSOR or _foreign(function, made.object, made.index):
        return None
    start, end = line_of(function, made)
    if start < 0 or _commented(function, start, end):
        return None
    text = f"{whole}.masked_fill_({function.outer_text(made.index)}, {function.outer_text(made.value)})"
    return Fix("fill with the mask", Safety.DISPLAY, (Edit(start, end, text),))


def _set(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x[mask] += t` and `x[mask] = f(x[mask])` to `x = torch.where(mask, ..., x)`: only shown, since another tensor is
    bound, and computed also where the mask says no."""
    at = transfer.register
    made = function.code[at]
    if isinstance(made, p.Subscript) and function.has_text(made.index):
        sets = [r for r in _sets(function, made) if function.text(_index(function, r)) == function.text(made.index)]
        at, made = (sets[0], function.code[sets[0]]) if len(sets) == 1 else (at, made)
    if not isinstance(made, p.SetItem) or not _is_mask(function, made.index):
        return None
    slot = function.code[made.object]
    if not isinstance(slot, p.Load) or not function.has_text(made.object):
        return None
    start, end = line_of(function, made)
    if start < 0 or _commented(function, start, end):
        return None
    x, mask, line = function.text(made.object), function.outer_text(made.index), function.file.text[start:end]
    place = re.escape(x) + r"\[\s*" + re.escape(function.text(made.index)) + r"\s*\]"
    match = re.match(place + r"\s*(\*\*|//|>>|<<|[-+*/%&|^@])?=\s*", line)
    if match is None:
        return None
    value = line[match.end() :]
    value = statement_text.filled_in(f"{x} {match[1]} ", value) if match[1] else re.sub(place, x, value)
    source = function.code[made.value]
    added = source.right if isinstance(source, p.Binary) and source.inplace else made.value
    others = [r for r in function.expression(added) if _selected(function, r, mask)]
    if others and (match[1] or re.search(r"\[", value)):
        return None
    torch, edits = importing.torch_name(function, at)
    if not torch or (match[1] is None and value == line[match.end() :] and not _broadcast(function, made.value)):
        return None
    line = f"{x} = {torch}.where({mask}, {value}, {x})"
    return Fix("select on the device", Safety.DISPLAY, (*edits, Edit(start, end, line)))


def _sets(function: FunctionFacts, made: p.Subscript) -> list[Reg]:
    """The assignments to the same place of the same variable."""
    whole = path(function, made.object)
    return [
        r
        for r in function.of(p.SetItem)
        if isinstance(one := function.code[r], p.SetItem) and whole is not None and path(function, one.object) == whole
        and function.has_text(one.index)
    ]  # fmt: skip


def _index(function: FunctionFacts, reg: Reg) -> Reg:
    made = function.code[reg]
    assert isinstance(made, p.SetItem)
    return made.index


def _selected(function: FunctionFacts, reg: Reg, mask: str) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Subscript) and function.has_text(made.index) and function.text(made.index) == mask


def _broadcast(function: FunctionFacts, reg: Reg) -> bool:
    return bool(function.values[reg].flags & SCALAR) or function.values[reg].kinds == HOST_VALUE


def line_of(function: FunctionFacts, made: p.SetItem) -> tuple[int, int]:
    """The offsets of an assignment that begins its line; (-1, -1) where it does not."""
    text = function.file.text
    start = function.span(made.object)[0]
    begin = function.file.spans.line_start(start)
    if text[begin:start].strip() or not function.has_text(made.value):
        return -1, -1
    value = made.value
    source = function.code[value]
    if isinstance(source, p.Binary) and source.inplace:
        value = source.right
    end = function.outer_span(value)[1] if function.has_text(value) else -1
    return (start, end) if end > start else (-1, -1)


def _foreign(function: FunctionFacts, whole: Reg, mask: Reg) -> bool:
    """True unless the mask was computed from the tensor itself, or one of its shape: then it has that shape."""
    text = function.text(whole)
    return not any(
        isinstance(function.code[r], p.Load | p.Attr) and function.text(r) == text
        for r in function.expression(origin(function, mask))
        if function.has_text(r)
    )


def _repeated(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`repeat_interleave(x, r)` with `output_size=`, where the repeats were uploaded from a list of the source."""
    reg = transfer.register
    made = function.code[reg]
    if not isinstance(made, p.Call) or any(made.stars):
        return None
    name = called(function, reg)
    if name != "torch.repeat_interleave" and method(function, reg) != "repeat_interleave":
        return None
    given = dict(made.keywords)
    rest = made.args[1:] if name else made.args
    repeats = given.get("repeats", rest[0] if rest else None)
    if repeats is None or "output_size" in given:
        return None
    upload = function.code[origin(function, repeats)]
    if not isinstance(upload, p.Call) or len(upload.args) != 1:
        return None
    if called(function, origin(function, repeats)) not in ("torch.tensor", "torch.as_tensor", "torch.LongTensor"):
        return None
    counts = upload.args[0]
    if not isinstance(function.code[counts], p.Load) or function.values[counts].kinds != CONTAINER:
        return None
    edit = arguments.added(function, reg, f"output_size=sum({function.text(counts)})")
    return Fix("pass the size of the result", Safety.DISPLAY, (edit,)) if edit is not None else None


def _position(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`(x == v).nonzero().item()` to `(x == v).int().argmax().item()`: the only place, where there is one."""
    reg = transfer.register
    if method(function, reg) != "nonzero":
        return None
    made, inner = function.code[reg], receiver(function, reg)
    read = user(function, reg)
    if inner is None or read is None or not isinstance(made, p.Call) or made.args or made.keywords:
        return None
    if method(function, read) != "item" or not function.values[inner].places & ON_DEVICE:
        return None
    start, end = function.outer_span(inner)[1], function.span(reg)[1]
    if _commented(function, start, end):
        return None
    # The number is read as before, of two waits one is left; and where there is none, the first place is wrong.
    return Fix("compute the position of the first", Safety.DISPLAY, (Edit(start, end, ".int().argmax()"),))


def _commented(function: FunctionFacts, start: int, end: int) -> bool:
    return function.file.spans.commented(start, end)
