"""One file of the checked source, as far as its own text goes: its names, its classes and what these derive from."""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterator

from transferlint.flow.callgraph.names import ClassInfo, Names
from transferlint.flow.callgraph.targets import Targets
from transferlint.syntax.program import Function, Program

_BASES = 12


class SourceFile(abc.ABC):
    """A program, `key` being its path, with its names and its classes by the index of their bodies."""

    key: str
    program: Program
    names: Names
    classes: dict[int, ClassInfo]
    _families: dict[tuple[str, int], tuple[ClassInfo, ...]]

    @abc.abstractmethod
    def located(self, name: str) -> tuple[SourceFile, int] | None:
        """The file and the index of a function or class by its ident; None for other names and unknown files."""

    @functools.cached_property
    def targets(self) -> Targets:
        """Which functions the tables of the file hold."""
        return Targets(self.program)

    def info_of(self, name: str) -> ClassInfo | None:
        """A class by its ident."""
        found = self.located(name)
        return found[0].classes.get(found[1]) if found is not None else None

    def class_of(self, function: Function) -> ClassInfo | None:
        """The class whose `self` the function (or the method it stands in) sees."""
        at = function
        while at.parent >= 0:
            if at.parent in self.classes:
                return self.classes[at.parent]
            at = self.program.functions[at.parent]
        return None

    def family(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """A class and its bases of the checked source, the nearest first."""
        known = self._families.get((info.key, info.index))
        if known is None:
            known = self._families[info.key, info.index] = tuple(self._and_bases(info))
        return known

    def _and_bases(self, info: ClassInfo) -> Iterator[ClassInfo]:
        level, seen = [info], {(info.key, info.index)}
        for _ in range(_BASES + 1):
            yield from level
            following: list[ClassInfo] = []
            for base in (base for one in level for base in one.bases):
                parent = self.info_of(base)
                if parent is not None and (parent.key, parent.index) not in seen:
                    seen.add((parent.key, parent.index))
                    following.append(parent)
            level = following
