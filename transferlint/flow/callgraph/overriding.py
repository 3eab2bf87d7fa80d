"""Which methods of the checked source override which."""

from __future__ import annotations

from collections.abc import Iterable

from transferlint.flow.callgraph.names import ClassInfo, ident
from transferlint.flow.callgraph.source_file import SourceFile
from transferlint.syntax.program import Function

# For a method (ident): those that override it, each with the class (ident) of its own and all of that class's bases.
Overriding = dict[str, list[tuple[str, frozenset[str]]]]


def overrides(files: Iterable[SourceFile]) -> Overriding:
    """What overrides the methods of these files' classes, in order."""
    found: Overriding = {}
    for file in files:
        members: dict[int, list[Function]] = {}
        for function in file.program.functions:
            if function.kind == "function":
                members.setdefault(function.parent, []).append(function)
        for info in file.classes.values():
            above = _above(file, info)
            family = frozenset({ident(file.key, info.index), *above})
            for method in members.get(info.index, ()):
                own = ident(file.key, method.index)
                known = {parent.methods.get(method.name, own) for parent in above.values()}
                for base in known - {own}:
                    found.setdefault(base, []).append((own, family))
    return {name: sorted(methods, key=lambda one: one[0]) for name, methods in found.items()}


def _above(file: SourceFile, info: ClassInfo) -> dict[str, ClassInfo]:
    """All classes of the checked source that a class derives from."""
    found: dict[str, ClassInfo] = {}
    pending = list(info.bases)
    while pending:
        base = pending.pop()
        parent = file.info_of(base) if base not in found else None
        if parent is not None:
            found[base] = parent
            pending.extend(parent.bases)
    return found
