"""What the code of a file uses: the functions it calls and how often, and the functions and classes that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.callgraph.names import find, ident, split
from transferlint.flow.dataflow.guards import asks_for_main
from transferlint.flow.frequency.call_edges import CallEdges
from transferlint.flow.frequency.callees import by_name, few
from transferlint.flow.lattice.values import DEVICE_NAME, DTYPE, NAME, TENSOR, Value
from transferlint.knowledge import roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Parameter, Reg

if TYPE_CHECKING:
    from transferlint.flow.placement.placed import Placed
    from transferlint.flow.placement.placement import FilePlacement

# How often a place runs: in a loop whose turns are steps, in one whose names say that, as often as its function, or
# rarely.
STEP, LOOP, BODY, RARELY = "step", "loop", "body", "rarely"
# What Python binds in every module and method (docs.python.org, data model, 'Modules', 'Creating the class object').
_GIVEN = frozenset("__file__ __path__ __class__ __module__ __qualname__ __annotations__ __builtins__".split())
_LOOPS = frozenset({"for", "while"})
_ARMS = frozenset({"then", "else", "case", "handler"})
_NAMED_MOVES = roles.MOVING - roles.PLACING - {"to", "device", "pipeline", "device_map"}
_DISPLAY = "comprehension"
_ENTERED = frozenset({"for", "while", "then", "else", "case", "with", _DISPLAY})  # regions that catch nothing
_NO_USES = frozenset({"builtins.isinstance", "builtins.issubclass", "builtins.super"})


@late.dataclass(frozen=True, slots=True)
class Uses:
    """Of one file: its `calls` (caller, ident, whether behind the main guard, how often), its `mentions` of functions
    and classes of the project (function, whether behind the guard, ident, whether only sometimes), the methods
    that are `named`, of whatever but `self` (function, name), and what it, as the `__init__.py` of a package, has been
    `offered` by its modules; the files that it `imports` from, and those that it `needs` to be imported itself."""

    calls: tuple[tuple[int, str, bool, str], ...]
    mentions: tuple[tuple[int, bool, str, bool], ...]
    named: frozenset[tuple[int, str]]
    offered: frozenset[str]
    imports: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    seeds: bool = False
    speaks: bool = False
    moves: bool = False
    broken: bool = False
    failing: frozenset[int] = frozenset()
    dated: bool = False


@late.dataclass(frozen=True, slots=True)
class Spelled:
    """What of the uses of a file rests on how its functions are placed alone: calls of which only the method's name is
    known (function, register, ident), and what `Uses` has of the rest."""

    perhaps: tuple[tuple[int, Reg, str], ...]
    mentions: tuple[tuple[int, bool, str, bool], ...]
    named: frozenset[tuple[int, str]]
    offered: frozenset[str]
    imports: frozenset[str]
    needs: frozenset[str]
    seeds: bool
    speaks: bool
    moves: bool
    broken: bool
    failing: frozenset[int]
    dated: bool
    fails: Reg  # where the module's own code raises, a register behind all where it does not
    stops: Mapping[int, Sequence[tuple[int, Reg]]]  # by function, the regions in which code raises, and where


def spelled(file: FilePlacement, placed: Sequence[Placed], methods: Mapping[str, tuple[str, ...]]) -> Spelled:
    """What a file spells; `methods` are the idents of all methods of a name."""
    stops: dict[int, list[tuple[int, Reg]]] = {}
    for at, region, reg in _stops(file, placed):
        stops.setdefault(at, []).append((region, reg))
    failing = {at for at, found in stops.items() if at and any(not region for region, _ in found)}
    outside = (reg for region, reg in stops.get(0, ()) if not region)
    fails = min(outside, default=len(file.program.functions[0].code))
    perhaps = tuple((one.function.index, reg, name) for one in placed for reg, name in by_name(one, methods))
    mentions = {
        (function.index, guarded(file, function.index, reg), target, sometimes(function, reg))
        for function in file.program.functions
        for reg, target in _mentioned(file, function)
        if not _behind(function, reg, stops.get(function.index, ()))
    }
    names = frozenset(_names(file))
    speaks = not names.isdisjoint(roles.PLACING | roles.TRAINERS) or any(
        "cuda" in name or "gpu" in name for name in names
    )
    return Spelled(
        perhaps,
        tuple(sorted(mentions)),
        frozenset(_named(file, methods)),
        frozenset(_offered(file)),
        frozenset(_imported(file)),
        frozenset(_needed(file)),
        not names.isdisjoint(roles.SEEDING),
        speaks or any(map(roles.ACCELERATOR.match, _texts(file))),
        not names.isdisjoint(roles.MOVING) and _moves(placed),
        _broken(file),
        frozenset(failing),
        not names.isdisjoint(roles.BEFORE_DEVICES),
        fails,
        stops,
    )


def uses_of(file: FilePlacement, edges: CallEdges, also: Spelled, often: Callable[[int, Reg], str]) -> Uses:
    """The uses of a file with these calls; `often` says how often a place runs."""
    sites = [(caller, reg, ident(file.key, callee)) for caller, reg, callee in (*edges.calls, *edges.lent)]
    sites += ((caller, reg, ident(target, index)) for caller, reg, target, index in (*edges.outgoing, *edges.maybe))
    calls = {
        (caller, name, guarded(file, caller, reg), often(caller, reg))
        for caller, reg, name in (*sites, *also.perhaps)
        if not _behind(file.program.functions[caller], reg, also.stops.get(caller, ()))
    }
    return Uses(
        tuple(sorted(calls)), also.mentions, also.named, also.offered, also.imports, also.needs, also.seeds,
        also.speaks, also.moves, also.broken, also.failing, also.dated,
    )  # fmt: skip


def guarded(file: FilePlacement, function: int, reg: Reg) -> bool:
    """True for a place behind `if __name__ == "__main__":`."""
    owner = file.program.functions[function]
    if owner.kind != "module":
        return False
    at = owner.lookup.regions[reg]
    while at > 0:
        region = owner.regions[at]
        if region.kind == "then" and region.test is not None and asks_for_main(owner, owner.code[region.test]):
            return True
        at = region.parent
    return False


def sometimes(function: Function, reg: Reg) -> bool:
    """True for a place in an arm of a branch, within the loop around it or else the function, but for those that ask
    whether something is there: of the unsafe edits in such arms none of 4 was taken, of those where something is asked
    for all of 3, and outside of arms 38 of 47 (benchmarks/results/unsafe_fixes.md, draw 18)."""
    at = function.lookup.regions[reg]
    while at > 0:
        region = function.regions[at]
        if region.kind in _LOOPS:
            return False
        there = region.test is not None and _there(function, region.test)
        if region.kind in _ARMS and not region.implied and not there:
            return True
        at = region.parent
    return False


def _there(function: Function, test: Reg) -> bool:
    """True for `x is None` and `x is not None`, and for the main guard."""
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators not in (("is",), ("is not",)):
        return asks_for_main(function, made)
    return any(function.code[side] == p.Const(None) for side in made.operands)


def _mentioned(file: FilePlacement, function: Function) -> Iterator[tuple[Reg, str]]:
    """The registers that stand for a function or class of the project, but for those that only ask for a type and the
    bases of classes."""
    code, names = function.code, file.names
    left_out: set[Reg] = set()
    for reg in function.lookup.of(p.Make):
        made = code[reg]
        if isinstance(made, p.Make):
            left_out.update(made.bases)
    for reg in function.lookup.of(p.Call):
        made = code[reg]
        if isinstance(made, p.Call) and names.dotted(function, made.function) in _NO_USES:
            left_out.update(made.args)
    spelled_as: dict[Reg, str] = {}
    for reg in function.lookup.of(p.Outer, p.Load, p.Attr):
        made = code[reg]
        if isinstance(made, p.Attr):
            owner = spelled_as.get(made.object)
            name = f"{owner}.{made.name}" if owner else ""
        else:
            name = names.dotted(function, reg)
        if name:
            spelled_as[reg] = name
        target = names.resolved(name) if name and reg not in left_out else ""
        if split(target) is not None:
            yield reg, target


def _named(file: FilePlacement, methods: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[int, str]]:
    """The methods that are read of anything but `self`, each with the function that does."""
    for function in file.program.functions:
        for reg in function.lookup.of(p.Attr):
            made = function.code[reg]
            told = isinstance(made, p.Attr) and few(methods.get(made.name, ()))
            owner = function.code[made.object] if isinstance(made, p.Attr) and told else None
            own = isinstance(owner, p.Load) and function.slot_names[owner.slot] == "self"
            if owner is not None and isinstance(made, p.Attr) and not own:
                yield function.index, made.name


def _names(file: FilePlacement) -> Iterator[str]:
    """The attributes that a file reads, the keywords that it gives, the modules that it imports, and their members."""
    for function in file.program.functions:
        for reg in function.lookup.of(p.Attr, p.Import, p.Call):
            made = function.code[reg]
            if isinstance(made, p.Attr):
                yield made.name
            elif isinstance(made, p.Call):
                yield from (key for key, _ in made.keywords)
            elif isinstance(made, p.Import):
                yield made.name
                yield made.module.partition(".")[0]


def _moves(placed: Sequence[Placed]) -> bool:
    """True where a file may bring something to an accelerator: it names such a place, or moves something to one that is
    not known to be the host, or hands things to a library that does."""
    for one in placed:
        code, values = one.function.code, one.values
        for reg in one.function.lookup.of(p.Attr, p.Import, p.Call):
            made = code[reg]
            if isinstance(made, p.Import):
                root = made.module.partition(".")[0]
                if not roles.PLACING.isdisjoint((made.name, root)):
                    return True
                if root == "transformers" and made.name in roles.TRAINERS:
                    return True
            elif isinstance(made, p.Attr):
                known = values[reg]
                if made.name in _NAMED_MOVES or (made.name == "device" and not known.on_host and known.kinds != NAME):
                    return True
            elif _names_device(values[reg]) or _to_device(code, values, made):
                return True
    return False


def _names_device(value: Value) -> bool:
    """True for the name of a place that is not known to be the host."""
    return value.is_a(DEVICE_NAME) and not value.on_host


def _to_device(code: Sequence[p.Instruction], values: Sequence[Value], made: p.Instruction) -> bool:
    """True for `x.to(place)` and `f(device=place)`, but for dtypes and the host."""
    if not isinstance(made, p.Call):
        return False
    given = [value for key, value in made.keywords if key in ("device", "device_map")]
    callee = code[made.function]
    if isinstance(callee, p.Attr) and callee.name == "to":
        given += made.args
    return any(not (values[reg].on_host and values[reg].is_a(DEVICE_NAME | DTYPE | TENSOR)) for reg in given)


def _texts(file: FilePlacement) -> Iterator[str]:
    for function in file.program.functions:
        for reg in function.lookup.of(p.Const):
            made = function.code[reg]
            if isinstance(made, p.Const) and isinstance(made.value, str):
                yield made.value


def _imported(file: FilePlacement) -> Iterator[str]:
    """The files of the project from which a file imports, wherever."""
    if file.project is not None:
        for function in file.program.functions:
            for reg in function.lookup.of(p.Import):
                made = function.code[reg]
                if isinstance(made, p.Import):
                    yield from file.project.imported(made, file.names)


def _needed(file: FilePlacement) -> Iterator[str]:
    """The files of the project that a file runs in any case when it is imported, but for those of its packages."""
    if file.project is not None:
        for made in file.names.at_once:
            yield from file.project.run_by(made, file.names)


def _broken(file: FilePlacement) -> bool:
    """True for a file whose own code imports, in any case, what the project does not have."""
    return file.project is not None and any(file.project.lacks(made, file.names) for made in file.names.at_once)


def _behind(function: Function, reg: Reg, stops: Sequence[tuple[int, Reg]]) -> bool:
    """True for a place that nothing comes to, as what stands before it, or in it, raises."""
    if not stops:
        return False
    around = {0, *_around(function, function.lookup.regions[reg])}
    return any(region in around and stop <= reg for region, stop in stops)


def _around(function: Function, region: int) -> Iterator[int]:
    while region > 0:
        yield region
        region = function.regions[region].parent


def _stops(file: FilePlacement, placed: Sequence[Placed]) -> Iterator[tuple[int, int, Reg]]:
    """Where functions raise whenever they come there, each with the region: they read a name that nothing binds, or
    call a function or class of the project with what it does not take (NameError, TypeError). What is tried may be
    meant to. The cells of a notebook may have run in another order, and with what there was at that time."""
    if file.key.endswith(".ipynb"):
        return
    program = file.program
    stores = ((one, reg) for one in program.functions for reg in one.lookup.of(p.StoreOuter))
    bound = {made.name for one, reg in stores if isinstance(made := one.code[reg], p.StoreOuter)} | _GIVEN
    for one in placed:
        function = one.function
        reads = function.lookup.of(p.Outer) if not file.names.stars else ()
        unbound = {reg for reg in reads if _unbound(file, function, function.code[reg], bound)}
        misfits = (code.function for reg in one.calls if (code := _misfit(file, one, reg)) is not None)
        for reg in (*unbound, *_given(function, unbound), *misfits):
            around = list(_around(function, function.lookup.regions[reg]))
            if all(function.regions[at].kind in _ENTERED for at in around):
                # What a comprehension goes over is taken to have elements.
                yield function.index, next((at for at in around if function.regions[at].kind != _DISPLAY), 0), reg


def _given(function: Function, unbound: set[Reg]) -> Iterator[Reg]:
    """What is called with something that raises when it is read: it is never called."""
    for reg in function.lookup.of(p.Call) if unbound else ():
        made = function.code[reg]
        if isinstance(made, p.Call) and not unbound.isdisjoint((*made.args, *(one for _, one in made.keywords))):
            yield made.function


def _unbound(file: FilePlacement, function: Function, made: object, bound: set[str]) -> bool:
    if not isinstance(made, p.Outer) or made.name in bound:
        return False
    return find(file.program, function, made.name) is None and not file.names.free(made.name)


def _misfit(file: FilePlacement, placed: Placed, reg: Reg) -> p.Call | None:
    """A call of a function or class of the project with arguments that it does not take; None for other calls."""
    made = placed.function.code[reg]
    found = file.located(placed.calls[reg]) if isinstance(made, p.Call) else None
    if not isinstance(made, p.Call) or found is None:
        return None
    functions = found[0].program.functions
    callee, parameters = functions[found[1]], functions[found[1]].parameters
    if callee.name == "__init__" and functions[callee.parent].kind == "class":
        # Which class `super()` means is not known, nor what a decorator or a base makes of a class.
        own = file.names.resolved(placed.values[made.function].name) == ident(found[0].key, callee.parent)
        refused = own and not functions[callee.parent].decorators and _refuses(callee, parameters[1:], made)
    else:
        refused = not callee.parent and _refuses(callee, parameters, made)
    return made if refused else None


def _refuses(callee: Function, parameters: Sequence[Parameter], call: p.Call) -> bool:
    """True where Python raises a TypeError for the arguments of a call: a keyword that is none of a function's, more
    arguments than it has parameters, or too few. What decorators make of it is not known, nor which method of a name is
    called."""
    if callee.kind != "function" or callee.decorators or any(call.stars):
        return False
    kinds, names, given = {one.kind for one in parameters}, [one.name for one in parameters], dict(call.keywords)
    places = [one.name for one in parameters if one.kind == "positional"]
    unknown = any(key and key not in names for key in given) and "double_star" not in kinds
    many = len(call.args) > len(places) and "star" not in kinds
    filled = {*places[: len(call.args)], *given}
    left = (one.name for one in parameters if one.kind in ("positional", "keyword") and not one.default)
    return unknown or many or ("" not in given and any(name not in filled for name in left))


def _offered(file: FilePlacement) -> Iterator[str]:
    """What a package's `__init__.py` brings from its modules: those names that are no one's own."""
    project = file.project
    if project is None or os.path.basename(file.key) != "__init__.py":
        return
    module = file.program.functions[0]
    for slot, name in file.names.bindings(0).items():
        target = file.names.resolved(name)
        if split(target) is not None and not module.slot_names[slot].startswith("_"):
            yield target
    for star in project.stars(file.names):
        yield from project.public(star, file.key)
