"""Calls of functions, methods and classes of the checked source: what they are told, give back, and pass on."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import ident
from transferlint.flow.callgraph.roles import keeps_result
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BY_ARGUMENT,
    CONTAINER,
    DERIVED,
    DEVICE,
    DEVICE_NAME,
    FRESH,
    FROM_ANOTHER,
    FROM_PARAMETER,
    GIVEN,
    HANDED,
    HOST,
    HOST_VALUE,
    LOADER,
    MAY,
    MODULE,
    NOTHING,
    OBJECT,
    ON_DEVICE,
    PINNED,
    TENSOR,
    UNKNOWN,
    Value,
    combine,
    from_parameter,
    join,
    kept,
    made_of,
)
from transferlint.flow.placement import devices, effects, foreign, given_by, instances, passing, reflection
from transferlint.flow.placement.annotated import promised
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.placed import NO_ARGUMENT
from transferlint.flow.placement.start import names_place
from transferlint.flow.placement.unknown_calls import unknown_call
from transferlint.knowledge.libraries import MOVERS
from transferlint.model import Direction
from transferlint.syntax.program import Attr, Call, Const, Function, Reg, Slot, Unpack

_MOVING = frozenset({"to", "cuda"})
_NUMBERS = frozenset({"int", "float", "bool", "str", "Optional[int]", "Optional[float]", "int | None", "float | None"})

if TYPE_CHECKING:
    from transferlint.flow.placement.placed import Placed
    from transferlint.flow.placement.placed_file import PlacedFile


def call(frame: Frame, reg: Reg, made: Call, owner: PlacedFile, index: int) -> Value:
    """A function, method or class of the checked source."""
    function = owner.program.functions[index]
    if function.kind == "class":
        return instances.construct(frame, reg, made, owner, index)
    frame.calls[reg] = ident(owner.key, index)
    callee, applied = frame.code[made.function], frame.values[made.function]
    if applied.kinds == OBJECT:  # an instance whose class says what a call of it does
        frame.receivers[reg] = applied.name
    elif isinstance(callee, Attr) and not _is_super(frame, callee.object):
        of = frame.values[callee.object]
        if of.kinds & OBJECT:
            frame.receivers[reg] = of.name
    bound = given_by.is_bound(frame, made, owner, function)
    given = given_by.by_slot(made, function, bound)
    if not frame.file.roles[frame.function.index].cold:
        give(frame, reg, made, owner, index, bound)
        site = (frame.file.key, frame.function.index, reg)
        owner.callers.called(index, site, given_by.by_name(frame, made, function, given))
    if made.keywords:
        reflection.spread(frame, made, function)
    placed = owner.place(index)
    framework = owner.tracing.compiled.get(index)
    if framework is not None:
        frame.runs = True
        return foreign.called(frame, reg, framework)
    if placed is not None:
        _pass_on(frame, reg, made, owner, placed, given)
        if placed.written:
            passing.take_over(frame, placed.written, given, lambda v: _returned(frame, reg, made, function, v, given))
    if MOVERS.match(function.name):
        return unknown_call(frame, made, function.name)
    returns = placed.returns if placed is not None else None
    if returns is None or (returns.is_a(UNKNOWN) and returns.places == ANYWHERE and returns.item is None):
        returns = promised(owner, function) or returns
    if returns is None:
        return unknown_call(frame, made, function.name)
    if keeps_result(function):
        returns = kept(returns.but(flags=returns.flags & ~FRESH))
    found = _returned(frame, reg, made, function, returns, given)
    if function.name in _MOVING and found.kinds == OBJECT and found.name and isinstance(callee, Attr):
        return _moved(frame, made, function, frame.values[callee.object], found)
    return found


def _moved(frame: Frame, made: Call, function: Function, owner: Value, found: Value) -> Value:
    """What `batch.to(device)` gives, a method of the checked source: an object of the class that it was called of is
    where the call says, whatever way its parts went there."""
    named = frame.values[made.args[0]] if made.args else effects.named_device(frame, made)[0]
    if owner.name != found.name or found.places != ANYWHERE:
        return found
    if named is None:
        return found.but(places=GIVEN) if function.name == "cuda" else found
    places = devices.target(named, frame.last_name(made.args[0]) if made.args else "device")[0]
    return found.but(places=places) if places and not places & ~ON_DEVICE else found


def offer(frame: Frame, reg: Reg, made: Call, name: str) -> None:
    """Tell a function of the checked source, one of several that a call may reach, what that gives it."""
    found = frame.file.located(name)
    if found is None or found[0].program.functions[found[1]].kind == "class":
        return
    give(frame, reg, made, *found, given_by.is_bound(frame, made, found[0], found[0].program.functions[found[1]]))


def give(frame: Frame, reg: Reg, made: Call, owner: PlacedFile, index: int, bound: bool) -> None:
    """Tell a function of the checked source what a call gives for its parameters; `bound`: none for `self`."""
    if frame.file.roles[frame.function.index].cold:
        return
    site = (frame.file.key, frame.function.index, reg)
    for slot, value in given_by.values(frame, made, owner.program.functions[index], bound):
        owner.callers.tell(index, slot, value, site)


def tell(frame: Frame, reg: Reg, owner: PlacedFile, index: int, values: list[Value]) -> None:
    """Tell a function of the checked source what something that calls it gives for its first parameters."""
    if frame.file.roles[frame.function.index].cold:
        return
    site = (frame.file.key, frame.function.index, reg)
    owner.callers.called(index, site, None)
    for slot, value in zip(given_by.slots(owner.program.functions[index]), values, strict=False):
        owner.callers.tell(index, slot, given_by.told(frame, value), site)


def assumed(frame: Frame, reg: Reg) -> bool:
    """True for (a part of) what a function of the checked source gives, of which nothing but that function's argument
    says that it is on the device, and that argument was only taken to be there."""
    part = frame.code[reg]
    found = frame.file.located(frame.calls.get(part.value if isinstance(part, Unpack) else reg, ""))
    placed = found[0].known(found[1]) if found is not None else None
    if placed is None or placed.returns is None:
        return False
    returns = placed.returns
    if isinstance(part, Unpack) and returns.items is not None and 0 <= part.index < len(returns.items):
        returns = returns.items[part.index]
    parts = (returns, *(returns.items or ()))
    return any(part.flags & FROM_PARAMETER and part.places == GIVEN for part in parts)


def iterated(frame: Frame, reg: Reg, over: Value) -> Value | None:
    """What going over an instance of a class of the checked source gives: what its `__iter__` returns or yields, or the
    `__next__` of the object that it returns; None where there is none, or it gives nothing that is known."""
    fields = instances.named_parts(frame, over)
    if fields:
        item: Value | None = None
        for field in fields:
            item = join(item, field)
        return Value(CONTAINER, combine(list(fields))[0], item=item, items=fields)
    returns = _by_method(frame, reg, over, "__iter__")
    following = _by_method(frame, reg, returns, "__next__") if returns is not None else None
    if following is not None:
        return Value(CONTAINER, following.places, following.flags & MAY, item=following)
    return returns if returns is not None and returns.is_a(CONTAINER | LOADER) else None


def advanced(frame: Frame, reg: Reg, iterator: Value) -> Value | None:
    """What `next(iterator)` gives of an instance of a class of the checked source; None where nothing is known."""
    return _by_method(frame, reg, iterator, "__next__")


def _by_method(frame: Frame, reg: Reg, of: Value, name: str) -> Value | None:
    """What a method without arguments gives of an instance of a class of the checked source, which a register calls."""
    info = frame.file.info_of(of.name) if of.kinds == OBJECT else None
    found = frame.file.located(info.methods.get(name, "")) if info is not None else None
    if found is None or info is None:
        return None
    frame.calls[reg] = info.methods[name]
    frame.receivers[reg] = of.name
    if not frame.file.roles[frame.function.index].cold:
        found[0].callers.called(found[1], (frame.file.key, frame.function.index, reg), {})
    placed = found[0].place(found[1])
    return placed.returns.foreign() if placed is not None and placed.returns is not None else None


def _is_super(frame: Frame, reg: Reg) -> bool:
    made = frame.code[reg]
    return isinstance(made, Call) and frame.dotted(made.function) == "builtins.super"


def _pass_on(frame: Frame, reg: Reg, made: Call, owner: PlacedFile, placed: Placed, given: dict[Slot, Reg]) -> None:
    """Record at a call the transfers that the callee wraps."""
    waits = False
    for one in placed.passed:
        argument = given.get(one.slot)
        if argument is None and (waits or one.slot != NO_ARGUMENT):
            continue
        if any(slot in given and not _none(frame, given[slot]) for slot in one.unless):
            continue
        if one.unless and any(made.stars):
            continue  # who knows what else is given
        inner = one.transfer
        if one.returned and inner.direction is Direction.D2H and _uploaded(placed.returns):
            continue  # what comes back is on the device again: a round trip within the function
        before: Value | None = inner.before
        if argument is not None:
            before = passing.before(frame.values[argument], inner, placed, ident(owner.key, placed.function.index))
        if before is not None:
            where = inner.inside or (owner.key, placed.function.index, inner.register)
            direction = None if before.flags & PINNED else inner.direction
            frame.record(
                reg, inner.kind, argument, before, inner.places, inner.api, inner.explicit, inner.non_blocking,
                direction, where,
            )  # fmt: skip
            waits = argument is None


def _uploaded(returns: Value | None) -> bool:
    return returns is not None and returns.on_device and bool(returns.uploads)


def _none(frame: Frame, reg: Reg) -> bool:
    made = frame.code[reg]
    return isinstance(made, Const) and made.value is None


def _returned(frame: Frame, reg: Reg, made: Call, function: Function, returns: Value, given: dict[Slot, Reg]) -> Value:
    """What a function of this file returns, its place taken from these arguments where it is that of a parameter: of
    one that is not annotated as a number or text."""
    plain = {given[one.slot] for one in function.parameters if one.slot in given and one.annotation in _NUMBERS}
    slots = {argument: slot for slot, argument in given.items()}
    arguments = [
        (from_parameter(slots[r]) if r in slots else FROM_PARAMETER, given_by.told(frame, frame.values[r]))
        for r in (*made.args, *(r for _, r in made.keywords))
        if r not in plain
    ]
    tensors = [
        (flag, v)
        for flag, v in arguments
        if v.kinds & (TENSOR | UNKNOWN | CONTAINER | ARRAY) and not v.kinds & (OBJECT | MODULE)
    ]
    numbers = functools.reduce(operator.or_, (flag for flag, v in arguments if v.is_a(HOST_VALUE)), 0)
    named = _named_place(frame, made, function, given) if returns.flags & BY_ARGUMENT else NOTHING
    found = _at_call(frame, reg, returns, tensors, numbers & ~FROM_ANOTHER, named)
    return found.but(
        why=found.why if found.on_device or found.flags & ~returns.flags & FRESH else (reg,),
        reads=frozenset({reg}) if returns.reads else frozenset(),
    )


def _at_call(
    frame: Frame, reg: Reg, value: Value, arguments: list[tuple[int, Value]], numbers: int, named: Value
) -> Value:
    """A result, or what is in it, with the place of those arguments of which its flags say that it is theirs, or the
    one that an argument names. Each argument with the flags of the parameters that may take it; `numbers` are those of
    parameters that are given plain values."""
    why: tuple[int, ...] = (reg,)
    theirs, flags = 0, value.flags & ~(FROM_PARAMETER | DERIVED | HANDED)
    if taken := [given for flag, given in arguments if flag & value.flags & ~FROM_ANOTHER]:
        theirs, given_why, *_, may = combine(taken)
        own = may & FROM_PARAMETER
        why, flags = given_why or why, flags | own | (own and (may | value.flags) & HANDED)
    elif numbers & value.flags and not value.flags & FROM_ANOTHER and not value.uploads:
        value = value.but(places=ANYWHERE)  # what other calls give says nothing of this one
    if value.flags & DERIVED and arguments:
        flags |= made_of(given for _, given in arguments)
        why = why if flags & ~value.flags & FRESH == 0 else arguments[0][1].why or why
    if flags & BY_ARGUMENT:
        flags = flags & ~BY_ARGUMENT | named.flags & BY_ARGUMENT
    return Value(
        value.kinds, _where(frame, value, theirs, named), flags, why,
        _at_call(frame, reg, value.item, arguments, numbers, named) if value.item else None,
        tuple(_at_call(frame, reg, one, arguments, numbers, named) for one in value.items) if value.items else None,
        value.name,
        fields=value.fields
        and tuple((name, _at_call(frame, reg, one, arguments, numbers, named)) for name, one in value.fields),
    )  # fmt: skip


def _named_place(frame: Frame, made: Call, function: Function, given: dict[Slot, Reg]) -> Value:
    """The place that a call names for the one device parameter of a function, by an argument or by leaving it out;
    NOTHING where it is not known."""
    named = [one for one in function.parameters if names_place(one)]
    if len(named) != 1 or any(made.stars) or any(not key for key, _ in made.keywords):
        return NOTHING
    reg = given.get(named[0].slot)
    if reg is not None and not _none(frame, reg):
        places, _ = devices.target(frame.values[reg], frame.last_name(reg) or "device")
        return Value(DEVICE_NAME, places or ANYWHERE, frame.values[reg].flags & BY_ARGUMENT)
    if reg is not None or named[0].default == "None":
        return Value(DEVICE_NAME, effects.default_place(frame) or HOST)
    return Value(DEVICE_NAME, devices.named_place(named[0].default.strip("\"'")) or ANYWHERE)


def _where(frame: Frame, returns: Value, theirs: int, named: Value) -> int:
    """Where a result is whose place may be that of the arguments, which are at `theirs` (0: not known), or the one that
    an argument names."""
    places = returns.places
    if returns.flags & BY_ARGUMENT and named.places != ANYWHERE:
        return named.places
    if returns.flags & HANDED and theirs & ~ON_DEVICE:
        if theirs & HOST and not theirs & ON_DEVICE:  # an unknown function may have moved it
            places = places & ~GIVEN | ANYWHERE
    elif theirs and returns.flags & FROM_PARAMETER and not places & HOST:
        # On the paths that upload it, a result is on the device wherever the argument is; one that may be anywhere too
        # is not there because the argument is taken to be.
        put = places & (ON_DEVICE if returns.uploads or places & ANYWHERE else DEVICE) if theirs == HOST else 0
        places = theirs | put if theirs != ANYWHERE or not places & ON_DEVICE else places
    elif theirs == HOST and returns.flags & FROM_PARAMETER and places == HOST | ANYWHERE:
        places = HOST
    if frame.leaning and places & ANYWHERE and not places & DEVICE:
        return HOST | ANYWHERE  # no more is known of it than of what the caller itself uses as a tensor
    return places
