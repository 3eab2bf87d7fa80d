"""Methods by nothing but their name, for calls of objects of which nothing is known."""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.callgraph.names import ident
from transferlint.knowledge.torch import TENSOR_ONLY
from transferlint.syntax.program import Program

_FEW = 3  # methods of one name: of more, a call by that name tells of none
_BUILTIN = frozenset(name for kind in (list, dict, set, str, bytes, int, float, tuple) for name in dir(kind))


def methods_of(programs: Iterable[tuple[str, Program]]) -> dict[str, tuple[str, ...]]:
    """The idents of the methods of a name, of those names that neither tensors nor the types of Python have; `programs`
    come with their files' keys."""
    found: dict[str, list[str]] = {}
    for key, program in programs:
        functions = program.functions
        for function in functions:
            if function.kind == "function" and function.parent >= 0 and functions[function.parent].kind == "class":
                found.setdefault(function.name, []).append(ident(key, function.index))
    return {
        name: tuple(sorted(idents))
        for name, idents in found.items()
        if name not in _BUILTIN and not name.startswith("__") and name not in TENSOR_ONLY
    }


def few(idents: tuple[str, ...]) -> tuple[str, ...]:
    """The methods of a name where that tells which may be meant: there are few."""
    return idents if len(idents) <= _FEW else ()
