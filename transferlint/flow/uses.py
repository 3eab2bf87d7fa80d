"""What the code of a file uses: the functions it calls and how often, and the functions and classes that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.call_edges import CallEdges
from transferlint.flow.callees import by_name
from transferlint.flow.names import ident, split
from transferlint.flow.values import MODULE, OBJECT, UNKNOWN
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

if TYPE_CHECKING:
    from transferlint.flow.placement import FilePlacement, Placed

# How often a place runs: in a loop, as often as its function, or rarely.
LOOP, BODY, RARELY = "loop", "body", "rarely"
_NO_USES = frozenset({"builtins.isinstance", "builtins.issubclass", "builtins.super"})


@late.dataclass(frozen=True, slots=True)
class Uses:
    """Of one file: its `calls` (caller, ident, whether behind the main guard, how often), its `mentions` of functions
    and classes of the project (function, whether behind the guard, ident), the methods
    that are `named`, of whatever but `self` (function, name), and what it, as the `__init__.py` of a package, has been
    `offered` by its modules."""

    calls: tuple[tuple[int, str, bool, str], ...]
    mentions: tuple[tuple[int, bool, str], ...]
    named: frozenset[tuple[int, str]]
    offered: frozenset[str]


def uses_of(
    file: FilePlacement,
    placed: Iterable[Placed],
    edges: CallEdges,
    methods: Mapping[str, tuple[str, ...]],
    often: Callable[[int, Reg], str],
) -> Uses:
    """The uses of a file with these calls, and those of modules that only the method's name tells of (`methods`: the
    idents by name); `often` says how often a place runs."""
    calls: set[tuple[int, str, bool, str]] = set()
    for caller, reg, callee in (*edges.calls, *edges.lent):
        calls.add((caller, ident(file.key, callee), guarded(file, caller, reg), often(caller, reg)))
    for caller, reg, target, index in (*edges.outgoing, *edges.maybe):
        calls.add((caller, ident(target, index), guarded(file, caller, reg), often(caller, reg)))
    for one in placed:
        for reg, name in by_name(one, methods, UNKNOWN | OBJECT | MODULE):
            caller = one.function.index
            calls.add((caller, name, guarded(file, caller, reg), often(caller, reg)))
    mentions: set[tuple[int, bool, str]] = set()
    for function in file.program.functions:
        for reg, target in _mentioned(file, function):
            mentions.add((function.index, guarded(file, function.index, reg), target))
    return Uses(
        tuple(sorted(calls)), tuple(sorted(mentions)), frozenset(_named(file, methods)), frozenset(_offered(file))
    )


def guarded(file: FilePlacement, function: int, reg: Reg) -> bool:
    """True for a place behind `if __name__ == "__main__":`."""
    owner = file.program.functions[function]
    if owner.kind != "module":
        return False
    at = owner.lookup.regions[reg]
    while at > 0:
        region = owner.regions[at]
        if region.kind == "then" and region.test is not None and _asks_for_main(owner, region.test):
            return True
        at = region.parent
    return False


def _asks_for_main(function: Function, test: Reg) -> bool:
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators != ("==",):
        return False
    sides = [function.code[side] for side in made.operands]
    return p.Outer("__name__") in sides and p.Const("__main__") in sides


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
    for reg in function.lookup.of(p.Outer, p.Load, p.Attr):
        name = names.dotted(function, reg) if reg not in left_out else ""
        target = names.resolved(name) if name else ""
        if split(target) is not None:
            yield reg, target


def _named(file: FilePlacement, methods: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[int, str]]:
    """The methods that are read of anything but `self`, each with the function that does."""
    for function in file.program.functions:
        for reg in function.lookup.of(p.Attr):
            made = function.code[reg]
            owner = function.code[made.object] if isinstance(made, p.Attr) and made.name in methods else None
            own = isinstance(owner, p.Load) and function.slot_names[owner.slot] == "self"
            if owner is not None and isinstance(made, p.Attr) and not own:
                yield function.index, made.name


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
