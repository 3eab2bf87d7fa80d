"""Events become sums by site, in memory that does not grow with the run.

The listener itself only puts an event on a queue; whoever finds the queue long enough, or asks for the sums, works it
off. So an event costs the program's thread little, threads never wait for each other, and an event that a signal
handler or a finalizer makes while the queue is being worked off is neither lost nor counted twice.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from runtime_check.draw import Draw
from runtime_check.events import Event, Frame
from runtime_check.leading import Leader
from runtime_check.provenance import Provenance, Seen
from runtime_check.records import OVERFLOW, Link, LinkKind, Missing, Outcome, RawEvent, Record, SiteRecord
from runtime_check.step_times import StepTimes
from runtime_check.sums import SiteSum, places_of
from runtime_check.totals import Running, Totals
from runtime_check.window import Window

__all__ = ["Collector", "TimeModel", "Window"]

_Ends = tuple[LinkKind, int, int, "bool | None"]
_QUEUE = 64  # events that wait before the program's own thread works them off
_NUMBER = re.compile(r"[-_ ]?\d+")


class TimeModel(Protocol):
    """What tells how long an event would have kept the host, where no clock can."""

    def blocked(self, event: Event) -> int:
        """Nanoseconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Mark:
    """What stands on the queue between events: a step's end ("step"), or that of a storage ("gone"), at a time."""

    kind: str
    subject: object
    at: int = 0


class Collector:
    """A `Listener` that sums events by site. `origin` is what the clock said when it began.

    `model` gives times where no clock can (None: they are measured), and may be set until the first event; `reservoir`
    is how many single events are kept, a fair draw from all; `sites` how many sites have sums of their own: what comes
    after is summed, by direction, under the path `OVERFLOW`. `provenance`, where given, sees every recorded event, and
    finds the links. An event has the same frames up to its `user` frame whenever it comes from the same place and goes
    the same way; the chain is kept from the first.
    """

    def __init__(
        self,
        model: TimeModel | None = None,
        reservoir: int = 1000,
        *,
        sites: int = 4096,
        provenance: Provenance | None = None,
        window: Window | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.on_fork: Callable[[], None] | None = None  # called in a forked child, before its first event counts
        self.model = model
        self._limits = reservoir, sites
        self._provenance = provenance
        self._window = window or Window()
        self._clock = clock
        self._fork_lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget everything, as in a forked child, whose parent keeps what was seen before."""
        self._queue: collections.deque[Event | _Mark] = collections.deque()
        self._lock = threading.RLock()
        self._working = False
        self._sums: dict[tuple[object, ...], SiteSum] = {}
        self._quick: dict[tuple[object, ...], tuple[object, SiteSum]] = {}  # by the frames' own identity
        self._by_id: list[SiteSum] = []
        self._links: dict[_Ends, list[int]] = {}  # events and bytes
        self._changed: dict[int | _Ends, None] = {}
        self._draw = Draw(self._limits[0])
        self._threads: dict[str, str] = {}
        self._missing: tuple[Missing, ...] = ()
        self._events = self._overflow = self._step = 0
        self._leader = Leader()
        self.origin = self._clock()
        self._began = self.origin if self._window.first == 0 else 0
        self._ended = 0
        self._holds = self._window.holds(0)
        self._timed = StepTimes(self.origin)
        self._running = Running()
        if self._provenance is not None:
            self._provenance.reset()
        self._pid = os.getpid()

    def __call__(self, event: Event) -> None:
        """Take an event, in any thread."""
        if os.getpid() != self._pid:
            self._forked()
        self._queue.append(event)
        if len(self._queue) >= _QUEUE:
            self._work(wait=False)

    def step(self, source: object = "") -> None:
        """Mark the end of a step. `source` tells optimizers apart, where a program has several: the steps that count
        are those of one, so that a step that uses two is one step. Sources are compared and kept."""
        self._mark("step", source)

    def gone(self, serial: int) -> None:
        """Say that the storage with this serial number was freed, for provenance."""
        self._mark("gone", serial)

    def missing(self, process: str, why: str, events: int = -1) -> None:
        """Say that a process's events did not come back; see `records.Missing`."""
        with self._lock:
            self._missing = (*self._missing, Missing(process, why, events))

    def records(self) -> tuple[SiteRecord, ...]:
        """The sums so far, in the order in which the sites were first seen."""
        with self._worked_off():
            return tuple(one.record(self._step) for one in self._by_id)

    def totals(self) -> Totals:
        """All events in a few numbers; quicker than adding up the records."""
        with self._worked_off():
            return self._running.now()

    def counts(self) -> Mapping[int, tuple[int, int]]:
        """Events and bytes by id of the record, and nothing else of it: a record takes a hundred times as long."""
        with self._worked_off():
            return {one.id: one.counts() for one in self._by_id}

    def number(self, event: Event) -> int | None:
        """The id of the record that an event belongs to; None where none was made, as outside of the window."""
        with self._worked_off():
            known = self._sums.get(self._key(event))
            return None if known is None else known.id

    def links(self) -> tuple[Link, ...]:
        """The links so far; their ends are ids of `records`."""
        with self._worked_off():
            return tuple(self._linked(ends) for ends in self._links)

    def raw(self) -> tuple[RawEvent, ...]:
        """The single events that were drawn, timed from `origin`."""
        with self._worked_off():
            return self._draw.events()

    def outcome(self, status: int | None = None) -> Outcome:
        """Counts and wall time so far; `status` is the exit status, where there is one."""
        with self._worked_off():
            duration = (self._ended or self._clock()) - self._began if self._began else 0
            end = self._step if self._window.end is None else min(self._step, self._window.end)
            full = max(end - max(self._window.first, 1), 0)
            return Outcome(
                self._step,
                full,
                self._events,
                duration,
                duration,
                status,
                self._overflow,
                self._missing,
                self._timed.rows(),
                self._timed.marks(),
            )

    def changes(self) -> tuple[Record, ...]:
        """The site records, links and single events that are new or other than when this was last asked."""
        with self._worked_off():
            changed, self._changed = self._changed, {}
            sums = [self._by_id[key].record(self._step) for key in changed if isinstance(key, int)]
            links = [self._linked(key) for key in changed if isinstance(key, tuple)]
            return (*sums, *links, *self._draw.changes())

    def _mark(self, kind: str, subject: object) -> None:
        if os.getpid() != self._pid:
            self._forked()
        self._queue.append(_Mark(kind, subject, self._clock()))
        if len(self._queue) >= _QUEUE:
            self._work(wait=False)

    @contextlib.contextmanager
    def _worked_off(self) -> Iterator[None]:
        with self._lock:
            self._work(wait=True)
            yield

    def _work(self, wait: bool) -> None:
        """Work off the queue, unless another thread is at it and `wait` is False, or this one is further up."""
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if self._working:
                return
            self._working = True
            try:
                queue = self._queue
                for _ in range(len(queue)):
                    one = queue.popleft()
                    if isinstance(one, _Mark):
                        self._apply(one)
                    else:
                        self._add(one)
            finally:
                self._working = False
        finally:
            self._lock.release()

    def _add(self, event: Event) -> None:
        step = self._step
        if not self._holds:
            return
        # The model is of torch's device.
        blocked = event.blocked if self.model is None or event.framework else self.model.blocked(event)
        # An event has the same frames, and not only equal ones, whenever its place has been seen before.
        key = (id(event.frames), event.operation, id(event.direction), event.sync, event.thread, event.backward)
        known = self._quick.get(key)
        one = self._sum(event, key) if known is None else known[1]
        one.add(event, blocked, step)
        self._timed.add(event, blocked)
        self._running.add(event, blocked)
        self._events += 1
        self._changed[one.id] = None
        self._draw.offer(one.id, event, blocked, step, self.origin)
        if self._provenance is not None:
            self._link(self._provenance.see(event, one.id))

    def _link(self, found: Iterable[Seen]) -> None:
        for seen in found:
            key = seen.kind, seen.first, seen.second, seen.changed
            sums = self._links.get(key)
            if sums is None:
                if len(self._links) >= 4 * self._limits[1]:
                    self._overflow += 1
                    continue
                sums = self._links[key] = [0, 0]
            sums[0] += 1
            sums[1] += seen.bytes
            self._changed[key] = None

    def _linked(self, ends: _Ends) -> Link:
        kind, first, second, changed = ends
        count, size = self._links[ends]
        return Link(kind, first, second, count, size, changed)

    def _sum(self, event: Event, quick: tuple[object, ...]) -> SiteSum:
        """The sum that an event belongs to, to be found by a `quick` key from now on."""
        found = self._found(event)
        if len(self._quick) >= 4 * self._limits[1]:
            self._quick.clear()
        self._quick[quick] = event.frames, found  # the frames are held, so that no others have their id
        return found

    def _found(self, event: Event) -> SiteSum:
        key = self._key(event)
        found = self._sums.get(key)
        return self._first(event, key) if found is None else found

    def _key(self, event: Event) -> tuple[object, ...]:
        frame, user = places_of(event)
        place = user and (user.path, user.line, user.column)
        way = id(event.direction)  # there is one object of each, and its id is quicker than its hash
        spot = frame.path, frame.line, frame.column, place
        return spot, event.operation, way, event.sync, self._thread(event.thread), event.backward

    def _first(self, event: Event, key: tuple[object, ...]) -> SiteSum:
        if len(self._by_id) < self._limits[1]:
            places = *places_of(event), self._thread(event.thread)
            found = self._sums[key] = SiteSum(len(self._by_id), event, *places)
            self._by_id.append(found)
            return found
        self._overflow += 1
        rest = (OVERFLOW, event.direction, event.sync)
        if rest not in self._sums:
            without = dataclasses.replace(event, operation="", backward="", frames=())
            self._sums[rest] = SiteSum(len(self._by_id), without, Frame(OVERFLOW, 0, ""), None, "")
            self._by_id.append(self._sums[rest])
        return self._sums[rest]

    def _thread(self, name: str) -> str:
        """Its name without numbers: some programs start a thread for every epoch or request."""
        found = self._threads.get(name)
        if found is not None:
            return found
        if len(self._threads) > 4096:
            self._threads.clear()
        return self._threads.setdefault(name, _NUMBER.sub("", name))

    def _apply(self, mark: _Mark) -> None:
        if mark.kind == "step":
            if self._leader.ends(mark.subject):
                if self._holds:
                    self._timed.end(self._step, mark.at)
                else:
                    self._timed.skip(mark.at)
                self._step += 1
                self._holds = self._window.holds(self._step)
                self._at_boundary(mark.at)
        elif self._provenance is not None and isinstance(mark.subject, int):
            self._provenance.gone(mark.subject)

    def _at_boundary(self, at: int) -> None:
        if self._step == self._window.first:
            self._began = at
        if self._step == self._window.end:
            self._ended = at

    def _forked(self) -> None:
        with self._fork_lock:
            if os.getpid() != self._pid:
                self.reset()
                if self.on_fork is not None:
                    self.on_fork()
