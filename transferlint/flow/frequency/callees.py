"""Callees by nothing but a method's name: what an unresolved call may reach, for how often it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transferlint.flow.callgraph.names import ident
from transferlint.flow.lattice.values import MODULE, OBJECT, UNKNOWN
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placement import FilePlacement
from transferlint.knowledge.torch import TENSOR_ONLY
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

# What a receiver may be of which nothing is known: what is called `model` is taken for a module.
_UNTOLD = UNKNOWN | OBJECT | MODULE
_FEW = 3  # methods of one name: of more, a call by that name tells of none
_BUILTIN = frozenset(name for kind in (list, dict, set, str, bytes, int, float, tuple) for name in dir(kind))


def methods_by_name(files: Iterable[FilePlacement]) -> dict[str, tuple[str, ...]]:
    """The idents of the methods of a name, of those names that neither tensors nor the types of Python have."""
    found: dict[str, list[str]] = {}
    for file in files:
        for info in file.classes.values():
            for function in file.program.functions:
                if function.parent == info.index and function.kind == "function":
                    found.setdefault(function.name, []).append(ident(file.key, function.index))
    return {
        name: tuple(sorted(idents))
        for name, idents in found.items()
        if name not in _BUILTIN and not name.startswith("__") and name not in TENSOR_ONLY
    }


def few(idents: tuple[str, ...]) -> tuple[str, ...]:
    """The methods of a name where that tells which may be meant: there are few."""
    return idents if len(idents) <= _FEW else ()


def by_name(placed: Placed, methods: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Reg, str]]:
    """The calls of a function whose receiver is not known, each with the methods that its name may mean, where these
    are few."""
    for reg, method in unresolved(placed, methods):
        yield from ((reg, name) for name in few(methods[method]))


def unresolved(placed: Placed, methods: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Reg, str]]:
    """The calls of a function whose receiver is not known, with the method's name."""
    code = placed.function.code
    for reg in placed.function.lookup.of(p.Call):
        made = code[reg]
        callee = code[made.function] if isinstance(made, p.Call) and reg not in placed.calls else None
        if isinstance(callee, p.Attr) and callee.name in methods:
            receiver = placed.values[callee.object]
            if receiver.is_a(_UNTOLD) and not receiver.name:
                yield reg, callee.name
