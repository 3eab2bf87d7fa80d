"""A project that is put together again after a file of it changed, with the same outcome as from nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.callgraph.overriding import Overriding
from transferlint.flow.frequency.heat import HeatMap
from transferlint.flow.incremental.changes import differing, rebound, redeclared, rewritten, visible
from transferlint.flow.incremental.replay import TracedFiles, TracedPlacement
from transferlint.flow.incremental.touched import touched
from transferlint.flow.incremental.traces import Traces, Unforeseen
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placement import FilePlacement
from transferlint.syntax.program import Program

# What overrides methods, and the methods by name.
_Dispatch = tuple[Overriding, Mapping[str, tuple[str, ...]]]


class TracedProject(TracedFiles):
    """`Project` that takes over from one before what went there as it goes here; the arguments are those of `Project`.
    That one is not to be used any more."""

    keeps = True

    def __init__(
        self,
        programs: Mapping[str, Program],
        index: ModuleIndex,
        options: AnalysisOptions,
        lines: Callable[[str], Sequence[int]] | None = None,
        entered: Iterable[str] | None = None,
        own: Mapping[str, AnalysisOptions] | None = None,
        before: TracedProject | None = None,
    ) -> None:
        super().__init__(programs, index, options, lines, entered, own)
        self.traces = Traces()
        self._known: dict[str, FilePlacement] = {}
        self._heats: dict[str, HeatMap] = {}
        self._dispatched: _Dispatch | None = None
        self._touched: set[str] | None = None
        self._rebuilt = False  # a constructor is declared otherwise, which subclasses look at
        self._asked = (options, dict(own or {}), tuple(self.entered))
        if before is not None and not self._takes_over(before):
            super().__init__(programs, index, options, lines, entered, own)
            self.traces = Traces()
            self._known = {}
            self._heats = {}
            self._dispatched = None

    def known(self, key: str) -> FilePlacement | None:
        """The placement of a file in the project before."""
        return self._known.get(key)

    def turns(self, key: str) -> list[set[int]]:
        """The functions of a file that were placed again in the project before, in each turn."""
        known = self._known.get(key)
        return known.turns if isinstance(known, TracedPlacement) else []

    def traced(self, key: str) -> TracedPlacement:
        """The placement of a file that is in the project."""
        found = self.placement(key)
        if not isinstance(found, TracedPlacement):
            raise Unforeseen
        return found

    def link(self) -> None:
        """See `Project`. What was taken over is not asked for any more then."""
        super().link()
        self._known, self._heats = {}, {}
        self.traces.known = {}

    def _begun(self, key: str) -> FilePlacement:
        return TracedPlacement(self.programs[key], self._own.get(key, self.options), self)

    def _dispatch(self) -> _Dispatch:
        if self._dispatched is None:
            self._dispatched = super()._dispatch()
        return self._dispatched

    def _heat(self, file: FilePlacement, placed: list[Placed], by: _Dispatch) -> HeatMap:
        if self._touched is None:
            self._touched = touched(self._known, self._placements, self.traces.changed, by[0])
        return HeatMap(file, placed, *by, self._heats.get(file.key), self._rebuilt or file.key in self._touched)

    def _takes_over(self, before: TracedProject) -> bool:
        """Take over what was found out about files, and traces; False where too much changed for that."""
        if self.index is not before.index or self._asked != before._asked:
            return False
        if self.programs.keys() != before.programs.keys():
            return False
        self._names, self._stars, self._found = before._names, before._stars, before._found
        self._known = before._placements
        self._heats = {key: heat for key, (_, _, heat) in before._linked.items()}
        self._dispatched = before._dispatched
        self.traces.known = before.traces.made
        for key, old in before._placements.items():
            if self.programs[key] is old.program:
                continue
            now = self.placement(key)
            if now is None or list(visible(old)) != list(visible(now)) or self._is_asked_for(key, rebound(old, now)):
                return False
            heads = redeclared(old, now)
            self._rebuilt |= any(now.program.functions[index].name == "__init__" for index in heads)
            code = rewritten(old, now)
            for function in now.program.functions:
                if function.index not in code | heads:
                    function.share(old.program.functions[function.index])
            self.traces.change(key, differing(old, now, code, heads), heads)
        return True

    def _is_asked_for(self, key: str, names: set[str]) -> bool:
        """Whether any file has looked up one of these names of a module, or imports all of them."""
        if not names:
            return False
        places = (place for place in self._found.values() if place is not None)
        if any(path == key and rest.partition(".")[0] in names for path, rest in places):
            return True
        whole = ((star, one.key) for one in self._known.values() for star in one.names.stars)
        return any(self._module(star, asking) == (key, "") for star, asking in whole)
