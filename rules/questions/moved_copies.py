"""Calls of what gives moved copies of its argument and does nothing else: `move_to(batch, device)`."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.values import CONTAINER, DATA, TENSOR, UNKNOWN
from transferlint.flow.placement.placed import Placed
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_MOVING = frozenset({"to", "cuda", "cpu"})
_READING = _MOVING | frozenset("items keys values get is_tensor detach clone".split())
_BUILTINS = frozenset(f"builtins.{name}" for name in "isinstance type tuple list dict set zip hasattr len".split())


def dropped(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Reg]]:
    """The calls of such functions, for data, as statements of their own: nobody has what was moved."""
    for function in facts.functions:
        if function.role.skip or function.role.testing:
            continue
        for at in function.of(p.Discard):
            made = function.code[at]
            if isinstance(made, p.Discard) and _gives_copies(function, made.value):
                yield function, made.value


def _gives_copies(function: FunctionFacts, reg: Reg) -> bool:
    name, made = function.calls.get(reg), function.code[reg]
    if name is None or not isinstance(made, p.Call) or not made.args or any(made.stars):
        return False
    found = function.file.placement.located(name)
    placed = found[0].known(found[1]) if found is not None else None
    if placed is None or placed.function.kind != "function" or not _moves_only(placed, name):
        return False
    given = function.values[made.args[0]]
    if given.is_a(TENSOR | CONTAINER):
        return True
    # A batch as a whole may be an object that moves itself; what goes through its parts makes new ones.
    return given.is_a(TENSOR | CONTAINER | UNKNOWN) and bool(given.flags & DATA) and name in placed.calls.values()


def _moves_only(placed: Placed, name: str) -> bool:
    """True for a function that moves what it is given and returns it, writes nothing, and calls nothing that might."""
    code, moves = placed.function.code, False
    if placed.function.is_generator or placed.function.is_async or placed.returns is None:
        return False
    for at, made in enumerate(code):
        if isinstance(made, p.SetItem | p.SetAttr | p.StoreOuter):
            return False
        if isinstance(made, p.Discard) and not isinstance(code[made.value], p.Const):
            return False
        if not isinstance(made, p.Call):
            continue
        callee = code[made.function]
        if isinstance(callee, p.Attr) and callee.name in _READING:
            moves |= callee.name in _MOVING
        elif placed.calls.get(at) != name and not _builds(placed, made):
            return False
    return moves


def _builds(placed: Placed, made: p.Call) -> bool:
    """True for a call of a builtin, or of the type of what was given: `type(batch)(moved)`."""
    return placed.values[made.function].name in _BUILTINS or isinstance(placed.function.code[made.function], p.Call)
