"""Functions that only wrap a transfer: what `utils.item(x)` does to what it is given, so that the calls can say it.

A transfer counts as wrapped where its subject is an argument of which nothing is known in the function itself, or what
comes of the argument by attributes and methods alone, and where it stands in no loop and behind no rare test: then
every call makes it, and whether that matters is the caller's affair.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow import guards
from transferlint.flow.kept import region_of
from transferlint.flow.roles import Role
from transferlint.flow.transfers import MOVE, Transfer
from transferlint.flow.values import PINNED, UNKNOWN, Value
from transferlint.knowledge.roles import alternate
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.frame import Frame
    from transferlint.flow.placement import Placed

_SMALL = 100  # instructions: a dozen lines
_LOOPS = frozenset({"for", "while", "comprehension"})
_ABSENT = frozenset({("is", "then"), ("==", "then"), ("is not", "else")})
_RARE = frozenset({"handler", "message"})


@late.dataclass(frozen=True, slots=True)
class Passed:
    """A transfer that a function makes of the argument in `slot`, but not where one for `unless` is given. `returned`:
    what it gives is what the function returns, or part of it."""

    slot: Slot
    transfer: Transfer
    unless: frozenset[Slot] = frozenset()
    returned: bool = True


def passed(frame: Frame, role: Role, transfers: list[Transfer]) -> tuple[Passed, ...]:
    """The transfers that the function of a frame wraps."""
    function = frame.function
    if not transfers or function.kind != "function" or len(function.code) > _SMALL or function.is_generator:
        return ()
    if role.hot or (role.cold and not alternate(function.name, function.decorators)) or role.skip or role.host_side:
        return ()
    found = []
    slots = {given.slot: given for given in function.parameters if given.kind not in ("star", "double_star")}
    stores = guards.single_stores(function)
    for transfer in transfers:
        if transfer.subject is None or not _always(function, transfer.register, stores):
            continue
        slot = _argument(function, transfer.subject, slots)
        if slot is not None and not slots[slot].annotation and slots[slot].name not in ("self", "cls"):
            absent = _absent(function, transfer.register, slots)
            returned = frame.returns is not None and transfer.register in _rests_on(frame.returns)
            found.append(Passed(slot, transfer, absent, returned))
    return tuple(found)


def _rests_on(value: Value) -> frozenset[Reg]:
    """The downloads and uploads that a value, or what is in it, was computed from."""
    inner = value.items or ((value.item,) if value.item is not None else ())
    return value.reads.union(value.uploads, *map(_rests_on, inner))


def _absent(function: Function, reg: Reg, slots: Container[Slot]) -> frozenset[Slot]:
    """The parameters that have to be None for a call to come by."""
    found = set()
    for region in function.ancestors(region_of(function, reg)):
        test = function.code[region.test] if region.test is not None and region.kind in ("then", "else") else None
        if isinstance(test, p.Compare) and len(test.operands) == 2:
            subject, other = (function.code[operand] for operand in test.operands)
            none = isinstance(other, p.Const) and other.value is None
            absent = (test.operators[0], region.kind) in _ABSENT
            if none and absent and isinstance(subject, p.Load) and subject.slot in slots:
                found.add(subject.slot)
    return frozenset(found)


def _always(function: Function, reg: Reg, stores: dict[Slot, Reg]) -> bool:
    """True where every call comes by, as far as the kinds of its arguments allow."""
    for region in function.ancestors(region_of(function, reg)):
        if region.kind in _LOOPS or region.kind in _RARE or region.leaves == "raise":
            return False
        arm = region.kind in ("then", "else")
        if arm and region.test is not None and guards.rare(function, region.test, region.kind == "then", stores):
            return False
    return True


def _argument(function: Function, reg: Reg, slots: Container[Slot]) -> Slot | None:
    """The parameter that an expression reads: itself, or through attributes, items and methods."""
    while True:
        made = function.code[reg]
        if isinstance(made, p.Load):
            return made.slot if made.slot in slots else None
        if isinstance(made, p.Attr | p.Subscript):
            reg = made.object
        elif isinstance(made, p.Call) and isinstance(function.code[made.function], p.Attr):
            reg = made.function
        else:
            return None


def before(given: Value, inner: Transfer, placed: Placed, name: str) -> Value | None:
    """What is known of the subject of a transfer that a function (its ident is `name`) wraps, at a call that gives
    `given` for it; None where the call makes none. Where a function that calls itself takes apart what is pinned, that
    is the one to change."""
    if given.flags & PINNED and given.on_host and inner.kind == MOVE:
        return given if _untouched(placed.function, inner.subject) and name not in placed.calls.values() else None
    if given.on_host or (not given.may_be(UNKNOWN) and not given.on_device):
        return None
    if given.on_device:
        return given
    inside = inner.before
    return inside.but(why=given.why, reads=given.reads, uploads=given.uploads) if inside.on_device else given


def _untouched(function: Function, reg: Reg | None) -> bool:
    """True for an argument, or an item of one, in the memory that the caller gives."""
    if reg is None:
        return False
    while isinstance(made := function.code[reg], p.Subscript):
        reg = made.object
    return isinstance(made, p.Load) and not function.lookup.about(p.Store, made.slot)
