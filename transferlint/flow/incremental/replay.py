"""Placing a function by the trace of the time before, as far as it goes as it went then."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence

from transferlint import late
from transferlint.flow.callgraph.names import ClassInfo, find
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
    Following,
    Reached,
    Replaying,
    Trace,
    TracedCallers,
    Traces,
    Unforeseen,
    as_seen,
)
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import Value
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placement import FilePlacement
from transferlint.flow.project import Project
from transferlint.syntax.program import Function, Parameter, Program, Slot


class TracedFiles(Project):
    """A project whose files leave a trace of each placing, and follow the one of the time before."""

    traces: Traces

    @abc.abstractmethod
    def known(self, key: str) -> FilePlacement | None:
        """The placement of a file in the project before."""

    @abc.abstractmethod
    def turns(self, key: str) -> list[set[int]]:
        """The functions of a file that were placed again in the project before, in each turn."""

    @abc.abstractmethod
    def traced(self, key: str) -> TracedPlacement:
        """The placement of a file that is in the project."""


class TracedPlacement(FilePlacement):
    """`FilePlacement` with a trace of each placing; one that would go as the time before is not done again."""

    def __init__(self, program: Program, options: AnalysisOptions, project: TracedFiles) -> None:
        self._whole = project
        self._traces = project.traces
        self._turns: list[set[int]] = []  # what was placed again, each time that was asked
        super().__init__(program, options, project)
        self.callers = TracedCallers(self.key, self._traces)

    @property
    def turns(self) -> list[set[int]]:
        """Which functions were placed again for what callers say, in each turn."""
        return self._turns

    def look_up(self) -> None:
        """See `FilePlacement`; of a program that is the same, what was found before."""
        known = self._whole.known(self.key)
        if known is None or known.program is not self.program:
            super().look_up()
            return
        self.names, self.targets = known.names, known.targets
        self.classes, self.roles, self.tracing = known.classes, known.roles, known.tracing
        self.names.project = self.project

    def flag(self, name: str) -> int:
        """See `FilePlacement`."""
        event = FLAG, self.key, name
        followed = self._traces.follow(event)
        if followed is not None:
            return int(followed[3])
        if self._traces.top is not None:
            self._traces.top.append((*event, self._flags[name], False))
        return self._flags[name]

    def set_flag(self, name: str, value: int) -> None:
        """See `FilePlacement`."""
        if self._traces.tell((SET_FLAG, self.key, name, value)):
            self._flags[name] = value

    def _answer(self, event: Event, asked: Callable[[], Value | None]) -> Value | None:
        """The answer to a question, which is noted; what is asked on the way to it is not."""
        traces = self._traces
        followed = traces.follow(event)
        if followed is not None:
            known: Value | None = followed[-2]
            return known
        events, traces.top = traces.top, None
        count = self._steps()
        found = asked()
        traces.top = events
        if events is not None:
            events.append((*event, found, self._steps() != count))
        return found

    def _steps(self) -> int:
        """How far the placing of the project has come: a question for which nothing is placed leaves that as it is."""
        return self._traces.count + self._recursion.rests

    def place(self, index: int) -> Placed | None:
        """See `FilePlacement`."""
        followed = self._traces.follow((PLACE, self.key, index))
        if followed is not None:
            known: Placed | None = followed[3]
            return known
        count = self._steps()
        done = super().place(index)
        if self._traces.top is not None:
            self._traces.top.append((PLACE, self.key, index, done, self._steps() != count))
        return done

    def located(self, name: str) -> tuple[FilePlacement, int] | None:
        """See `FilePlacement`."""
        found = super().located(name)
        if found is not None:
            self._traces.heads.add((found[0].key, found[1]))
            self._whole.look(found[0].key, found[1])
        return found

    def _overridden(self, index: int) -> Sequence[tuple[FilePlacement, int]]:
        found = super()._overridden(index)
        self._traces.heads.update((owner.key, above) for owner, above in found)
        return found

    def _stale(self, indices: Iterable[int]) -> set[int]:
        """See `FilePlacement`. Until somebody can tell a placing from that of the time before, those that did not
        change are as they were then."""
        traces, turn = self._traces, len(self._turns)
        before = self._whole.turns(self.key)
        if traces.deviates or turn >= len(before):
            found = super()._stale(indices)
        else:
            changed = [index for index in indices if (self.key, index) in traces.changed]
            found = before[turn].difference(changed) | super()._stale(changed)
        self._turns.append(found)
        return found

    def outer(self, function: Function, name: str) -> Value:
        """See `FilePlacement`. Who reads the variables of a function that is being placed sees what is not finished."""

        bound = find(self.program, function, name) if self._running else None
        if bound is not None:
            self.ask(self.key, bound[0], name)

        def asked() -> Value:
            if bound is not None and bound[0] not in self._bound and bound[0] in self._running:
                self._show(bound[0])
            return FilePlacement.outer(self, function, name)

        found = self._answer((OUTER, self.key, function.index, name), asked)
        assert found is not None
        return found

    def global_value(self, slot: Slot) -> Value | None:
        """See `FilePlacement`."""
        name = self.program.functions[0].slot_names[slot]
        return self._answer((GLOBAL, self.key, name), lambda: FilePlacement.global_value(self, slot))

    def attribute(self, info: ClassInfo, name: str) -> Value | None:
        """See `FilePlacement`."""
        self.ask(info.key, info.index, name)
        event = ATTRIBUTE, self.key, info.key, info.index, name
        return self._answer(event, lambda: FilePlacement.attribute(self, info, name))

    def learnt(self, index: int, given: Parameter, value: Value) -> Value | None:
        """See `FilePlacement`."""
        event = LEARNT, self.key, index, given, value
        return self._answer(event, lambda: FilePlacement.learnt(self, index, given, value))

    def store(self, index: int, name: str, value: Value) -> None:
        """See `FilePlacement`."""
        if self._traces.tell((STORE, self.key, index, name, value)):
            super().store(index, name, value)

    def set_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """See `FilePlacement`."""
        if self._traces.tell((SET, self.key, info.index, name, value)):
            super().set_attribute(info, name, value)

    def _placed(self, index: int) -> Placed:
        traces, above = self._traces, self._traces.top
        events: list[Event] = []
        old = traces.before(self.key, index)
        if old is not None and old.leant == (index in self._leaning) and old.role == self.roles[index]:
            traces.top = None
            agreed = self._agreed(index, old)
            traces.top = above
            if agreed is None:
                return self._taken_over(index, old)
            events = agreed
        return self._gone_through(index, events)

    def _gone_through(self, index: int, events: list[Event]) -> Placed:
        """The function really placed; the first `events` are known, and what it told in them is told."""
        traces, above = self._traces, self._traces.top
        ready, early = 0 in self.placed, not self._whole.settling
        trace = Trace(self.roles[index], index in self._leaning, events, ready=ready, early=early)
        traces.following = Following(list(events), len(events), events) if events else None
        traces.top = None if events else events
        heads, traces.heads = traces.heads, set()
        traces.placing += 1
        done = trace.placed = super()._placed(index)
        traces.placing -= 1
        trace.heads, traces.heads = frozenset(traces.heads), heads
        traces.top = above
        if traces.following is not None:
            raise Unforeseen
        trace.stored, trace.entered = self._bound[index], self._entered[index]
        trace.leans = index in self._leaning
        if traces.known:
            traces.compare(self.key, index, trace, self.is_read(index))
        traces.keep(self.key, index, trace)
        return done

    def _show(self, index: int) -> None:
        """Work out the variables of a function, of which only the trace is gone through, up to where that is."""
        traces = self._traces
        replaying = traces.replaying.get((self.key, index))
        if replaying is None or replaying.shown == replaying.at:
            return
        entered, leaning = self._entered.get(index), index in self._leaning
        above, traces.top = traces.top, None
        traces.following = Following(replaying.trace.events, replaying.at, None)
        try:
            super()._placed(index)
            raise Unforeseen
        except Reached:
            replaying.shown = replaying.at
        finally:
            traces.following, traces.top = None, above
            if entered is not None:
                self._entered[index] = entered
            if not leaning:
                self._leaning.discard(index)

    def _taken_over(self, index: int, old: Trace) -> Placed:
        """What came of a function the time before, as if it had been placed now."""
        function = self.program.functions[index]
        assert old.placed is not None
        if old.placed.function is not function:
            old = late.replace(old, placed=late.replace(old.placed, function=function))
        self._bind(index, old.stored)
        self._entered[index] = old.entered
        if old.leans:
            self._leaning.add(index)
        self._traces.keep(self.key, index, old)
        assert old.placed is not None
        return old.placed

    def _agreed(self, index: int, old: Trace) -> list[Event] | None:
        """None if all questions have the same answers as before; what was told is told on the way. Else the events up
        to the first question that has not, with its answer."""
        traces, traced = self._traces, self._whole.traced
        replaying = traces.replaying[self.key, index] = Replaying(old)
        try:
            for at, event in enumerate(old.events):
                kind, key = event[0], event[1]
                owner = self if key == self.key else traced(key)
                replaying.at = at
                self._reads(owner, event)
                if kind == PLACE:
                    count = self._steps()
                    done = owner.place(event[2])
                    made = self._steps() != count
                    if (traces.deviates or traces.placing) and not as_seen(done, event[3]):
                        return [*old.events[:at], (*event[:3], done, made)]
                    if made is not event[-1]:
                        old.events[at] = (*event[:-1], made)
                elif kind > FLAG:
                    _tell(owner, event)
                elif traces.deviates or traces.placing or event[-1]:
                    count = self._steps()
                    found = self._answer_of(owner, event)
                    made = self._steps() != count
                    if not _equal(found, event[-2]):
                        return [*old.events[:at], (*event[:-2], found, made)]
                    if made is not event[-1]:
                        old.events[at] = (*event[:-1], made)
            return None
        finally:
            del traces.replaying[self.key, index]

    def _reads(self, owner: TracedPlacement, event: Event) -> None:
        """Note what an event of a trace reads."""
        if event[0] == ATTRIBUTE:
            owner.ask(*event[2:5])
        elif event[0] == GLOBAL:
            self.ask(owner.key, 0, event[2])
        elif event[0] == OUTER:
            bound = find(owner.program, owner.program.functions[event[2]], event[3])
            if bound is not None:
                owner.ask(owner.key, bound[0], event[3])

    def _answer_of(self, owner: TracedPlacement, event: Event) -> object:
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
        owner.store(event[2], event[3], event[4])
    elif kind == SET:
        owner.set_attribute(owner.classes[event[2]], event[3], event[4])
    elif kind == SET_FLAG:
        owner._flags[event[2]] = event[3]


def _equal(one: object, other: object) -> bool:
    return one is other or one == other
