"""Which waits for the device follow one another before it is given a model to run again.

The first of them waits for all that is queued; those after it wait only for what was queued in between (CUDA C++
Programming Guide, 'Asynchronous Concurrent Execution'). So the host runs ahead of the device when all of them are gone,
and hardly before.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.lattice.values import MODULE
from transferlint.flow.training_steps import trains
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts
    from transferlint.flow.placement.placed import Placed

_DEPTH = 2  # calls within calls
_ARMS = ("then", "else", "case")
Stretch = tuple[int, int]


def stretch(function: FunctionFacts, reg: Reg) -> Stretch:
    """The loop around a register of which an iteration is a step (0 for the function), and how many calls above the
    register run a model: loops within a step that run none are over within one such stretch."""
    around = (loop for loop in function.loops(reg) if not _within_a_step(function, loop))
    return next(around, 0), bisect.bisect_left(_running(function), reg)


def branches(function: FunctionFacts, reg: Reg, loop: int) -> dict[Reg, int]:
    """The tests of the branches around a register within a loop (0 for the function), and in which of their arms it
    stands: what stands in another arm of one of them does not run in the same iteration."""
    found = {}
    at = function.region(reg)
    while at not in (0, loop):
        region = function.function.regions[at]
        if region.kind in _ARMS and region.test is not None:
            found[region.test] = at
        at = region.parent
    return found


@once
def _within_a_step(function: FunctionFacts, loop: int) -> bool:
    """True for a loop that runs no model, and stands where a step comes by."""
    over = function.function.regions[loop].test
    return over is not None and function.warmth(over).hot and loop not in _running_loops(function)


@once
def _running_loops(function: FunctionFacts) -> frozenset[int]:
    """The loops in which a model runs."""
    return frozenset(loop for reg in _running(function) for loop in function.loops(reg))


@once
def _running(function: FunctionFacts) -> tuple[Reg, ...]:
    """The calls of a function that run a model, forwards or backwards, or an optimizer, in program order."""
    placed = function.file.placed_at(function.file.path, function.index)
    assert placed is not None
    return tuple(reg for reg in function.of(p.Call) if _runs(function, placed, reg, _DEPTH) or trains(function, reg))


def _runs(function: FunctionFacts, placed: Placed, reg: Reg, depth: int) -> bool:
    made = placed.function.code[reg]
    if not isinstance(made, p.Call):
        return False
    callee = placed.function.code[made.function]
    if placed.values[made.function].kinds & MODULE or (isinstance(callee, p.Attr) and callee.name == "backward"):
        return True
    return depth > 0 and reg in placed.calls and _called_runs(function, placed.calls[reg], depth - 1)


@once
def _called_runs(function: FunctionFacts, callee: str, depth: int) -> bool:
    """True for a function (an ident) of which some call runs a model, itself or in what it calls."""
    place = split(callee)
    called = function.file.placed_at(*place) if place is not None else None
    return called is not None and any(_runs(function, called, reg, depth) for reg in called.function.lookup.of(p.Call))
