"""What one turn of a loop does anyway: whether it comes by a place at all, and whether it has waited for the device
before it gets there.

A read costs what the host has to wait for the work that is queued (docs.jax.dev 'Asynchronous dispatch'): after another
read nothing is queued any more, until the turn gives the device more to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.feeding import LOOPS, works
from transferlint.flow.host_only import steps_environment
from transferlint.flow.lattice.transfers import CALLBACK, SYNCHRONIZE, Transfer
from transferlint.model import Direction
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_SOMETIMES = ("then", "else", "case", "handler", "message")


@once
def only_sometimes(function: FunctionFacts, reg: Reg, loop: int) -> bool:
    """True where a turn of a loop (0: a call of the function) need not come by a place: it stands in an arm, and
    nothing shows how often that is taken. Not where the other arm reads from the device too: then each turn does."""
    regions = function.function.regions
    at = function.region(reg)
    while at > 0 and at != loop:
        region = regions[at]
        if region.kind in _SOMETIMES and not region.implied and not _also_in_the_other(function, at):
            return True
        at = region.parent
    return False


def _also_in_the_other(function: FunctionFacts, arm: int) -> bool:
    region = function.function.regions[arm]
    for at, other in enumerate(function.function.regions):
        if other.test == region.test and {other.kind, region.kind} == {"then", "else"} and not other.implied:
            return any(_reads(one) and function.inside(one.register, at) for one in function.transfers)
    return False


@once
def waited(function: FunctionFacts, reg: Reg, loop: int) -> bool:
    """True where the turn of a loop (0: a call of the function) has waited before it comes to a place: by name, by
    another read or a call that waits, since which it gave the device nothing to do, or because it steps an
    environment, which takes what the device chose."""
    around, own = {loop, *function.loops(reg)}, set(tree(function.code, reg))
    for one in function.transfers:
        if one.register >= reg or one.register in own or not _in(function, one.register, loop):
            continue
        if (function.loops(one.register) or [0])[0] not in around:
            continue
        if one.kind == SYNCHRONIZE:
            return True
        if _reads(one) and not only_sometimes(function, one.register, loop) and _idle(function, one.register, reg):
            return True
    return any(
        steps_environment(function, at)
        or (at < reg and at not in own and _waits(function, at) and _idle(function, at, reg))
        for at in function.of(p.Call)
        if _in(function, at, loop)
    )


@once
def waits_after(function: FunctionFacts, reg: Reg) -> tuple[Reg, ...]:
    """Where the turn of the innermost loop around a place (the call of the function, without one) waits for the device
    again, after it: who changes the one changes these too."""
    loop, own = next(iter(function.loops(reg)), 0), set(tree(function.code, reg))
    return tuple(
        one.register
        for one in function.transfers
        if one.register > reg
        and _reads(one)
        and function.loops(one.register) == function.loops(reg)
        and not only_sometimes(function, one.register, loop)
        and one.register not in own
    )


def _in(function: FunctionFacts, reg: Reg, loop: int) -> bool:
    return loop == 0 or function.inside(reg, loop)


def _reads(one: Transfer) -> bool:
    """True for what makes the host wait for data of the device."""
    known = one.before.on_device and one.direction is not Direction.H2D
    return known and one.kind not in (SYNCHRONIZE, CALLBACK)


def _idle(function: FunctionFacts, before: Reg, reg: Reg) -> bool:
    """True where the device is given nothing to do between one place and another."""
    return not any(works(function, at) for at in range(before + 1, reg + 1))


def _waits(function: FunctionFacts, call: Reg) -> bool:
    """True for a call of a function of the checked source that waits for the device whenever it is called."""
    place = split(function.calls.get(call, ""))
    placed = function.file.placed_at(*place) if place is not None else None
    if placed is None or placed.role.traced:
        return False
    called = placed.function
    for one in placed.transfers:
        kinds = {region.kind for region in called.ancestors(called.lookup.regions[one.register])}
        if (one.kind == SYNCHRONIZE or _reads(one)) and not kinds & {*_SOMETIMES, *LOOPS}:
            return True
    return False
