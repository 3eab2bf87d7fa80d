"""What no known call runs: arms whose test the arguments that the calls give, or leave out, decide otherwise, and
reports that nobody calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.callgraph.callers import Site
from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.frequency.constants import (
    NUMBER,
    SOME,
    UNKNOWN,
    OneOf,
    joined,
    literal,
    stored,
    truth,
    truths,
    value_of,
)
from transferlint.flow.lattice.values import CONTAINER, MODULE, NULLABLE, TENSOR
from transferlint.knowledge import roles
from transferlint.knowledge.torch_names import OWN_CALLS
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Parameter, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.placement.placement import FilePlacement

SOMETHING = TENSOR | CONTAINER | MODULE  # kinds of what is not None
_CALLS = 64
_NUMBERS = frozenset({"int", "float", "bool"})
_DEPTH = 3
_LIBRARIES = (*OWN_CALLS, "numpy.", "math.")
_TOLD = frozenset("shape ndim dtype device is_cuda requires_grad grad training".split())  # by a tensor, a module


def never(file: FilePlacement, function: Function, test: Reg, when: bool) -> bool:
    """True where calls of a function are known, and by what each of them gives for its parameters `test` is not
    `when`."""
    read = {made.slot for reg in tree(function.code, test) if isinstance(made := function.code[reg], p.Load)}
    asked = [one for one in function.parameters if one.slot in read and one.kind in ("positional", "keyword")]
    sites = file.calls_of(function.index) if asked else {}
    if not sites or len(sites) > _CALLS or _offered(file, function):
        return False
    for site, given in sites.items():
        if given is None:
            return False
        values = {one.slot: _argument(file, function, one, site, given, _DEPTH, 0) for one in asked}
        stands = truth(value_of(function, test, test, values))
        if stands is None or stands is when:
            return False
    return True


def optional(file: FilePlacement, function: Function, test: Reg, when: bool) -> bool:
    """True for an arm that may be there for nobody: its test reads an option that the object or the module keeps, or
    parameters with defaults, and no call that is known decides for it. A call does by what is known of its arguments,
    or, where those that it leaves out would decide against the arm, by giving any."""
    code = function.code
    regs = list(tree(code, test))
    if any(_option(file, function, reg) for reg in regs):
        return True
    read = {made.slot for reg in regs if isinstance(made := code[reg], p.Load)}
    asked = [one for one in function.parameters if one.slot in read and one.default]
    if not asked:
        return False
    left_out = truth(value_of(function, test, test, {one.slot: literal(one.default) for one in asked}))
    for site, given in list(file.calls_of(function.index).items())[:_CALLS]:
        if given is None:
            return False
        values = {one.slot: _decided(file, function, one, site, given) for one in asked}
        value = value_of(function, test, test, values)
        stands = truth(value)
        gives = any(one.name in given for one in asked)
        if when in truths(value) or (stands is None and gives and left_out is not when):
            return False
    return True


def _option(file: FilePlacement, function: Function, reg: Reg) -> bool:
    """True for what a test reads of an object, the program's own or one that is given, and for a variable of a module,
    in its own code one that is set once, to a literal: what a tensor tells of itself, calls, functions and classes are
    none."""
    made = function.code[reg]
    if isinstance(made, p.Load) and function.kind == "module":
        stores = [function.code[at] for at in function.lookup.about(p.Store, made.slot)]
        kept = [function.code[one.value] for one in stores if isinstance(one, p.Store)]
        return len(kept) == 1 and isinstance(kept[0], p.Const)
    if isinstance(made, p.Attr):
        owner = function.code[made.object]
        asked = isinstance(owner, p.Load) and made.name not in _TOLD
        calls = (function.code[at] for at in function.lookup.of(p.Call))
        return asked and not any(isinstance(one, p.Call) and one.function == reg for one in calls)
    if not isinstance(made, p.Outer):
        return False
    name = file.names.resolved(file.names.dotted(function, reg))
    return split(name) is None and not name.startswith(_LIBRARIES)


def single(file: FilePlacement, function: Function, over: Reg) -> bool:
    """True for a loop over `range(n)` that has one turn by default: n is a parameter whose default is 1, or what the
    constructor keeps of one, and no known call gives it another value."""
    made = function.code[over]
    if not isinstance(made, p.Call) or function.code[made.function] != p.Outer("range") or len(made.args) != 1:
        return False
    found = _counting(file, function, made.args[0])
    if found is None:
        return False
    owner, parameter = found
    known = file.calls_of(owner.index)
    if file.callers.telling(owner.index, parameter.slot) - known.keys():
        return False  # calls of a class, of which no names are noted
    sites = list(known.items())[:_CALLS]
    given = [_decided(file, owner, parameter, site, by) if by is not None else UNKNOWN for site, by in sites]
    return all(one == 1 for one in given)


def _counting(file: FilePlacement, function: Function, reg: Reg) -> tuple[Function, Parameter] | None:
    """The parameter, 1 by default, that a number is, and its function."""
    made, owner, slot = function.code[reg], function, -1
    if isinstance(made, p.Load):
        slot = made.slot
    elif isinstance(made, p.Attr) and isinstance(self := function.code[made.object], p.Load) and self.slot == 0:
        info = file.class_of(function)
        found = file.located(info.methods.get("__init__", "")) if info is not None else None
        if found is None or found[0] is not file:
            return None
        owner = file.program.functions[found[1]]
        kept = [one for one in owner.code if isinstance(one, p.SetAttr) and one.name == made.name]
        taken = owner.code[kept[0].value] if len(kept) == 1 else None
        slot = taken.slot if isinstance(taken, p.Load) else -1
    parameter = next((one for one in owner.parameters if one.slot == slot and one.default == "1"), None)
    return (owner, parameter) if parameter is not None and not stored(owner, slot, len(owner.code)) else None


def left_out(file: FilePlacement, function: Function, slot: Slot) -> bool:
    """True for a parameter that is None unless it is given, of a function of which calls are known, none of which gives
    it."""
    if not any(one.slot == slot and one.default == "None" for one in function.parameters) or _offered(file, function):
        return False
    name, sites = function.slot_names[slot], file.calls_of(function.index)
    return bool(sites) and all(given is not None and name not in given for given in sites.values())


def counted(function: Function) -> bool:
    """True where the checked source makes all calls of a function, and they are looked for."""
    if not roles.sought(function.name):
        return False
    return not roles.certain(function.name) or (function.parent == 0 and roles.called_in_source(function.name))


def _name(function: Function, reg: Reg) -> str:
    """The name by which an expression reads, "" for none."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.slot_names[made.slot]
    return made.name if isinstance(made, p.Outer | p.Attr) else ""


def _offered(file: FilePlacement, function: Function) -> bool:
    """True for a function that others may call without spelling its name: one that is registered, or that a class
    whose bases are not all known has by a name of its own (`get_grad_norm`)."""
    if any("register" in decorator for decorator in function.decorators):
        return True
    info = file.class_of(function)
    pending = list(info.bases) if info is not None and roles.called_in_source(function.name) else []
    seen: set[str] = set()
    while pending:
        base = pending.pop()
        found = file.info_of(base) if base not in seen else None
        if found is None and base not in seen and not base.startswith(OWN_CALLS):
            return True
        seen.add(base)
        pending.extend(found.bases if found is not None else ())
    return False


def _argument(
    file: FilePlacement, function: Function, one: Parameter, site: Site, given: dict[str, Reg], depth: int, files: int
) -> object:
    """What a call gives for a parameter: its default, a constant, or what its caller is given itself by all calls of
    it. So `depth` callers are asked, in files that are less than two (with the `files` before) away: the callers of
    others may not be known."""
    if one.name not in given:
        return literal(one.default)
    owner = file.located(f"{site[0]}#{site[1]}")
    if owner is None:
        return UNKNOWN
    files += owner[0] is not file
    caller = owner[0].program.functions[owner[1]]
    made = caller.code[given[one.name]]
    if isinstance(made, p.Const):
        return made.value
    if isinstance(made, p.Unary) and made.operator == "-":
        return value_of(caller, given[one.name], given[one.name], {})
    taken = next((own for own in caller.parameters if isinstance(made, p.Load) and own.slot == made.slot), None)
    if taken is not None and not stored(caller, taken.slot, given[one.name]):
        known = depth > 0 and files < 2 and counted(caller)
        found = _passed(owner[0], caller, taken, depth - 1, files) if known else UNKNOWN
        if found is not UNKNOWN:
            return found
        if taken.annotation in _NUMBERS and taken.default != "None":
            return NUMBER
    value = file.callers.value(function.index, one.slot, site)
    if value is None or not value.is_a(SOMETHING):
        return UNKNOWN
    return OneOf((SOME, None)) if value.flags & NULLABLE else SOME


def _decided(file: FilePlacement, function: Function, one: Parameter, site: Site, given: dict[str, Reg]) -> object:
    """What a call gives for a parameter; where it hands on one of its caller's own, and no one is known to give that,
    the default of that."""
    found = _argument(file, function, one, site, given, _DEPTH, 0)
    owner = file.located(f"{site[0]}#{site[1]}") if found is UNKNOWN and one.name in given else None
    if owner is None:
        return found
    caller = owner[0].program.functions[owner[1]]
    made = caller.code[given[one.name]]
    slots = {own.slot: own.default for own in caller.parameters if own.default}
    return literal(slots[made.slot]) if isinstance(made, p.Load) and made.slot in slots else found


def _passed(file: FilePlacement, function: Function, one: Parameter, depth: int, files: int) -> object:
    """What all calls of a function give for a parameter."""
    sites = file.calls_of(function.index)
    if one.kind not in ("positional", "keyword") or not 0 < len(sites) <= _CALLS:
        return UNKNOWN
    values: list[object] = []
    for site, given in sites.items():
        values.append(UNKNOWN if given is None else _argument(file, function, one, site, given, depth, files))
        if values[-1] is UNKNOWN:
            return UNKNOWN
    return joined(values)
