"""Arms that no known call runs: those whose test the arguments that the calls give, or leave out, decide otherwise."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transferlint.flow.callers import Site
from transferlint.flow.guards import identifiers
from transferlint.flow.values import CONTAINER, MODULE, TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Parameter, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.placement import FilePlacement

_UNKNOWN = object()
_SOME = object()  # something of which no more is known than that it is not None
_CALLS = 24
_DEPTH = 3
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


def never(file: FilePlacement, function: Function, test: Reg, when: bool) -> bool:
    """True where calls of a function are known, and by what each of them gives for its parameters `test` is not
    `when`."""
    sites = file.calls_of(function.index)
    if not sites or len(sites) > _CALLS:
        return False
    for site, given in sites.items():
        if given is None:
            return False
        truth = _truth(_value(function, test, test, _arguments(file, function, site, given, _DEPTH)))
        if truth is None or truth is when:
            return False
    return True


def _arguments(
    file: FilePlacement, function: Function, site: Site, given: dict[str, Reg], depth: int
) -> dict[Slot, object]:
    """What a call gives for each parameter, or leaves at its default."""
    return {
        one.slot: _given(file, function, one, site, given[one.name], depth)
        if one.name in given
        else _literal(one.default)
        for one in function.parameters
        if one.kind in ("positional", "keyword")
    }


def _given(file: FilePlacement, function: Function, one: Parameter, site: Site, reg: Reg, depth: int) -> object:
    """What a call gives for a parameter: a constant, or what its caller is given itself by all calls of it."""
    owner = file.located(f"{site[0]}#{site[1]}")
    if owner is None:
        return _UNKNOWN
    caller = owner[0].program.functions[owner[1]]
    made = caller.code[reg]
    if isinstance(made, p.Const):
        return made.value
    slots = {given.slot for given in caller.parameters}
    if isinstance(made, p.Load) and made.slot in slots and depth > 0 and not _stored(caller, made.slot, reg):
        sites = owner[0].calls_of(owner[1])
        values = [
            _UNKNOWN if inner is None else _arguments(owner[0], caller, at, inner, depth - 1).get(made.slot, _UNKNOWN)
            for at, inner in sites.items()
        ]
        if 0 < len(values) <= _CALLS and all(_alike(values[0], value) for value in values):
            return values[0]
    value = file.callers.value(function.index, one.slot, site)
    return _SOME if value is not None and value.is_a(TENSOR | CONTAINER | MODULE) else _UNKNOWN


def _alike(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)


def _literal(text: str) -> object:
    """The value of a default, as far as it is a literal."""
    if text.rpartition(".")[2] == "inf":
        return float("inf")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _UNKNOWN


def _value(function: Function, reg: Reg, test: Reg, given: dict[Slot, object]) -> object:
    """What an expression of a test comes to."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return made.value
    if isinstance(made, p.Load):
        return _variable(function, made.slot, test, given)
    if isinstance(made, p.Outer | p.Attr):
        return float("inf") if made.name == "inf" else _UNKNOWN
    if isinstance(made, p.Unary):
        value = _value(function, made.operand, test, given)
        if made.operator == "not":
            truth = _truth(value)
            return _UNKNOWN if truth is None else not truth
        return -value if made.operator == "-" and isinstance(value, int | float) else _UNKNOWN
    if isinstance(made, p.Sequence) and not any(made.stars):
        values = tuple(_value(function, item, test, given) for item in made.items)
        return _UNKNOWN if any(value is _UNKNOWN or value is _SOME for value in values) else values
    if isinstance(made, p.Boolean):
        return _both(made, [_truth(_value(function, part, test, given)) for part in made.operands])
    if isinstance(made, p.Compare) and len(made.operators) == 1:
        left, right = (_value(function, part, test, given) for part in made.operands)
        return _compared(made.operators[0], left, right)
    return _UNKNOWN


def _both(made: p.Boolean, parts: list[bool | None]) -> object:
    ends = made.operator == "or"
    if ends in parts:
        return ends
    return _UNKNOWN if None in parts else not ends


def _compared(sign: str, left: object, right: object) -> object:
    if left is _UNKNOWN or right is _UNKNOWN:
        return _UNKNOWN
    if left is _SOME or right is _SOME:
        told = (left is None or right is None) and sign in ("is", "is not", "==", "!=")
        return sign in ("is not", "!=") if told else _UNKNOWN
    try:
        return bool(_COMPARED[sign](left, right))
    except TypeError:
        return _UNKNOWN


def _variable(function: Function, slot: Slot, test: Reg, given: dict[Slot, object]) -> object:
    """What a parameter holds where it is tested: what was given for it, as a number or a text where it was made one."""
    value = given.get(slot, _UNKNOWN)
    stores = _stored(function, slot, test)
    if len(stores) > 1 or value is _UNKNOWN:
        return value if not stores else _UNKNOWN
    for store in stores:
        call = function.code[store]
        cast = _CASTS.get(next(identifiers(function, call.function), "")) if isinstance(call, p.Call) else None
        if cast is None or value is None or value is _SOME or not isinstance(call, p.Call) or len(call.args) != 1:
            return _UNKNOWN
        if function.code[call.args[0]] != p.Load(slot):
            return _UNKNOWN
        try:
            value = cast(value)
        except (TypeError, ValueError):
            return _UNKNOWN
    return value


def _stored(function: Function, slot: Slot, until: Reg) -> list[Reg]:
    """What a variable is bound to before a place, or anywhere if the place stands in a loop."""
    region = next((block.region for block in function.blocks if block.start <= until < block.end), 0)
    looped = any(around.kind in _LOOPS for around in function.ancestors(region))
    end = len(function.code) if looped else until
    return [m.value for m in function.code[:end] if isinstance(m, p.Store) and m.slot == slot]


def _truth(value: object) -> bool | None:
    """The truth of a value, None where it is not known."""
    return None if value is _UNKNOWN or value is _SOME else bool(value)
