"""Which waits for the device follow one another before it is given a model to run again.

The first of them waits for all that is queued; those after it wait only for what was queued in between (CUDA C++
Programming Guide, 'Asynchronous Concurrent Execution'). So the device runs ahead of the host when all of them are gone,
and hardly before.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.feeding import LOOPS
from transferlint.flow.lattice.values import MODULE
from transferlint.flow.training_steps import trains
from transferlint.flow.turns import SOMETIMES
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts
    from transferlint.flow.placement.placed import Placed

_DEPTH = 2  # calls within calls
Stretch = tuple[int, int]


def stretch(function: FunctionFacts, reg: Reg) -> Stretch:
    """The innermost loop around a register (0 without one), and how many calls above it run a model."""
    return next(iter(function.loops(reg)), 0), bisect.bisect_left(_running(function), reg)


def arms(function: FunctionFacts, reg: Reg) -> list[int]:
    """The regions around a register that an iteration need not come by, and last the loop or the function itself."""
    found = []
    at = function.region(reg)
    while at > 0 and (region := function.function.regions[at]).kind not in LOOPS:
        if region.kind in SOMETIMES and not region.implied:
            found.append(at)
        at = region.parent
    return [*found, at]


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
    place = split(placed.calls.get(reg, ""))
    called = function.file.placed_at(*place) if depth and place is not None else None
    return called is not None and any(
        _runs(function, called, at, depth - 1) for at in called.function.lookup.of(p.Call)
    )
