"""A project that is put together again after a file of it changed, with the same outcome as from nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from transferlint.flow.modules import ModuleIndex
from transferlint.flow.names import ClassInfo, find
from transferlint.flow.options import AnalysisOptions
from transferlint.flow.placement import FilePlacement, Placed
from transferlint.flow.project import Project
from transferlint.flow.traces import (
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
    TracedCallers,
    Traces,
    as_seen,
    differing,
    rebound,
    visible,
)
from transferlint.flow.values import Value
from transferlint.syntax.program import Function, Parameter, Program, Slot


class Unforeseen(Exception):
    """What was taken over turned out to be asked for what it does not have: the project has to be made from nothing."""


class TracedPlacement(FilePlacement):
    """`FilePlacement` with a trace of each placing; one that would go as the time before is not done again."""

    def __init__(self, program: Program, options: AnalysisOptions, project: TracedProject) -> None:
        self._whole = project
        self._traces = project.traces
        self._flags: dict[str, int] = {}
        self._begun = False
        super().__init__(program, options, project)
        self.callers = TracedCallers(self.key, self._traces)
        self._begun = True

    def look_up(self) -> None:
        """See `FilePlacement`; of a program that is the same, what was found before."""
        known = self._whole.known(self.key)
        if known is None or known.program is not self.program:
            super().look_up()
            return
        self.names, self.targets = known.names, known.targets
        self.classes, self.roles, self.tracing = known.classes, known.roles, known.tracing
        self.names.project = self.project

    def _flag(self, name: str) -> int:
        if self._traces.top is not None:
            self._traces.top.append((FLAG, self.key, name, self._flags[name], False))
        return self._flags[name]

    def _set_flag(self, name: str, value: int) -> None:
        self._flags[name] = value
        if self._traces.top is not None and self._begun:
            self._traces.top.append((SET_FLAG, self.key, name, value))

    @property
    def default_places(self) -> int:
        """Where tensors are made if nothing is said."""
        return self._flag("default_places")

    @default_places.setter
    def default_places(self, value: int) -> None:
        self._set_flag("default_places", value)

    @property
    def validates(self) -> bool:
        """Whether distributions look at their arguments."""
        return bool(self._flag("validates"))

    @validates.setter
    def validates(self, value: bool) -> None:
        self._set_flag("validates", value)

    def _answer(self, event: Event, asked: Callable[[], Value | None]) -> Value | None:
        """The answer to a question, which is noted; what is asked on the way to it is not."""
        traces = self._traces
        events, traces.top = traces.top, None
        count = traces.count + self._recursion.rests
        found = asked()
        traces.top = events
        if events is not None:
            events.append((*event, found, traces.count + self._recursion.rests != count))
        return found

    def place(self, index: int) -> Placed | None:
        """See `FilePlacement`."""
        done = super().place(index)
        if self._traces.top is not None:
            self._traces.top.append((PLACE, self.key, index, done))
        return done

    def outer(self, function: Function, name: str) -> Value:
        """See `FilePlacement`. Who reads the variables of a function that is being placed sees what is not finished."""
        if self._running:
            bound = find(self.program, function, name)
            if bound is not None and bound[0] not in self._bound and bound[0] in self._running:
                running = self._traces.running.get((self.key, bound[0]))
                if running is None:
                    raise Unforeseen
                running.spoilt = True
        found = self._answer(
            (OUTER, self.key, function.index, name), lambda: super(TracedPlacement, self).outer(function, name)
        )
        assert found is not None
        return found

    def global_value(self, slot: Slot) -> Value | None:
        """See `FilePlacement`."""
        name = self.program.functions[0].slot_names[slot]
        return self._answer((GLOBAL, self.key, name), lambda: super(TracedPlacement, self).global_value(slot))

    def attribute(self, info: ClassInfo, name: str) -> Value | None:
        """See `FilePlacement`."""
        event = ATTRIBUTE, self.key, info.key, info.index, name
        return self._answer(event, lambda: super(TracedPlacement, self).attribute(info, name))

    def learnt(self, index: int, given: Parameter, value: Value) -> Value | None:
        """See `FilePlacement`."""
        event = LEARNT, self.key, index, given, value
        return self._answer(event, lambda: super(TracedPlacement, self).learnt(index, given, value))

    def store_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """See `FilePlacement`."""
        super().store_attribute(info, name, value)
        if self._traces.top is not None:
            self._traces.top.append((STORE, self.key, info.index, name, value))

    def set_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """See `FilePlacement`."""
        super().set_attribute(info, name, value)
        if self._traces.top is not None:
            self._traces.top.append((SET, self.key, info.index, name, value))

    def _placed(self, index: int) -> Placed:
        traces, at = self._traces, (self.key, index)
        above = traces.top
        leant = index in self._leaning
        old = traces.before(self.key, index)
        if old is not None and old.leant == leant and old.role == self.roles[index]:
            traces.top = None
            agrees = self._goes_as(old.events)
            traces.top = above
            if agrees:
                return self._taken_over(index, old)
        trace = Trace(self.roles[index], leant, [])
        traces.running[at] = trace
        traces.top = trace.events
        done = trace.placed = super()._placed(index)
        traces.top = above
        del traces.running[at]
        trace.stored, trace.entered = self._bound[index], self._entered[index]
        trace.leans = index in self._leaning
        if traces.known:
            traces.compare(self.key, index, trace, self._is_read(index))
        traces.keep(self.key, index, trace)
        return done

    def _is_read(self, index: int) -> bool:
        """Whether others can read the variables of a function: of a module, a class, and what functions stand in."""
        functions = self.program.functions
        return functions[index].kind in ("module", "class") or any(one.parent == index for one in functions)

    def _taken_over(self, index: int, old: Trace) -> Placed:
        """What came of a function the time before, as if it had been placed now."""
        function = self.program.functions[index]
        assert old.placed is not None
        if old.placed.function is not function:
            old = dataclasses.replace(old, placed=dataclasses.replace(old.placed, function=function))
        self._bound[index] = old.stored
        self._entered[index] = old.entered
        if old.leans:
            self._leaning.add(index)
        self._traces.keep(self.key, index, old)
        assert old.placed is not None
        return old.placed

    def _goes_as(self, events: Sequence[Event]) -> bool:
        """Whether all questions have the same answers as before; what was told is told on the way."""
        traces, traced = self._traces, self._whole.traced
        for event in events:
            kind, key = event[0], event[1]
            owner = self if key == self.key else traced(key)
            if kind == PLACE:
                done = owner.place(event[2])
                if traces.deviates and not as_seen(done, event[3]):
                    return False
            elif kind > FLAG:
                _tell(owner, event)
            elif (traces.deviates or event[-1]) and not _equal(self._asked(owner, event), event[-2]):
                return False
        return True

    def _asked(self, owner: TracedPlacement, event: Event) -> object:
        """The answer to a question of a trace."""
        kind = event[0]
        if kind == ATTRIBUTE:
            return owner.attribute(self._whole.traced(event[2]).classes[event[3]], event[4])
        if kind == OUTER:
            return owner.outer(owner.program.functions[event[2]], event[3])
        if kind == LEARNT:
            return owner.learnt(event[2], event[3], event[4])
        if kind == GLOBAL:
            return owner.global_value(owner.program.functions[0].slots[event[2]])
        return owner._flags[event[2]]


def _tell(owner: TracedPlacement, event: Event) -> None:
    kind = event[0]
    if kind == TELL:
        owner.callers.note(*event[2:])
    elif kind == CALLED:
        owner.callers.called(*event[2:])
    elif kind == STORE:
        owner.store_attribute(owner.classes[event[2]], event[3], event[4])
    elif kind == SET:
        owner.set_attribute(owner.classes[event[2]], event[3], event[4])
    elif kind == SET_FLAG:
        owner._flags[event[2]] = event[3]


def _equal(one: object, other: object) -> bool:
    return one is other or one == other


class TracedProject(Project):
    """`Project` that takes over from one before what went there as it goes here; the arguments are those of `Project`.
    That one is not to be used any more."""

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
        self._asked = (options, dict(own or {}), tuple(self.entered))
        if before is not None and not self._takes_over(before):
            super().__init__(programs, index, options, lines, entered, own)
            self.traces = Traces()
            self._known = {}

    def known(self, key: str) -> FilePlacement | None:
        """The placement of a file in the project before."""
        return self._known.get(key)

    def traced(self, key: str) -> TracedPlacement:
        """The placement of a file that is in the project."""
        found = self.placement(key)
        if not isinstance(found, TracedPlacement):
            raise Unforeseen
        return found

    def _begun(self, key: str) -> FilePlacement:
        return TracedPlacement(self.programs[key], self._own.get(key, self.options), self)

    def _takes_over(self, before: TracedProject) -> bool:
        """Take over what was found out about files, and traces; False where too much changed for that."""
        if self.index is not before.index or self._asked != before._asked:
            return False
        if self.programs.keys() != before.programs.keys():
            return False
        self._names, self._stars, self._found = before._names, before._stars, before._found
        self._known = before._placements
        self.traces.known = before.traces.made
        for key, old in before._placements.items():
            if self.programs[key] is old.program:
                continue
            now = self.placement(key)
            if now is None or list(visible(old)) != list(visible(now)) or self._is_asked_for(key, rebound(old, now)):
                return False
            self.traces.changed.update((key, index) for index in differing(old, now))
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
