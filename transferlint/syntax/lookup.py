"""Where the code of a function does what: found in one pass, instead of one for each question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferlint.syntax.program import Function, Reg, Slot


_NONE: list[int] = []  # nobody may change it


class Lookup:
    """The registers of a function by what stands there, each list in program order; nobody may change them.

    `regions[r]` is the region that register r stands in, `under[n]` the regions directly in region n, `within[n]` the
    blocks of region n itself. `kept` is for whoever works out more of a function once.
    """

    __slots__ = ("_code", "_kinds", "_names", "_registers", "_slots", "_spans", "kept", "regions", "under", "within")

    def __init__(self, function: Function) -> None:
        self._code = function.code
        self._kinds: dict[type, list[Reg]] | None = None
        # Only of the kinds that were asked about: one list for each variable is a large part of what a project takes.
        self._slots: dict[type, dict[Slot, list[Reg]]] = {}
        self._names: dict[type, dict[str, list[Reg]]] = {}
        self.kept: dict[Any, Any] = {}
        self._spans = [(block.start, block.end) for block in function.blocks]
        self._registers: dict[int, tuple[Reg, ...]] = {}
        self.regions = [0] * len(function.code)
        self.within: list[list[int]] = [[] for _ in function.regions]
        for number, block in enumerate(function.blocks):
            self.regions[block.start : block.end] = [block.region] * (block.end - block.start)
            self.within[block.region].append(number)
        self.under: list[list[int]] = [[] for _ in function.regions]
        for number, region in enumerate(function.regions):
            if 0 <= region.parent != number:
                self.under[region.parent].append(number)

    def _of(self, kind: type) -> list[Reg]:
        if self._kinds is None:
            self._kinds = {}
            for reg, made in enumerate(self._code):
                self._kinds.setdefault(type(made), []).append(reg)
        return self._kinds.get(kind, _NONE)

    def of(self, *kinds: type) -> list[Reg]:
        """The registers of these kinds of instructions."""
        if len(kinds) == 1:
            return self._of(kinds[0])
        return sorted(reg for kind in kinds for reg in self._of(kind))

    def about(self, kind: type, slot: Slot) -> list[Reg]:
        """The loads, stores or deletions (`kind`) of a variable."""
        known = self._slots.get(kind)
        if known is None:
            known = self._slots[kind] = {}
            for reg in self._of(kind):
                known.setdefault(getattr(self._code[reg], "slot"), []).append(reg)  # noqa: B009
        return known.get(slot, _NONE)

    def named(self, kind: type, name: str) -> list[Reg]:
        """The reads (`Attr`) or assignments (`SetAttr`) of attributes of a name, or those of outer names."""
        known = self._names.get(kind)
        if known is None:
            known = self._names[kind] = {}
            for reg in self._of(kind):
                known.setdefault(getattr(self._code[reg], "name"), []).append(reg)  # noqa: B009
        return known.get(name, _NONE)

    def blocks(self, region: int) -> list[int]:
        """The blocks within a region and those it encloses, in program order."""
        found: list[int] = []
        pending = [region]
        while pending:
            at = pending.pop()
            found += self.within[at]
            pending += self.under[at]
        return sorted(found)

    def registers(self, region: int) -> tuple[Reg, ...]:
        """The registers within a region and those it encloses, in program order; worked out once."""
        found = self._registers.get(region)
        if found is None:
            spans = sorted(self._spans[block] for block in self.blocks(region))
            found = self._registers[region] = tuple(reg for start, end in spans for reg in range(start, end))
        return found
