"""The fix that leaves padding in where the longest of several lengths is asked for."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import ON_DEVICE
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import rewriting
from ..code.chains import called, method, origin, receiver

_WHOLE = "keep the padding: the lengths mark what is valid"
_MAXIMA = frozenset({"torch.max", "torch.amax", "builtins.max"})
_NUMBERS = frozenset({"builtins.int", "builtins.float"})


def unsliced(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`x = x[:, : lengths.max()]` without the slice."""
    bound = transfer.subject if transfer.inside is None else None

    users = function.users(bound) if bound is not None else []
    made = function.code[users[0]] if len(users) == 1 else None
    if bound is None or not isinstance(made, p.Slice) or made.upper != bound or made.step is not None:
        return None
    if made.lower is not None or not _longest(function, origin(function, bound)):
        return None
    at = function.users(users[0])[0]
    parts: tuple[Reg, ...] = (users[0],)
    if isinstance(several := function.code[at], p.Sequence):
        parts, at = several.items, function.users(at)[0]
    whole = function.code[at]
    if not isinstance(whole, p.Subscript) or not function.values[whole.object].places & ON_DEVICE:
        return None
    if not all(function.has_text(r) for r in (*parts, at)):
        return None
    rest = [part for part in parts if part != users[0]]
    if any(not _all(function, part) for part in rest):
        return _edited(function, Edit(*function.span(users[0]), ":"))
    start, end = function.outer_span(at)
    x = function.file.text[slice(*function.outer_span(whole.object))]
    stored = [function.code[r] for r in function.users(at)]
    if len(stored) == 1 and isinstance(stored[0], p.Store) and isinstance(load := function.code[whole.object], p.Load):
        begin = function.file.spans.line_start(start)
        before = re.search(r"^([ \t]*)(\w+) *= *$", function.file.text[begin:start])
        if load.slot == stored[0].slot and before is not None:
            return _edited(function, rewriting.cut(function, begin + before.start(2), end))
    return _edited(function, Edit(start, end, x))


def _longest(function: FunctionFacts, reg: Reg) -> bool:
    """True for the largest of several lengths, or a number made of it."""
    for _ in range(4):
        made = function.code[reg]
        if called(function, reg) in _MAXIMA:
            return isinstance(made, p.Call) and len(made.args) == 1 and not made.keywords
        if method(function, reg) in ("max", "amax"):
            return isinstance(made, p.Call) and not made.args and not made.keywords
        inner = receiver(function, reg)
        if called(function, reg) in _NUMBERS and isinstance(made, p.Call) and len(made.args) == 1:
            reg = made.args[0]
        elif method(function, reg) in ("item", "long", "int", "round") and inner is not None:
            reg = inner
        else:
            return False
    return False


def _all(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Slice) and made.lower is None and made.upper is None and made.step is None


def _edited(function: FunctionFacts, edit: Edit) -> Fix | None:
    if function.file.spans.commented(edit.start, edit.end):
        return None
    return Fix(_WHOLE, Safety.DISPLAY, (edit,))
