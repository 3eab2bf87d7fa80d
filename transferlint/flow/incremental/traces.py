"""What functions asked of each other, and told, while they were placed: from it the next placing of a project is made.

A function's placing follows from its code and from what it asks of the rest, in order: what another function gives
back, what an attribute or an outer name holds, what callers tell. A *trace* has these questions with their answers, and
what the function told in return. Where the code is the same and each question has the same answer again, the outcome
is the same too, and only what it tells is told once more (memoisation with verified dependencies: U. A. Acar,
Self-Adjusting Computation, 2005).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from transferlint import late
from transferlint.flow.callgraph.callers import Callers, Site
from transferlint.flow.callgraph.roles import Role
from transferlint.flow.lattice.values import Value, returned_alike
from transferlint.flow.placement.placed import Placed
from transferlint.syntax.program import Parameter, Reg, Slot

# Questions, with what they are about, the answer, and whether anything was placed for it; what is told.
PLACE, OUTER, ATTRIBUTE, GLOBAL, LEARNT, FLAG = range(6)
STORE, SET, SET_FLAG, TELL, CALLED = range(6, 11)
Event = tuple[Any, ...]
Entered = list[tuple[Parameter, Value, Value]]


class Unforeseen(Exception):
    """What was taken over turned out to be asked for what it does not have: the project has to be made from nothing."""


class Reached(Exception):
    """A placing that was followed as far as it was wanted."""


@late.dataclass(slots=True)
class Trace:
    """One placing of a function: what went on, in order, and what came of it. `leant` and `leans` say whether it was
    taken to work on the host before and after; `heads` are the functions (file and index) that were looked up by name:
    how they are declared was seen. `ready`: the module was placed before; `early`: callers told nothing of parameters
    yet, as not all were placed once."""

    role: Role
    leant: bool
    events: list[Event]
    placed: Placed | None = None
    stored: dict[int, Value] = dataclasses.field(default_factory=dict)
    entered: Entered = dataclasses.field(default_factory=list)
    leans: bool = False
    heads: frozenset[tuple[str, int]] = frozenset()
    ready: bool = False
    early: bool = False


@late.dataclass(slots=True)
class Following:
    """A placing that takes the answers to its first questions from a trace, up to `end`, and tells nothing that was
    told there. What comes then is asked in earnest and added to `events`; where these are None, it ends there."""

    script: list[Event]
    end: int
    events: list[Event] | None
    at: int = 0


@late.dataclass(slots=True)
class Replaying:
    """A function whose trace is gone through: the event that it is at, and the one up to which its variables were
    worked out, because somebody read them before it was finished."""

    trace: Trace
    at: int = 0
    shown: int = -1


class Traces:
    """The traces of all functions of a project, by file and index, each placing in turn. `known` are those of the time
    before; `changed` are the functions that are not what they were.

    Until the first placing that others can tell from that of the time before (`deviates`), all that may be asked is as
    it was then at the same point. So until then no answer has to be looked at, but while a function is really placed
    (`placing` counts them): others may read what it did so far.
    """

    def __init__(self, known: dict[tuple[str, int], list[Trace]] | None = None) -> None:
        self.known = known or {}
        self.changed: set[tuple[str, int]] = set()
        self.made: dict[tuple[str, int], list[Trace]] = {}
        self.top: list[Event] | None = None  # of the function that is being placed, None where nothing is noted
        self.count = 0  # of placings
        self.deviates = False
        self.placing = 0
        self.following: Following | None = None
        self.heads: set[tuple[str, int]] = set()  # looked up by what is being placed
        self.replaying: dict[tuple[str, int], Replaying] = {}

    def before(self, key: str, index: int) -> Trace | None:
        """The trace of the time before of what is placed next."""
        at = key, index
        traces = self.known.get(at, ()) if at not in self.changed else ()
        turn = len(self.made.get(at, ()))
        return traces[turn] if turn < len(traces) else None

    def change(self, key: str, functions: set[int], heads: set[int]) -> None:
        """Note the functions of a file that changed, and those of which others see that at once, without asking how
        they were placed: what looked these up has to be placed again, too."""
        self.changed.update((key, index) for index in functions)
        told = {(key, index) for index in heads}
        for at, traces in self.known.items() if told else ():
            if any(not told.isdisjoint(trace.heads) for trace in traces):
                self.changed.add(at)

    def keep(self, key: str, index: int, trace: Trace) -> None:
        """Take up a trace for the next time."""
        self.made.setdefault((key, index), []).append(trace)
        self.count += 1

    def compare(self, key: str, index: int, made: Trace, read: bool) -> None:
        """Find out whether others can tell a placing, which was gone through, from that of the time before. `read`:
        others read the variables of this function."""
        turn = len(self.made.get((key, index), ()))
        old = self.known.get((key, index), ())
        if not self.deviates:
            self.deviates = turn >= len(old) or not alike(old[turn], made, read)

    def follow(self, event: Event) -> Event | None:
        """What the trace has that is followed, with the answer to a question; None where none is followed. Raises
        Unforeseen where it has something else, and Reached at the end of what is wanted."""
        following = self.following
        if following is None:
            return None
        if following.at == following.end:
            raise Reached
        known = following.script[following.at]
        if known[: len(event)] != event:
            raise Unforeseen
        following.at += 1
        if following.at == following.end and following.events is not None:
            self.following, self.top = None, following.events
        return known

    def tell(self, event: Event) -> bool:
        """Note what is told; False where it was told before."""
        if self.following is not None:
            self.follow(event[:3])
            return False
        if self.top is not None:
            self.top.append(event)
        return True


class TracedCallers(Callers):
    """`Callers` of the file `key`, with a note of what each is told."""

    def __init__(self, key: str, traces: Traces) -> None:
        super().__init__()
        self._key = key
        self._traces = traces

    def note(self, index: int, slot: Slot, clean: Value, site: Site) -> None:
        """See `Callers`."""
        if self._traces.tell((TELL, self._key, index, slot, clean, site)):
            super().note(index, slot, clean, site)

    def called(self, index: int, site: Site, given: dict[str, Reg] | None) -> None:
        """See `Callers`."""
        if self._traces.tell((CALLED, self._key, index, site, given)):
            super().called(index, site, given)


def alike(old: Trace, new: Trace, read: bool) -> bool:
    """Whether others cannot tell two placings of a function from each other."""
    if (old.leant, old.leans) != (new.leant, new.leans) or not as_seen(old.placed, new.placed):
        return False
    return (not read or old.stored == new.stored) and _told(old.events) == _told(new.events)


def as_seen(one: Placed | None, other: Placed | None) -> bool:
    """Whether two placings are the same to a caller, who sees what a function returns, what it wraps, and
    what it uploads into its arguments."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if one.role.traced != other.role.traced:
        return False  # what is compiled gives device data
    if len(one.written) != len(other.written) or not (one.passed is other.passed or one.passed == other.passed):
        return False
    parts = zip(one.written, other.written, strict=True)
    return returned_alike(one.returns, other.returns) and all(
        a[:2] == b[:2] and returned_alike(a[2], b[2]) for a, b in parts
    )


def _told(events: list[Event]) -> list[Event]:
    """What a placing does to others, in order: whom it has placed first, and what it tells. Where in the function a
    call stands is of no account."""
    found: dict[Event, None] = {}
    for event in events:
        kind = event[0]
        if kind == PLACE:
            found[event[:3]] = None
        elif kind == TELL:
            told = (*event[:5], event[5][:2])
            found[told] = None
        elif kind == CALLED:
            names = None if event[4] is None else tuple(event[4])
            told = (*event[:3], event[3][:2], names)
            found[told] = None
        elif kind in (STORE, SET, SET_FLAG):
            found[event] = None
        elif event[-1]:
            found[event[:3] if kind == LEARNT else event[:-2]] = None
    return list(found)
