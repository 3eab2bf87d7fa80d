"""Calls of what the tables of libraries, or the user, name: what they give, and which transfer they make.

Effects that a function's operands decide by themselves are applied in `effects`; here are those that need more: the
class of the receiver, the keywords that are given, what is inside the containers that are passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.lattice.transfers import BUILD, FORMAT, SCALAR_READ, SYNCHRONIZE
from transferlint.flow.lattice.values import (
    ANYWHERE,
    CONTAINER,
    DATA,
    DEVICE,
    DEVICE_NAME,
    FRAMEWORKS,
    GIVEN,
    HOST,
    LOADER,
    MODULE,
    NAME,
    NOTHING,
    OBJECT,
    ON_DEVICE,
    OPTIMIZER,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    held_on_device,
)
from transferlint.flow.placement import attributes, checks, devices, effects
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge import lookup, receivers
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import BY_OPERANDS
from transferlint.knowledge.user import UserKnowledge
from transferlint.model import Direction
from transferlint.syntax.program import Attr, Call, Reg

# What methods of tensors and modules do is applied elsewhere, by the method's name; so are moves of any object.
_BY_METHOD = frozenset({Effect.MOVE, Effect.CUDA, Effect.COPY, Effect.PIN, Effect.SCALAR, Effect.NUMPY})


def by_name(frame: Frame, reg: Reg, made: Call, names: tuple[str, ...], user: UserKnowledge) -> Value | None:
    """A call of a function known by qualified names (the first that is known counts); None where nobody knows any, or
    the operands alone decide."""
    given = frozenset(key for key, r in made.keywords if effects.truthy(frame, r))
    for name in names:
        effect = lookup.effect_of(name, user, given)
        if effect is not None:
            if effect in BY_OPERANDS and not lookup.told(name, user) and given.isdisjoint(_decides(name)):
                return None
            return _apply(frame, reg, made, effect, name, None)
    return None


def by_method(
    frame: Frame, reg: Reg, made: Call, attribute: Attr, bases: tuple[str, ...], user: UserKnowledge
) -> Value | None:
    """A call of a method: of an object whose class is known, of a base of it (`bases`, qualified), or of what its
    variable's name says it is; None where nobody knows it."""
    base = frame.values[attribute.object]
    if base.kinds == NAME or base.is_a(TENSOR):
        return None
    owned = base.kinds & (OBJECT | MODULE | OPTIMIZER) or base.name.startswith(checks.ROOT)
    owners = [base.name] if base.name and owned else []
    owners += bases
    if not owners and base.kinds & (UNKNOWN | OBJECT | DEVICE_NAME | LOADER):  # `accelerator` reads like a place, too
        owners = [receivers.owner_of(frame.last_name(attribute.object))]
    given = frozenset(key for key, r in made.keywords if effects.truthy(frame, r))
    for owner in filter(None, owners):
        name = f"{owner}.{attribute.name}"
        effect = lookup.effect_of(name, user, given)
        if effect is not None:
            return None if effect in _BY_METHOD else _apply(frame, reg, made, effect, name, attribute.object)
    return None


def _decides(name: str) -> tuple[str, ...]:
    row = lookup.row_of(name)
    return (*row.when, *row.unless) if row is not None else ()


def _apply(frame: Frame, reg: Reg, made: Call, effect: Effect, name: str, receiver: Reg | None) -> Value:
    values = [frame.values[r] for r in made.args] + [frame.values[r] for _, r in made.keywords]
    first = made.args[0] if made.args else (made.keywords[0][1] if made.keywords else None)
    subject = receiver if receiver is not None and frame.values[receiver].kinds & TENSOR else first
    api = f"{name.rpartition('.')[2]}(t)"
    if effect in _MADE:
        return _made(effect, reg, name, values, effects.created_on(frame, made))
    if effect is Effect.SEND:
        return _send(frame, reg, made, name)
    if effect in (Effect.READS_ARGUMENTS, Effect.READS_STATE):
        row = lookup.row_of(name)
        if row is not None and not row.avoidable:
            return PYTHON.but(reads=frozenset({reg}))
    if effect is Effect.READS_ARGUMENTS:
        return _read(frame, reg, made, SCALAR_READ, api)
    if effect is Effect.FORMATS_ARGUMENTS:
        return _read(frame, reg, made, FORMAT, api)
    if effect is Effect.READS_STATE and receiver is not None and _stays(frame, receiver):
        frame.record(
            reg, BUILD, None, PYTHON, DEVICE, api.replace("(t)", "()"), explicit=False, direction=Direction.H2D
        )
        return PYTHON
    if effect is Effect.READS_STATE:
        state = Value(TENSOR, GIVEN, RESIDENT)
        frame.record(reg, SCALAR_READ, None, state, HOST, api.replace("(t)", "()"), explicit=False)
        return PYTHON.but(reads=frozenset({reg}))
    if effect in (Effect.EXCHANGES_OBJECTS, Effect.SYNCHRONIZE):
        if not effects.among_hosts(frame, made):
            frame.record(reg, SYNCHRONIZE, None, NOTHING, 0, name, direction=Direction.NONE)
        return Value(UNKNOWN, ANYWHERE) if effect is Effect.EXCHANGES_OBJECTS else PYTHON
    if effect in (Effect.CHECK, Effect.COPIES_OPERAND):
        return checks.check(frame, reg, made, values, name)
    if effect is Effect.VALIDATES:
        return checks.validates(frame, reg, made, values, name)
    if effect is Effect.VALIDATES_NOT:
        return checks.switch(frame, made)
    if effect is Effect.ASKS and receiver is not None:
        return checks.asks(frame, reg, made, frame.values[receiver], values)
    if effect is Effect.DRAWS and receiver is not None:
        return checks.draws(frame, reg, made, frame.values[receiver], values)
    if effect is Effect.SAME and receiver is not None:
        return frame.values[receiver]
    if effect is Effect.KEEP and receiver is not None and not any(value.kinds & _OPERANDS for value in values):
        return Value(UNKNOWN, frame.values[receiver].places, why=(reg,))  # the object alone is what it computes with
    if effect is Effect.KEEP:
        return effects.keep(frame, reg, made, values)
    if effect is Effect.SHAPE and (subject is None or not frame.values[subject].is_a(TENSOR)):
        return Value(UNKNOWN, frame.values[subject].places if subject is not None else ANYWHERE)
    if effect is Effect.SHAPE:
        return effects.shape(frame, reg, subject, api)
    return effects.apply(frame, reg, made, effect, name)


def _stays(frame: Frame, receiver: Reg) -> bool:
    """True for a module that is on the host: its own number goes the other way, to where its operands are."""
    value = frame.values[receiver]
    return value.is_a(MODULE) and value.on_host and not attributes.moves_along(frame, receiver, value)


_OPERANDS = TENSOR | CONTAINER | UNKNOWN | MODULE
_MADE = frozenset(
    {
        Effect.OBJECT,
        Effect.WRAP,
        Effect.PREPARE,
        Effect.DEVICE_TENSOR,
        Effect.HOST_DATA,
        Effect.MODULE,
        Effect.OPTIMIZER,
    }
)


def _made(effect: Effect, reg: Reg, name: str, values: list[Value], places: int) -> Value:
    """What is made, at `places` where that is said, or handed back without a transfer."""
    if effect is Effect.OBJECT:
        return Value(OBJECT, ANYWHERE, why=(reg,), name=name)
    if effect is Effect.WRAP:
        return values[0] if values else NOTHING
    if effect is Effect.PREPARE:
        prepared = tuple(_prepared(value) for value in values)
        return prepared[0] if len(prepared) == 1 else Value(CONTAINER, GIVEN, items=prepared)
    if effect is Effect.DEVICE_TENSOR:
        return Value(TENSOR, GIVEN, RESIDENT, (reg,))
    if effect is Effect.HOST_DATA:
        return Value(UNKNOWN, HOST, DATA, (reg,))
    if effect is Effect.OPTIMIZER:
        return Value(OPTIMIZER, ANYWHERE, name=name)
    return Value(MODULE, places or HOST, why=(reg,), name=name)


def _prepared(value: Value) -> Value:
    if value.kinds & MODULE:
        return value.but(places=GIVEN)
    if value.kinds & LOADER:
        return Value(CONTAINER | LOADER, GIVEN, item=Value(UNKNOWN, GIVEN, RESIDENT))
    return value


def _send(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """What goes in comes back where another argument names a place, on the device where none does."""
    if not made.args and not made.keywords:
        return NOTHING
    subject = made.args[0] if made.args else made.keywords[0][1]
    named = effects.keyword(made, "device")
    if named is None and len(made.args) > 1:
        named = made.args[1]
    places = 0
    if named is not None:
        places, _ = devices.target(frame.values[named], frame.last_name(named) or "device")
    value = frame.values[subject]
    return effects.move(frame, reg, made, subject, value, places or GIVEN, f"{name.rpartition('.')[2]}()")


def _read(frame: Frame, reg: Reg, made: Call, kind: str, api: str) -> Value:
    """Every device tensor among the arguments, or inside them, is read; one transfer a call."""
    for subject, tensor in _device_operands(frame, made):
        frame.record(reg, kind, subject, tensor, HOST, api, explicit=False)
        return PYTHON.but(reads=frozenset({reg}))
    return PYTHON


def _device_operands(frame: Frame, made: Call) -> Iterator[tuple[Reg, Value]]:
    for r in (*made.args, *(r for _, r in made.keywords)):
        found = _tensor_in(frame.values[r], 0)
        if found is not None:
            yield r, found


def _tensor_in(value: Value, depth: int) -> Value | None:
    """The device tensor that a value is or holds."""
    if value.kinds & TENSOR and not value.kinds & CONTAINER and value.places & ON_DEVICE:
        return value
    if value.flags & FRAMEWORKS and held_on_device(value):
        return value
    if not value.kinds & CONTAINER or depth > 2:
        return None
    inside = value.items or ((value.item,) if value.item is not None else ())
    return next((found for one in inside if (found := _tensor_in(one, depth + 1)) is not None), None)
