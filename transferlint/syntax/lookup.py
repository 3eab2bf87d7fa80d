"""Where the code of a function does what: found in one pass, instead of one for each question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transferlint.syntax.regions import Block, Region

_NONE: list[int] = []  # nobody may change it


class Lookup:
    """The registers of a function by what stands there, each list in program order; nobody may change them.

    `regions[r]` is the region that register r stands in. `kept` is for whoever works out more of a function once.
    """

    __slots__ = (
        "_blocks", "_code", "_kinds", "_names", "_registers", "_several", "_slots", "_tree", "_under", "_within",
        "kept", "regions",
    )  # fmt: skip

    def __init__(self, code: Sequence[object], blocks: list[Block], regions: list[Region]) -> None:
        self._code = code
        self._kinds: dict[type, list[int]] | None = None
        self._several: dict[tuple[type, ...], list[int]] = {}
        # Only of the kinds that were asked about: one list for each variable is a large part of what a project takes.
        self._slots: dict[type, dict[int, list[int]]] = {}
        self._names: dict[type, dict[str, list[int]]] = {}
        self.kept: dict[Any, Any] = {}
        self._blocks = blocks
        self._tree = regions
        self._registers: dict[int, tuple[int, ...]] = {}
        self.regions = [0] * len(code)
        for block in blocks:
            self.regions[block.start : block.end] = [block.region] * (block.end - block.start)
        self._within: list[list[int]] | None = None
        self._under: list[list[int]] | None = None

    @property
    def within(self) -> list[list[int]]:
        """By region, its own blocks."""
        if self._within is None:
            self._within = [[] for _ in self._tree]
            for number, block in enumerate(self._blocks):
                self._within[block.region].append(number)
        return self._within

    @property
    def under(self) -> list[list[int]]:
        """By region, the regions directly in it."""
        if self._under is None:
            self._under = [[] for _ in self._tree]
            for number, region in enumerate(self._tree):
                if 0 <= region.parent != number:
                    self._under[region.parent].append(number)
        return self._under

    def _of(self, kind: type) -> list[int]:
        if self._kinds is None:
            kinds: dict[type, list[int]] = {}
            self._kinds = kinds
            for reg, made in enumerate(self._code):
                of = type(made)
                if of in kinds:
                    kinds[of].append(reg)
                else:
                    kinds[of] = [reg]
        return self._kinds.get(kind, _NONE)

    def of(self, *kinds: type) -> list[int]:
        """The registers of these kinds of instructions."""
        if len(kinds) == 1:
            return self._of(kinds[0])
        found = self._several.get(kinds)
        if found is None:
            found = self._several[kinds] = sorted(reg for kind in kinds for reg in self._of(kind))
        return found

    def about(self, kind: type, slot: int) -> list[int]:
        """The loads, stores or deletions (`kind`) of a variable."""
        known = self._slots.get(kind)
        if known is None:
            known = self._slots[kind] = {}
            for reg in self._of(kind):
                known.setdefault(getattr(self._code[reg], "slot"), []).append(reg)  # noqa: B009
        return known.get(slot, _NONE)

    def named(self, kind: type, name: str) -> list[int]:
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
        within, under = self.within, self.under
        while pending:
            at = pending.pop()
            found += within[at]
            pending += under[at]
        return sorted(found)

    def registers(self, region: int) -> tuple[int, ...]:
        """The registers within a region and those it encloses, in program order; worked out once."""
        found = self._registers.get(region)
        if found is None:
            spans = sorted((self._blocks[number].start, self._blocks[number].end) for number in self.blocks(region))
            found = self._registers[region] = tuple(reg for start, end in spans for reg in range(start, end))
        return found
