"""The answers that a function had while it was placed, for placing it again where it, or what it calls, changed.

What is asked now is answered from the trace of the time before, where nothing that matters can have been otherwise: it
was asked at the same point there, which is counted by what the placing did to others so far, or before that point and
after it with the same answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from transferlint import late
from transferlint.flow.incremental.traces import (
    CALLED,
    FLAG,
    LEARNT,
    PLACE,
    SET,
    SET_FLAG,
    STORE,
    TELL,
    Event,
    Trace,
)
from transferlint.flow.lattice.values import Value
from transferlint.syntax.program import Parameter, Reg

Question = tuple[Any, ...]
_UNKNOWN = object()


@late.dataclass(frozen=True, slots=True)
class _Answer:
    """An answer, how much had been done to others by then (all, and without what calls are told), and whether something
    was placed for it."""

    all: int
    most: int
    answer: Any
    made: bool


@late.dataclass(slots=True)
class Effects:
    """What a placing does to others, in order: whom it has placed, and what it tells. Registers are those of calls, in
    the order in which they are met, and in `done` their numbers in it; `given` are what calls give by name."""

    done: list[Question] = dataclasses.field(default_factory=list)
    registers: dict[Reg, int] = dataclasses.field(default_factory=dict)
    given: list[dict[str, Reg] | None] = dataclasses.field(default_factory=list)
    most: int = 0
    _seen: set[Question] = dataclasses.field(default_factory=set)

    def add(self, event: Event) -> None:
        """Take what one event does, if anything that was not done before."""
        kind = event[0]
        if kind == TELL:
            self._once((*event[:5], *event[5][:2], self._number(event[5][2])))
        elif kind == CALLED:
            names = None if event[4] is None else tuple(event[4])
            if self._once((*event[:3], *event[3][:2], self._number(event[3][2]), names)):
                self.given.append(event[4])
        elif kind == STORE:
            self.most += self._once((*event[:4], event[4].foreign()))
        elif kind in (SET, SET_FLAG):
            self.done.append(event)
            self.most += 1
        elif event[-1]:
            self.most += self._once(question(event[:-2]))

    def told(self) -> tuple[list[Question], dict[Question, list[Value]]]:
        """All effects without what calls give, and by call and parameter what they give, in order."""
        given: dict[Question, list[Value]] = {}
        done: list[Question] = []
        for one in self.done:
            if one[0] == TELL:
                told = (*one[:4], *one[5:])
                given.setdefault(told, []).append(one[4])
                if len(given[told]) > 1:
                    continue
                one = told
            done.append(one)
        return done, given

    def _number(self, reg: Reg) -> int:
        return self.registers.setdefault(reg, len(self.registers))

    def _once(self, effect: Question) -> bool:
        if effect in self._seen:
            return False
        self._seen.add(effect)
        self.done.append(effect)
        return True


def question(event: Event) -> Question:
    """What is asked, without the answer, fit to be looked up. What callers tell of a parameter rests on its name, its
    slot, and what it is by itself; on its default and its annotation by that alone (`FilePlacement.learnt`)."""
    if event[0] == LEARNT:
        given: Parameter = event[3]
        return (*event[:3], given.name, given.slot, event[4])
    return event


def effects(events: Iterable[Event]) -> Effects:
    """What a whole placing does to others."""
    found = Effects()
    for event in events:
        found.add(event)
    return found


class Script:
    """The answers of one trace. `settled` gives those that are known otherwise, and raises Unforeseen where there is
    none; `instead` what a function was placed as now, None where that is not known to be another."""

    def __init__(self, trace: Trace, settled: Callable[[Event], Any], instead: Callable[[str, int, Any], Any]) -> None:
        self.events: list[Event] = []
        self.before = Effects()
        self.now = Effects()
        self._settled = settled
        self._instead = instead
        self._answers: dict[Question, list[_Answer]] = {}
        self._sets = False
        for event in trace.events:
            kind = event[0]
            self._sets = self._sets or kind in (SET, SET_FLAG)
            if kind <= FLAG:
                one = _Answer(len(self.before.done), self.before.most, event[-2], event[-1])
                self._answers.setdefault(question(event[:-2]), []).append(one)
            self.before.add(event)

    def ask(self, event: Event) -> Any:
        """The answer to a question. Raises Unforeseen."""
        found = self._found(event)
        answer = found.answer if found is not None else self._settled(event)
        if event[0] == PLACE:
            answer = self._instead(event[1], event[2], answer)
        noted = (*event, answer, found is not None and found.made)
        self.events.append(noted)
        self.now.add(noted)
        return answer

    def tell(self, event: Event) -> None:
        """Note what is told."""
        self.events.append(event)
        self.now.add(event)

    def _found(self, event: Event) -> _Answer | None:
        known = self._answers.get(question(event))
        if known is None:
            return None
        if event[0] == LEARNT:
            same = [one for one in known if one.all == len(self.now.done)]
        else:
            same = [one for one in known if one.most == self.now.most]
        if same:
            return same[0]
        before = [one for one in known if one.most < self.now.most]
        after = [one for one in known if one.most > self.now.most]
        if event[0] == LEARNT or not before or self._sets:
            return None
        stays = event[0] == PLACE and before[-1].answer is not None
        if stays or (after and before[-1].answer == after[0].answer):
            return late.replace(before[-1], made=False)
        return None
