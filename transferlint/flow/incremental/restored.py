"""A project of which most is taken from what was written down of it, and only what is asked for is placed again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transferlint import late
from transferlint.flow.callgraph.callers import Callers, Site
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.callgraph.names import ClassInfo, find
from transferlint.flow.callgraph.overriding import Overriding
from transferlint.flow.callgraph.roles import Role
from transferlint.flow.frequency.heat import HeatMap
from transferlint.flow.incremental.recorded import FileRecord, Head, Seen
from transferlint.flow.incremental.script import Script
from transferlint.flow.incremental.traces import (
    ATTRIBUTE,
    CALLED,
    FLAG,
    GLOBAL,
    LEARNT,
    OUTER,
    PLACE,
    SET,
    SET_FLAG,
    STORE,
    TELL,
    Event,
    Trace,
    Unforeseen,
    as_seen,
)
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import ANYWHERE, NAME, NOTHING, Value
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placement import FLAGS, FilePlacement
from transferlint.flow.project import Project
from transferlint.syntax.program import Function, Parameter, Program, Reg, Slot

# What overrides methods, and the methods by name.
Dispatch = tuple[Overriding, Mapping[str, tuple[str, ...]]]


class RestoredProject(Project):
    """`Project` of programs of which `record` has what was written down (None for a file of which nothing was).
    `instead` has, by file and index, what functions were placed as now (each time), where others see that they changed;
    `traces` those of all functions that were placed again; `moved`, of those whose code `changed`, the registers of
    calls that are other ones now; `retold` are the functions that give others something else; `unheard` the parameters
    (file, function) that are something else by themselves now, with what, of which callers had told nothing yet;
    `heads` the files of the functions whose heads were looked up, with these and who did."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        index: ModuleIndex,
        options: AnalysisOptions,
        lines: Callable[[str], Sequence[int]],
        own: Mapping[str, AnalysisOptions],
        record: Callable[[str], FileRecord | None],
    ) -> None:
        super().__init__(programs, index, options, lines, (), own)
        self.record = functools.cache(record)
        self.script: Script | None = None
        self.instead: dict[tuple[str, int], list[Placed]] = {}
        self.traces: dict[tuple[str, int], list[Trace]] = {}
        self.changed: set[tuple[str, int]] = set()
        self.moved: dict[tuple[str, int], dict[Reg, Reg]] = {}
        self.retold: set[tuple[str, int]] = set()
        self.unheard: list[tuple[str, int, Parameter, Value]] = []
        self.heads: set[tuple[str, Head]] = set()
        self.placing: tuple[str, int] | None = None

    def link(self) -> None:
        """Everything is linked that is asked for: whatever else raises Unforeseen."""
        raise Unforeseen

    def linked(self, key: str) -> tuple[FilePlacement, list[Placed], HeatMap]:
        """See `Project`; of files whose heat was taken up (`take_up`)."""
        if key not in self._linked:
            raise Unforeseen
        return self._linked[key]

    def take_up(self, key: str, placed: list[Placed], heat: HeatMap) -> None:
        """Have a file linked."""
        owner = self.restored(key)
        self._linked[key] = owner, placed, heat

    def restored(self, key: str) -> RestoredPlacement:
        """The placement of a file that is in the project."""
        found = self.placement(key)
        if not isinstance(found, RestoredPlacement):
            raise Unforeseen
        return found

    def _begun(self, key: str) -> FilePlacement:
        return RestoredPlacement(self.programs[key], self._own.get(key, self.options), self)

    def tell(self, event: Event) -> None:
        """What the function that is being placed tells others."""
        if self.script is None:
            raise Unforeseen
        self.script.tell(event)

    def site(self, site: Site) -> Site:
        """Where a call stands now. Raises Unforeseen."""
        moved = self.moved.get(site[:2], {})
        if site[:2] not in self.changed:
            return site
        if site[2] not in moved:
            raise Unforeseen
        return site[0], site[1], moved[site[2]]


class RestoredPlacement(FilePlacement):
    """`FilePlacement` whose questions are answered from what was written down."""

    def __init__(self, program: Program, options: AnalysisOptions, project: RestoredProject) -> None:
        self._whole = project
        self._deriving: set[int] = set()
        super().__init__(program, options, project)
        self.callers = RestoredCallers(self.key, project)
        self._told = True

    @property
    def record(self) -> FileRecord:
        """What was written down of the file. Raises Unforeseen where nothing was."""
        found = self._whole.record(self.key)
        if found is None:
            raise Unforeseen
        return found

    def old(self, index: int) -> list[Trace]:
        """The traces of a function, of each time that it was placed before."""
        return self.record.traces.get(index, [])

    def seen_before(self, index: int, turn: int) -> Placed | None:
        """What callers saw of a function, one of the times that it was placed."""
        seen = self.record.seen[index][turn]
        return _as_placed(self.program.functions[index], seen) if seen is not None else None

    def follow(self, index: int, trace: Trace) -> Script:
        """Place a function with the answers of a trace. What comes of it is in the new trace, the last of `traces`."""
        above = self._whole.script, self._whole.placing
        script = self._whole.script = Script(trace, self._settled, self._instead)
        self._whole.placing = self.key, index
        (self._leaning.add if trace.leant else self._leaning.discard)(index)
        try:
            placed = super()._placed(index)
        finally:
            self._whole.script, self._whole.placing = above
        made = late.replace(
            trace, role=self.roles[index], events=script.events, placed=placed, stored=self._bound[index],
            leans=index in self._leaning,
        )  # fmt: skip
        self._whole.traces.setdefault((self.key, index), []).append(made)
        return script

    def located(self, name: str) -> tuple[FilePlacement, int] | None:
        """See `FilePlacement`."""
        found = super().located(name)
        if found is not None:
            self._note_head(found[0].key, found[1])
            self._whole.look(found[0].key, found[1])
        return found

    def _overridden(self, index: int) -> Sequence[tuple[FilePlacement, int]]:
        found = super()._overridden(index)
        for owner, above in found:
            self._note_head(owner.key, above)
        return found

    def _note_head(self, key: str, index: int) -> None:
        placing = self._whole.placing
        if placing is not None and key != placing[0]:
            self._whole.heads.add((key, (index, *placing)))

    def known(self, index: int) -> Placed | None:
        """A function as it was placed in the end, which it is again when it is asked for."""
        return self.derived(index) if self.old(index) else None

    def derived(self, index: int) -> Placed:
        """A function as it was placed in the end; while that is worked out (functions that ask for each other), as its
        callers saw it. Raises Unforeseen where it was not placed."""
        known = self._whole.traces.get((self.key, index))
        if not known:
            traces = self.old(index)
            if not traces:
                raise Unforeseen
            if index in self._deriving:
                return self._seen_last(index)
            self._deriving.add(index)
            try:
                self.follow(index, traces[-1])
            finally:
                self._deriving.discard(index)
            known = self._whole.traces[self.key, index]
        placed = known[-1].placed
        assert placed is not None
        return placed

    def _seen_last(self, index: int) -> Placed:
        seen = self.seen_before(index, len(self.record.seen[index]) - 1)
        if seen is None:
            raise Unforeseen
        return seen

    def _instead(self, key: str, index: int, known: object) -> Placed | None:
        """What a caller sees of a function now; `known` is what it saw before."""
        if known is None:
            if (key, index) in self._whole.instead:
                raise Unforeseen  # it was asked for while it was being placed
            return None
        owner = self._whole.restored(key)
        now = self._whole.instead.get((key, index))
        if isinstance(known, Placed):
            return known
        assert isinstance(known, Seen)
        seen = _as_placed(owner.program.functions[index], known)
        if now is None:
            return seen
        before = (owner.seen_before(index, turn) for turn in range(len(now)))
        meant = [one for one, end in zip(now, before, strict=True) if as_seen(end, seen)]
        if not meant or not all(as_seen(one, meant[-1]) for one in meant):
            raise Unforeseen
        return meant[-1]

    def _settled(self, event: Event) -> Any:
        """The answer to what was not asked before: what a module binds once it is placed, what nobody sets, and what
        callers tell before all of them are placed, which is nothing (whether they would add to it later is looked at
        in the end)."""
        if event[0] == FLAG and not self.record.flagged:
            return FLAGS[event[2]]
        if event[0] == OUTER:
            return self._settled_outer(self.program.functions[event[2]], event[3])
        if event[0] == LEARNT and self._current is not None and self._current.early and len(self.old(event[2])) == 1:
            self._whole.unheard.append((self.key, *event[2:5]))
            return None
        raise Unforeseen

    def adds(self, index: int, given: Parameter, value: Value) -> bool:
        """Whether a parameter of a function that was placed once, which is this by itself, is something else by what
        its callers tell. Raises Unforeseen where what they tell was not the same all along."""
        for owner, at in ((self, index), *self._overridden(index)):
            for key, caller in owner.callers.functions(at):
                if len(self._whole.restored(key).old(caller)) != 1:
                    raise Unforeseen
        found = super().learnt(index, given, value)
        return found is not None and found != value

    def _settled_outer(self, function: Function, name: str) -> Value:
        bound = find(self.program, function, name)
        if bound is None:
            if self.names.stars:
                raise Unforeseen
            made = self.names.free(name)
            return Value(NAME, ANYWHERE, name=made) if made else NOTHING
        current = self._current
        if bound[0] != 0 or current is None or not current.ready:
            raise Unforeseen
        traces = self._whole.traces.get((self.key, 0)) or self.old(0)
        if len(traces) != 1 or len(self.old(0)) != 1 or (self.key, 0) not in self._whole.traces:
            raise Unforeseen
        found = traces[0].stored.get(bound[1])
        if found is not None:
            return found
        made = self.names.bound(*bound)
        return Value(NAME, ANYWHERE, name=made) if made else NOTHING

    _current: Trace | None = None

    def again(self) -> bool:
        """Nothing is placed again that nobody asks for."""
        raise Unforeseen

    def place_again(self, index: int) -> list[Script]:
        """Place a function with the answers of each time that it was placed before."""
        self._whole.traces.pop((self.key, index), None)
        found = []
        for trace in self.old(index):
            self._current = trace
            found.append(self.follow(index, trace))
        self._current = None
        return found

    def _ask(self, event: Event) -> Any:
        script = self._whole.script
        if script is None:
            raise Unforeseen
        return script.ask(event)

    def flag(self, name: str) -> int:
        """See `FilePlacement`."""
        return int(self._ask((FLAG, self.key, name)))

    def set_flag(self, name: str, value: int) -> None:
        """See `FilePlacement`."""
        self._whole.tell((SET_FLAG, self.key, name, value))

    def place(self, index: int) -> Placed | None:
        """See `FilePlacement`."""
        found: Placed | None = self._ask((PLACE, self.key, index))
        return found

    def outer(self, function: Function, name: str) -> Value:
        """See `FilePlacement`."""
        found: Value = self._ask((OUTER, self.key, function.index, name))
        return found

    def global_value(self, slot: Slot) -> Value | None:
        """See `FilePlacement`."""
        found: Value | None = self._ask((GLOBAL, self.key, self.program.functions[0].slot_names[slot]))
        return found

    def attribute(self, info: ClassInfo, name: str) -> Value | None:
        """See `FilePlacement`."""
        found: Value | None = self._ask((ATTRIBUTE, self.key, info.key, info.index, name))
        return found

    def learnt(self, index: int, given: Parameter, value: Value) -> Value | None:
        """See `FilePlacement`."""
        found: Value | None = self._ask((LEARNT, self.key, index, given, value))
        return found

    def store(self, index: int, name: str, value: Value) -> None:
        """See `FilePlacement`."""
        self._whole.tell((STORE, self.key, index, name, value))

    def set_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """See `FilePlacement`."""
        self._whole.tell((SET, self.key, info.index, name, value))


class RestoredCallers(Callers):
    """`Callers` of a file as they were in the end, with sites where they are now."""

    def __init__(self, key: str, project: RestoredProject) -> None:
        super().__init__()
        self._key = key
        self._project = project
        self._read = False

    def note(self, index: int, slot: Slot, clean: Value, site: Site) -> None:
        """See `Callers`."""
        self._project.tell((TELL, self._key, index, slot, clean, site))

    def called(self, index: int, site: Site, given: dict[str, Reg] | None) -> None:
        """See `Callers`."""
        self._project.tell((CALLED, self._key, index, site, given))

    def known(
        self,
    ) -> tuple[dict[int, dict[Slot, dict[Site, Value]]], dict[int, dict[Site, dict[str, Reg] | None]]]:
        """See `Callers`."""
        self._take_up()
        return super().known()

    def value(self, index: int, slot: Slot, site: Site) -> Value | None:
        """See `Callers`."""
        self._take_up()
        return super().value(index, slot, site)

    def joined(self, index: int, slot: Slot) -> Value | None:
        """See `Callers`."""
        self._take_up()
        return super().joined(index, slot)

    def each_hosted(self, index: int, slot: Slot) -> bool:
        """See `Callers`."""
        self._take_up()
        return super().each_hosted(index, slot)

    def functions(self, index: int) -> set[tuple[str, int]]:
        """See `Callers`."""
        self._take_up()
        return super().functions(index)

    def calls(self, index: int) -> dict[Site, dict[str, Reg] | None]:
        """See `Callers`."""
        self._take_up()
        return super().calls(index)

    def _take_up(self) -> None:
        """What all calls give, by where they stand now."""
        if self._read:
            return
        self._read = True
        project, record = self._project, self._project.record(self._key)
        if record is None:
            return
        told: dict[tuple[int, Site], dict[str, Reg] | None] = {}
        for place in project.changed:
            for trace in project.traces.get(place, ()):
                told.update(((e[2], e[3]), e[4]) for e in trace.events if e[0] == CALLED and e[1] == self._key)
        for index, sites in record.given.items():
            for site, given in sites.items():
                now = project.site(site)
                self._given.setdefault(index, {})[now] = (
                    told.get((index, now), given) if now[:2] in project.changed else given
                )
        for index, slots in record.values.items():
            for slot, values in slots.items():
                kept = self._values.setdefault(index, {}).setdefault(slot, {})
                kept.update((project.site(site), value) for site, value in values.items())
        for place in project.retold:
            for trace in project.traces[place]:
                for event in trace.events:
                    if event[0] == TELL and event[1] == self._key:
                        self._values.setdefault(event[2], {}).setdefault(event[3], {})[event[5]] = event[4]


def _as_placed(function: Function, seen: Seen | None) -> Placed:
    """A placed function, as far as callers see it. Raises Unforeseen where it was none."""
    if seen is None:
        raise Unforeseen
    role = Role(traced=seen.traced)
    return Placed(function, role, [], [], seen.returns, {}, {}, frozenset(), {}, seen.passed, written=seen.written)
