"""What expressions come to where some of their variables are known: constants, folded as far as that goes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from transferlint import late
from transferlint.flow.dataflow.guards import identifiers
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

UNKNOWN = object()
SOME = object()  # something of which no more is known than that it is not None
NUMBER = object()  # a number, by its annotation
_VALUES = 6
_LOOPS = frozenset({"for", "while", "comprehension"})
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.eq,
    "is not": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda one, many: one in many,
    "not in": lambda one, many: one not in many,
}
_CASTS: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "bool": bool, "str": str}


@late.dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values, whichever call it is."""

    values: tuple[object, ...]


def joined(values: list[object]) -> object:
    """One of some values, where each is known."""
    found: list[object] = []
    for value in values:
        for one in value.values if isinstance(value, OneOf) else (value,):
            if not any(_alike(one, known) for known in found):
                found.append(one)
    if any(one is UNKNOWN for one in found) or len(found) > _VALUES:
        return UNKNOWN
    return found[0] if len(found) == 1 else OneOf(tuple(found))


def _alike(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)


def literal(text: str) -> object:
    """The value of a default, as far as it is a literal."""
    if text.rpartition(".")[2] == "inf":
        return float("inf")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return UNKNOWN


def value_of(function: Function, reg: Reg, test: Reg, given: Mapping[Slot, object]) -> object:
    """What an expression of a test comes to, where parameters are what is `given`."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return made.value
    if isinstance(made, p.Load):
        return _variable(function, made.slot, test, given)
    if isinstance(made, p.Outer | p.Attr):
        return float("inf") if made.name == "inf" else UNKNOWN
    if isinstance(made, p.Unary):
        value = value_of(function, made.operand, test, given)
        if made.operator == "not":
            stands = truth(value)
            return UNKNOWN if stands is None else not stands
        return -value if made.operator == "-" and isinstance(value, int | float) else UNKNOWN
    if isinstance(made, p.Sequence) and not any(made.stars):
        values = tuple(value_of(function, item, test, given) for item in made.items)
        return values if all(is_known(value) for value in values) else UNKNOWN
    if isinstance(made, p.Boolean):
        return _both(made, [truth(value_of(function, part, test, given)) for part in made.operands])
    if isinstance(made, p.Compare) and len(made.operators) == 1:
        left, right = (value_of(function, part, test, given) for part in made.operands)
        return _compared(made.operators[0], left, right)
    return UNKNOWN


def _both(made: p.Boolean, parts: list[bool | None]) -> object:
    ends = made.operator == "or"
    if ends in parts:
        return ends
    return UNKNOWN if None in parts else not ends


def _compared(sign: str, left: object, right: object) -> object:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        lefts, rights = (side.values if isinstance(side, OneOf) else (side,) for side in (left, right))
        return joined([_compared(sign, one, other) for one in lefts for other in rights])
    if left is NUMBER and sign in ("in", "not in") and isinstance(right, tuple) and all(map(_no_number, right)):
        return sign == "not in"
    if not is_known(left) or not is_known(right):
        other = right if not is_known(left) else left
        told = other is None or (isinstance(other, str) and (left is NUMBER or right is NUMBER))
        return sign in ("is not", "!=") if told and sign in ("is", "is not", "==", "!=") else UNKNOWN
    try:
        return bool(_COMPARED[sign](left, right))
    except TypeError:
        return UNKNOWN


def is_known(value: object) -> bool:
    """True for a value of which all is known."""
    return value is not UNKNOWN and value is not SOME and value is not NUMBER and not isinstance(value, OneOf)


def _no_number(value: object) -> bool:
    return value is None or isinstance(value, str)


def _variable(function: Function, slot: Slot, test: Reg, given: Mapping[Slot, object]) -> object:
    """What a parameter holds where it is tested: what was given for it, as a number or a text where it was made one."""
    value = given.get(slot, UNKNOWN)
    stores = stored(function, slot, test) if value is not UNKNOWN else []
    if len(stores) > 1:
        return UNKNOWN
    for store in stores:
        call = function.code[store]
        cast = _CASTS.get(next(identifiers(function, call.function), "")) if isinstance(call, p.Call) else None
        if cast is None or value is None or not is_known(value) or not isinstance(call, p.Call) or len(call.args) != 1:
            return UNKNOWN
        if function.code[call.args[0]] != p.Load(slot):
            return UNKNOWN
        try:
            value = cast(value)
        except (TypeError, ValueError):
            return UNKNOWN
    return value


def stored(function: Function, slot: Slot, until: Reg) -> list[Reg]:
    """What a variable is bound to before a place, or anywhere if the place stands in a loop."""
    region = next((block.region for block in function.blocks if block.start <= until < block.end), 0)
    looped = any(around.kind in _LOOPS for around in function.ancestors(region))
    end = len(function.code) if looped else until
    return [m.value for m in function.code[:end] if isinstance(m, p.Store) and m.slot == slot]


def truths(value: object) -> set[bool | None]:
    """The truth of each of several values."""
    return set(map(truth, value.values)) if isinstance(value, OneOf) else {truth(value)}


def truth(value: object) -> bool | None:
    """The truth of a value, None where it is not known."""
    if isinstance(value, OneOf):
        several = {truth(one) for one in value.values}
        return several.pop() if len(several) == 1 else None
    return bool(value) if is_known(value) else None
