"""Calls of what gives moved copies of its argument and does nothing else: `move_to(batch, device)`."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.values import CONTAINER, DATA, NAME, OBJECT, TENSOR, UNKNOWN
from transferlint.flow.placement.placed import Placed
from transferlint.knowledge.torch_names import MOVES
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import alone

_READING = MOVES | frozenset("items keys values get is_tensor detach clone".split())
_BUILTINS = frozenset(f"builtins.{name}" for name in "isinstance type tuple list dict set zip hasattr len".split())


def dropped(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Reg]]:
    """The calls of such functions and methods, for data, of which nobody takes the result."""
    for function in facts.functions:
        if function.role.skip or function.role.testing:
            continue
        for at, name in function.calls.items():
            if not function.has_text(at) or not discarded(function, at):
                continue
            found = function.file.placement.located(name)
            placed = found[0].known(found[1]) if found is not None else None
            if placed is not None and (
                _gives_copies(function, at, placed, name) or _gives_another(function, at, placed)
            ):
                yield function, at


def discarded(function: FunctionFacts, reg: Reg) -> bool:
    """True for what a statement computes and nobody takes, by itself or in a list or tuple: `[x.to(d) for x in batch]`,
    `x.to(d), y.to(d)`."""
    users = function.users(reg)
    held = len(users) == 1 and isinstance(function.code[users[0]], p.Collect | p.Sequence)
    return alone(function, reg) or (held and discarded(function, users[0]))


def _gives_another(function: FunctionFacts, reg: Reg, placed: Placed) -> bool:
    """True for `part.to(device)`, a method of the project that leaves its object as it is and returns another."""
    made = function.code[reg]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not isinstance(callee, p.Attr) or callee.name not in MOVES or placed.returns is None:
        return False
    owner, code = function.values[callee.object], placed.function.code
    if placed.returns.kinds != OBJECT or placed.returns.name != owner.name:
        return False
    makes = any(isinstance(one, p.Call) and _names(placed, one.function, owner.name) for one in code)
    return makes and not any(map(_writes, code)) and not _calls_for_effect(code)


def _names(placed: Placed, reg: Reg, name: str) -> bool:
    return placed.values[reg].kinds == NAME and placed.values[reg].name == name


def _writes(made: p.Instruction) -> bool:
    return isinstance(made, p.SetItem | p.SetAttr | p.StoreOuter)


def _calls_for_effect(code: list[p.Instruction]) -> bool:
    return any(isinstance(made, p.Discard) and not isinstance(code[made.value], p.Const) for made in code)


def _gives_copies(function: FunctionFacts, reg: Reg, placed: Placed, name: str) -> bool:
    """True for a call of a function that returns moved copies of its first argument, which is no module."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or not made.args or any(made.stars):
        return False
    if placed.function.kind != "function" or not _moves_only(placed, name):
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
    if any(map(_writes, code)) or _calls_for_effect(code):
        return False
    for at, made in enumerate(code):
        if not isinstance(made, p.Call):
            continue
        callee = code[made.function]
        if isinstance(callee, p.Attr) and callee.name in _READING:
            moves |= callee.name in MOVES
        elif placed.calls.get(at) != name and not _builds(placed, made):
            return False
    return moves


def _builds(placed: Placed, made: p.Call) -> bool:
    """True for a call of a builtin, or of the type of what was given: `type(batch)(moved)`."""
    return placed.values[made.function].name in _BUILTINS or isinstance(placed.function.code[made.function], p.Call)
