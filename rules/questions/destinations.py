"""Where the calls of a function that moves what it is given tell it to bring that, as far as that can be told."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.flow.frequency.constants import truth, value_of
from transferlint.flow.lattice.values import DEVICE_NAME, HOST
from transferlint.flow.placement import given_by
from transferlint.flow.placement.placement import FilePlacement
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

_DEVICE = "device"
_Site = tuple[str, int, Reg]


def to_device(facts: FileFacts, site: _Site, owner: FilePlacement, callee: Function, moves: list[Reg]) -> bool:
    """Whether a call (`site`) of a function may make one of its `moves` to the device: not where it names the host, or
    gives a literal with which none of the moves is reached. What a function hands on to itself is what the calls from
    elsewhere give."""
    found = _says(facts, site, owner, callee, moves)
    if found is not None:
        return found
    outer = [_says(facts, one, owner, callee, moves) for one in _outer(facts, owner, callee)]
    return not outer or any(one is not False for one in outer)


def _says(facts: FileFacts, site: _Site, owner: FilePlacement, callee: Function, moves: list[Reg]) -> bool | None:
    """The same, None for what the function hands on to itself."""
    placed = facts.placed_at(*site[:2])
    made = placed.function.code[site[2]] if placed is not None else None
    named = next((one for one in callee.parameters if one.name == _DEVICE), None)
    if placed is None or named is None or not isinstance(made, p.Call) or any(made.stars):
        return True
    bound = callee.parameters[0].name in ("self", "cls")
    at = given_by.by_slot(made, callee, bound).get(named.slot)
    if at is None:
        return True
    given, value = placed.function.code[at], placed.values[at]
    if site[:2] == (owner.key, callee.index) and given == p.Load(named.slot):
        return True if callee.lookup.about(p.Store, named.slot) else None
    if value.is_a(DEVICE_NAME) and value.places == HOST:
        return False
    if isinstance(given, p.Const) and isinstance(given.value, str):
        text = given.value
        return not all(_left_out(callee, one, named.slot, text) for one in moves)
    return True


def _outer(facts: FileFacts, owner: FilePlacement, callee: Function) -> Iterator[_Site]:
    """The calls of a function from elsewhere, but for those of this file that are not hot: they heat nothing."""
    for site in sorted(owner.callers.calls(callee.index)):
        if site[:2] == (owner.key, callee.index):
            continue
        if site[0] != facts.path or facts.functions[site[1]].warmth(site[2]).hot:
            yield site


def _left_out(callee: Function, move: Reg, slot: Slot, text: str) -> bool:
    """True for a move in an arm that is not taken where a parameter is this text."""
    for region in callee.ancestors(callee.lookup.regions[move]):
        if region.kind in ("then", "else") and region.test is not None:
            stands = truth(value_of(callee, region.test, region.test, {slot: text}))
            if stands is not None and stands is not (region.kind == "then"):
                return True
    return False
