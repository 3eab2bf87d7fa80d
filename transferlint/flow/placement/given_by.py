"""What a call gives for the parameters of the function of the checked source that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from transferlint.flow.lattice.values import ANYWHERE, CONTAINER, HOST, NAME, OBJECT, TENSOR, UNKNOWN, Value, join
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.placed import NO_ARGUMENT
from transferlint.syntax.program import Attr, Call, Function, Parameter, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.placement.placed_file import PlacedFile


def told(frame: Frame, value: Value) -> Value:
    """What a callee is told of an argument: something unknown in a function that works on the host may be there."""
    if frame.leaning and value.is_a(UNKNOWN) and value.places == ANYWHERE:
        return value.but(places=HOST | ANYWHERE)
    return value


def is_bound(frame: Frame, made: Call, owner: PlacedFile, function: Function) -> bool:
    """True where a call gives none for `self`: that of a method of an object, or of one that was kept, in a variable or
    a table (docs.python.org, reference/datamodel, 'Instance methods'); not `Base.forward(self, x)`."""
    callee = frame.code[made.function]
    if frame.values[made.function].kinds == OBJECT:
        return True
    if isinstance(callee, Attr):
        of = frame.values[callee.object]
        return of.kinds != NAME or frame.file.info_of(of.name) is None or "classmethod" in function.decorators
    taken = sum(given.kind == "positional" for given in function.parameters)
    return function.parent in owner.classes and len(made.args) < taken


def by_slot(made: Call, function: Function, bound: bool) -> dict[Slot, Reg]:
    """What a call gives for each parameter, as far as that is told by one register; `bound`: it gives none for
    `self`."""
    written = made.args[: _first_star(made)]
    found = {given.slot: reg for given, reg in zip(_positional(function, bound), written, strict=False)}
    by_name = {given.name: given.slot for given in function.parameters}
    found.update((by_name[name], reg) for name, reg in made.keywords if name in by_name)
    return found


def _first_star(made: Call) -> int:
    return made.stars.index(True) if True in made.stars else len(made.args)


def _positional(function: Function, bound: bool) -> list[Parameter]:
    taken = [given for given in function.parameters if given.kind == "positional"]
    return taken[1:] if taken and taken[0].name in ("self", "cls") and bound else taken


def is_explicit(made: Call, function: Function, slot: Slot) -> bool:
    """Whether what a call gives for a parameter (NO_ARGUMENT: for none) does not come out of `*parts` or `**named`."""
    named = {name for name, _ in made.keywords}
    if slot == NO_ARGUMENT or (True not in made.stars and "" not in named):
        return True
    return slot in slots(function)[: _first_star(made)] or function.slot_names[slot] in named


def slots(function: Function) -> list[Slot]:
    """The parameters that take what is given by position, but `self`."""
    return [given.slot for given in _positional(function, True)]


def values(frame: Frame, made: Call, function: Function, bound: bool) -> Iterator[tuple[Slot, Value]]:
    """What a call tells of each parameter, as far as that is known; `bound`: it gives none for `self`."""
    for slot, reg in by_slot(made, function, bound).items():
        yield slot, told(frame, frame.values[reg])
    for slot, value in (*_unpacked(frame, made, function, bound), *_several(frame, made, function, bound)):
        yield slot, told(frame, value)


def _unpacked(frame: Frame, made: Call, function: Function, bound: bool) -> Iterator[tuple[Slot, Value]]:
    """What `f(*parts, **named)` gives. Where it is not known how many parts there are, the parameters without a default
    get one each."""
    if True not in made.stars and all(name for name, _ in made.keywords):
        return
    named = {given.name: given.slot for given in function.parameters if given.kind in ("positional", "keyword")}
    for _, reg in (pair for pair in made.keywords if not pair[0]):
        yield from ((named[name], value) for name, value in frame.values[reg].fields or () if name in named)
    first = _first_star(made)
    left = _positional(function, bound)[first:]
    for reg, starred in zip_longest(made.args[first:], made.stars[first:], fillvalue=False):
        value = frame.values[reg]
        parts = value.items if starred else (value,)
        if parts is None:
            by_name = {name for name, _ in made.keywords}
            needed = [given for given in left if not given.default and given.name not in by_name]
            if value.item is not None and value.is_a(CONTAINER) and value.item.is_a(TENSOR | UNKNOWN):
                yield from ((given.slot, value.item) for given in needed)
            return
        yield from ((given.slot, part) for given, part in zip(left, parts, strict=False))
        left = left[len(parts) :]


def _several(frame: Frame, made: Call, function: Function, bound: bool) -> Iterator[tuple[Slot, Value]]:
    """What a call gives for `*args` and `**values`, as far as that can be told."""
    if any(made.stars) or "" in dict(made.keywords):
        return
    named = {one.name for one in function.parameters if one.kind not in ("star", "double_star")}
    taken = sum(one.kind == "positional" for one in function.parameters)
    first = function.parameters[0].name if function.parameters else ""
    unnamed = made.args[taken - (bound and first in ("self", "cls")) :]
    others = {name: frame.values[reg] for name, reg in made.keywords if name not in named}
    for one in function.parameters:
        held = list(others.values()) if one.kind == "double_star" else [frame.values[reg] for reg in unnamed]
        if not held or one.kind not in ("star", "double_star"):
            continue
        item, places = None, 0
        for value in held:
            item, places = join(item, told(frame, value)), places | value.places
        if one.kind == "star":
            yield one.slot, Value(CONTAINER, places, item=item, items=tuple(held))
        else:
            fields = tuple(sorted(others.items(), key=lambda pair: pair[0]))
            yield one.slot, Value(CONTAINER, places, item=item, fields=fields)


def by_name(frame: Frame, made: Call, function: Function, given: dict[Slot, Reg]) -> dict[str, Reg] | None:
    """What a call gives, by the names of the parameters; None for a call with stars, and of a function by another
    name, which `functools.partial` may have made."""
    called = function.name if frame.values[made.function].kinds == OBJECT else frame.last_name(made.function)
    if any(made.stars) or "" in dict(made.keywords) or called != function.name:
        return None
    return {function.slot_names[slot]: reg for slot, reg in given.items()}
