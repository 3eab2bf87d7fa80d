"""What takes a step of a training: a function or a call that changes parameters by their gradients, by the names of the
frameworks' APIs, itself or in what it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.frequency import loops
from transferlint.knowledge import frameworks
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_LOOPS = ("for", "while", "comprehension")
_DEPTH = 2  # calls from a loop to what trains


@once
def takes_a_step(function: FunctionFacts) -> bool:
    """True for a function that changes parameters outside of all loops, itself or in what it calls there: one call of
    it is one step of a training, whose loop is its caller's."""
    return _one_step(function, (function.file.path, function.index), _DEPTH)


def _one_step(function: FunctionFacts, place: tuple[str, int], depth: int) -> bool:
    placed = function.file.placed_at(*place)
    if placed is None:
        return False
    if loops.takes_a_step(placed.function):
        return True
    where = placed.function.lookup.regions
    called = (
        found
        for reg, name in placed.calls.items()
        if depth > 0
        and (found := split(name)) is not None
        and not any(one.kind in _LOOPS for one in placed.function.ancestors(where[reg]))
    )
    return any(_one_step(function, found, depth - 1) for found in called)


def trains(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call that changes parameters by their gradients, itself or in functions of the checked source."""
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return False
    if updates(function.function, made):
        return True
    place = split(function.calls.get(reg, "")) or split(function.values[made.function].name)
    return place is not None and _updates_within(function, place, _DEPTH)


def _updates_within(function: FunctionFacts, place: tuple[str, int], depth: int) -> bool:
    """True for a function of the checked source that changes parameters, or one that it holds or calls does."""
    owner = function.file.owner(*place)
    placed = owner.known(place[1]) if owner is not None else None
    if owner is None or placed is None:
        return False
    parts = [one for one in owner.program.functions if one is placed.function or one.parent == place[1]]
    if any(updates(one, made) for one in parts for made in one.code):
        return True
    further = {found for name in placed.calls.values() if (found := split(name)) is not None and found != place}
    return depth > 0 and any(_updates_within(function, one, depth - 1) for one in further)


def updates(function: Function, made: p.Instruction) -> bool:
    """True for a call of what changes parameters by their gradients, by the names of the frameworks' APIs."""
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    return isinstance(callee, p.Attr | p.Outer) and callee.name in frameworks.UPDATES
