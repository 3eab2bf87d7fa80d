"""A whole project: its modules, what their names stand for, and the files of it that have been placed.

Files are placed when somebody asks: a function when it is called, a class's constructor when one of its attributes is
read. Names that cannot be resolved stay unknown; none is guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from transferlint.flow.heat import HeatMap
from transferlint.flow.modules import ModuleIndex
from transferlint.flow.names import ClassInfo, split
from transferlint.flow.options import AnalysisOptions
from transferlint.flow.placement import FilePlacement, Placed
from transferlint.flow.values import Value
from transferlint.syntax.program import Program

_HOPS = 8  # re-exports that are followed


class Project:
    """The programs of a project by path, the index of its modules, and (for words) the offsets at which lines begin.
    `depth` counts functions being placed."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        index: ModuleIndex,
        options: AnalysisOptions,
        lines: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.programs = programs
        self.lines = lines or {}
        self.index = index
        self.options = options
        self.depth = [0]
        self._placements: dict[str, FilePlacement] = {}
        self._making: set[str] = set()
        self._names: dict[tuple[str, str], str] = {}
        self._linked: dict[str, tuple[FilePlacement, list[Placed], HeatMap]] = {}
        self._found: dict[tuple[str, str], tuple[str, str] | None] = {}

    def linked(self, key: str) -> tuple[FilePlacement, list[Placed], HeatMap]:
        """A file of the project placed, with the heat that calls from all files give it."""
        if not self._linked:
            self.link()
        return self._linked[key]

    def link(self) -> None:
        """Place every file, then pass heat along the calls between files until nothing gets hotter."""
        linked: dict[str, tuple[FilePlacement, list[Placed], HeatMap]] = {}
        for key in sorted(self.programs):
            owner = self.placement(key)
            assert owner is not None
            owner.run()
        for key in sorted(self.programs):
            owner = self._placements[key]
            placed = owner.again()
            linked[key] = owner, placed, HeatMap(owner, placed)
        work = sorted(linked)
        while work:
            following: set[str] = set()
            for key in work:
                heat = linked[key][2]
                for caller, reg, target, index in heat.outgoing:
                    if target in linked and linked[target][2].receive(index, heat.at(caller, reg), (key, caller, reg)):
                        following.add(target)
            work = sorted(following)
            for key in work:
                linked[key][2].spread()
        self._linked = linked

    def describe(self, key: str, function: int, reg: int) -> str:
        """A place of another file in words: "`Trainer.step` (train.py:88)"."""
        owner = self.programs[key].functions[function]
        node, lines = owner.nodes[reg], self.lines.get(key)
        line = f":{bisect_right(lines, node[0])}" if lines and isinstance(node, tuple) else ""
        return f"`{owner.qualname}` ({key}{line})"

    def placement(self, key: str) -> FilePlacement | None:
        """The placement of a file of the project; None for files that are not in it, and while it is being set up."""
        known = self._placements.get(key)
        if known is not None or key in self._making or key not in self.programs:
            return known
        self._making.add(key)
        known = self._placements[key] = FilePlacement(self.programs[key], self.options, self)
        self._making.discard(key)
        return known

    def class_info(self, name: str) -> ClassInfo | None:
        """A class by its ident."""
        place = split(name)
        owner = self.placement(place[0]) if place is not None else None
        return owner.classes.get(place[1]) if owner is not None and place is not None else None

    def resolve(self, name: str, asking: str) -> str:
        """The ident of the function or class that a dotted name stands for, "" where it is none of the project's."""
        known = self._names.get((name, asking))
        if known is None:
            known = self._names[name, asking] = self._resolve(name, asking, _HOPS)
        return known

    def _resolve(self, name: str, asking: str, hops: int) -> str:
        found = self._module(name, asking)
        owner = self.placement(found[0]) if found is not None else None
        if found is None or owner is None or not found[1] or hops == 0:
            return ""
        first, _, rest = found[1].partition(".")
        slot = owner.program.functions[0].slots.get(first)
        bound = owner.names.bound(0, slot) if slot is not None else ""
        if not bound:
            return self._star(owner, found[1], hops)
        if "#" not in bound:
            return self._resolve(f"{bound}.{rest}" if rest else bound, owner.key, hops - 1)
        if not rest:
            return bound
        info = self.class_info(bound)
        return info.methods.get(rest, "") if info is not None else ""

    def _star(self, owner: FilePlacement, rest: str, hops: int) -> str:
        """A name that `from module import *` may have brought: where exactly one such module has it."""
        hits = set()
        for made in owner.names.stars:
            hit = self._resolve(f"{made}.{rest}", owner.key, hops - 1)
            if hit:
                hits.add(hit)
        return hits.pop() if len(hits) == 1 else ""

    def variable(self, name: str, asking: str) -> Value | None:
        """What a module binds to a variable; None where the name is a module, function, class or nothing known."""
        found = self._module(name, asking)
        owner = self.placement(found[0]) if found is not None else None
        if found is None or owner is None or not found[1] or "." in found[1] or owner.key == asking:
            return None
        module = owner.program.functions[0]
        slot = module.slots.get(found[1])
        if slot is None or owner.names.bound(0, slot):
            return None
        return owner.global_value(slot)

    def _module(self, name: str, asking: str) -> tuple[str, str] | None:
        known = self._found.get((name, asking), ())
        if known == ():
            known = self._found[name, asking] = self.index.find(name, asking)
        return known or None
