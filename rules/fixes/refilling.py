"""What is made and filled with one number at once, as the one function that does so: `torch.zeros(n)`."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import HOST_VALUE, INTEGER, TENSOR
from transferlint.model import Edit, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import rewriting
from ..code.chains import called, method, user
from . import creating, modernising

_SIZED = frozenset({"empty", "zeros", "ones"})
_FILLS = frozenset({"fill_", "zero_"})
_VIEWS = frozenset("unsqueeze squeeze view reshape flatten t transpose permute detach contiguous".split())
_CONSTANTS: dict[float, str] = {0: "zeros", 1: "ones"}


def refilled(
    function: FunctionFacts, made: Reg, edits: tuple[Edit, ...], moved: Reg
) -> tuple[tuple[Edit, ...], Safety]:
    """The edits that also write `torch.zeros(n)` for `torch.empty(n).zero_()` and `torch.empty(n).fill_(0)`, `full` for
    another number, given those that make the tensor elsewhere and take the move (`moved`) away, before or behind which
    it is filled; only shown where it is filled and no such text can be written."""
    at = _fill(function, made, moved)
    if at is None:
        return edits, Safety.UNSAFE
    inner = moved if user(function, made) == moved else made
    cut = rewriting.after(function, at, inner) if user(function, inner) == at else None
    create, fill = function.code[made], function.code[at]
    assert isinstance(create, p.Call)
    assert isinstance(fill, p.Call)
    number, wanted = _number(function, fill)
    if cut is None or number is None or fill.keywords:
        return edits, Safety.DISPLAY
    start, end = function.span(create.function)
    text = next((one.text for one in edits if (one.start, one.end) == (start, end)), function.file.text[start:end])
    rest = tuple(one for one in edits if (one.start, one.end) != (start, end))
    maker = _CONSTANTS.get(wanted, "full") if wanted is not None else "full"
    head = text.rpartition(".")[0]
    name = Edit(start, end, f"{head}.{maker}" if head else "")
    if not head or not _sized(function, made):
        return edits, Safety.DISPLAY
    if maker != "full":
        return (name, *rest, cut), Safety.UNSAFE
    shaped = _shaped(function, create, number, rest)
    return ((name, *shaped, cut), Safety.UNSAFE) if shaped is not None else (edits, Safety.DISPLAY)


def _fill(function: FunctionFacts, made: Reg, moved: Reg) -> Reg | None:
    """The call that fills what was made, in the chain behind it; None where there is none."""
    at = made
    while (following := user(function, at)) is not None and function.has_text(following):
        name = method(function, following)
        if name in _FILLS:
            return following
        if name not in _VIEWS and following != moved:
            return None
        at = following
    return None


def _number(function: FunctionFacts, fill: p.Call) -> tuple[str | None, int | None]:
    """The text of the number that a call fills with, None where it is not known to be one, and which of those it is
    that have a function of their own."""
    if not fill.args:
        return "0", 0
    made = function.code[fill.args[0]]
    wanted = made.value if isinstance(made, p.Const) and type(made.value) in (int, float) else None
    if wanted is not None and wanted in _CONSTANTS:
        return function.outer_text(fill.args[0]), int(wanted)
    known = wanted is not None or function.values[fill.args[0]].kinds == HOST_VALUE
    return (function.outer_text(fill.args[0]) if known else None), None


def _sized(function: FunctionFacts, made: Reg) -> bool:
    """True for a creation of which the size is given, and nothing else by its place."""
    create = function.code[made]
    root, _, last = called(function, made).rpartition(".")
    if (
        not isinstance(create, p.Call)
        or root not in ("torch", "torch.cuda")
        or not (last in _SIZED or last in modernising.LEGACY)
    ):
        return False
    return bool(create.args) and not any(create.stars) and "size" not in dict(create.keywords)


def _shaped(function: FunctionFacts, create: p.Call, number: str, edits: tuple[Edit, ...]) -> tuple[Edit, ...] | None:
    """The edits that give the size as one argument and a number behind it, on one line; None where the type would be
    that of the number, or where the text does not allow it."""
    start, end = function.outer_span(create.args[0])[0], function.outer_span(create.args[-1])[1]
    size = function.file.text[start:end]
    typed = "dtype" in dict(create.keywords) or any("dtype=" in one.text for one in edits)
    if re.search(r"[\n\r#]", size) or not (typed or re.search(r"[.e]", number)):
        return None
    first = create.args[0]
    if len(create.args) == 1 and not creating.integer(function, first):
        made = function.code[first]
        if not isinstance(made, p.Sequence) and function.values[first].kinds & (TENSOR | HOST_VALUE | INTEGER):
            return None
    else:
        size = f"({size},)" if len(create.args) == 1 else f"({size})"
    behind = [one for one in edits if one.start == one.end == end]
    if len(behind) > 1 or any(one.start < end and one.end > start for one in edits):
        return None
    more = "".join(one.text for one in behind)
    return (*(one for one in edits if one not in behind), Edit(start, end, f"{size}, {number}{more}"))
