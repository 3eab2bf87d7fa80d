"""The `profile` level: a window of steps under torch.profiler, and what it says of the transfers in it.

How long a copy was on the bus, and how long the device had nothing to do, is known to the device alone. Each copy of
the trace is found again among the recorded transfers by the call that asked for it, which has the same correlation id
as the copy and falls into the time that the transfer kept the host. A simulated device has no timeline: there the trace
has the host's operators, and no copies.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from runtime_check.events import Event
from runtime_check.records import BusTime, Profile

STEPS = 10  # that are profiled, where the user names no window
_MOST = 50  # steps, whatever the user names: a trace is of some megabytes a step
_EVENTS = 100_000  # transfers after which the window ends
_SLACK = 20_000  # nanoseconds by which the two clocks may differ


class Row(NamedTuple):
    """One line of a trace: an operator, a call of the driver's, or (`device`) what ran there; nanoseconds."""

    name: str
    device: bool
    start: int
    duration: int
    correlation: int
    thread: int = 0


class Profiles(Protocol):
    """What profiles (see `runtime_check.hooks.profiler.Profiler`)."""

    device: bool

    def start(self) -> None:
        """Begin."""

    def stop(self, path: str) -> list[Row]:
        """End, write the trace, and give its rows."""


class Window:
    """A listener that profiles the steps from `first` on, `count` of them, counted by the optimizer that steps first.

    `make` makes the profiler, `number` tells the id of an event's site record, and `trace` is the file to write.
    `result` is there when the window has ended; `problem` says in one line why there is none.
    """

    def __init__(
        self, first: int, count: int, make: Callable[[], Profiles], number: Callable[[Event], int | None], trace: str
    ) -> None:
        self.result: Profile | None = None
        self.problem = f"nothing was profiled: the program made fewer than {max(first, 1)} steps"
        self._first, self._count = max(first, 1), min(count, _MOST)
        self._make, self._number, self._trace = make, number, trace
        self._profiler: Profiles | None = None
        self._events: list[Event] = []
        self._step = self._began = 0
        self._leader: object = None
        self._done = False
        self._pid = os.getpid()

    def __call__(self, event: Event) -> None:
        """Take an event, in any thread."""
        if self._profiler is not None and len(self._events) < _EVENTS:
            self._events.append(event)

    def step(self, source: object) -> None:
        """A step ended."""
        if self._done or os.getpid() != self._pid:
            return
        if self._leader is None:
            self._leader = source
        if source != self._leader:
            return
        self._step += 1
        if self._step == self._first:
            self._start()
        elif self._step == self._first + self._count or len(self._events) >= _EVENTS:
            self.end()

    def _start(self) -> None:
        try:
            profiler = self._make()
            profiler.start()
        except Exception as error:  # the program profiles itself, or Kineto is not built in
            self._done = True
            self.problem = f"nothing was profiled: {' '.join(str(error).split()) or type(error).__name__}"
            return
        self._profiler, self._began = profiler, self._step

    def end(self) -> None:
        """End the window, where it is open; later steps open no other."""
        profiler, self._profiler = self._profiler, None
        self._done = True
        if profiler is None or os.getpid() != self._pid:
            return
        try:
            rows = profiler.stop(self._trace)
        except Exception as error:
            self.problem = f"the profile could not be kept: {' '.join(str(error).split()) or type(error).__name__}"
            return
        self.problem = ""
        events = [(event, self._number(event)) for event in self._events]
        known = [(event.started, event.blocked, site) for event, site in events if site is not None]
        self._events = []
        steps = max(self._step - self._began, 0)
        self.result = summary(rows, known, profiler.device, self._began, steps, os.path.basename(self._trace))


def summary(
    rows: Sequence[Row],
    events: Iterable[tuple[int, int, int]],
    device: bool,
    first: int,
    steps: int,
    trace: str,
) -> Profile:
    """What a trace says. `events` are (start, nanoseconds blocked, site id) of the recorded transfers."""
    start = min((row.start for row in rows), default=0)
    end = max((row.start + row.duration for row in rows), default=0)
    operators = [row for row in rows if not row.device and "::" in row.name]
    copies = [row for row in rows if row.device and row.name.startswith("Memcpy") and _crosses(row.name)]
    return Profile(
        first=first,
        steps=steps,
        duration=end - start,
        operators=len(operators),
        host=_union(operators),
        on_device=device,
        device=_union([row for row in rows if row.device]),
        copies=_copies(rows, copies, sorted(events)),
        copied=sum(row.duration for row in copies),
        trace=trace,
        process=os.getpid(),
    )


def _crosses(name: str) -> bool:
    """ "Memcpy HtoD (Pageable -> Device)" (libkineto, ActivityType GPU_MEMCPY)."""
    return "HtoD" in name or "DtoH" in name


def _union(rows: Iterable[Row]) -> int:
    """For how long at least one of them ran."""
    total = end = 0
    for row in sorted(rows, key=lambda one: one.start):
        stop = row.start + row.duration
        if stop > end:
            total += stop - max(row.start, end) if end else row.duration
            end = stop
    return total


def _copies(rows: Iterable[Row], copies: Iterable[Row], events: Sequence[tuple[int, int, int]]) -> tuple[BusTime, ...]:
    """The copies by the site record of the transfer that asked for them."""
    asked = {row.correlation: row.start for row in rows if not row.device and row.name.startswith("cudaMemcpy")}
    starts = [start for start, _, _ in events]
    sums: dict[int, list[int]] = {}
    for copy in copies:
        at = asked.get(copy.correlation)
        if at is None:
            continue
        index = bisect.bisect_right(starts, at + _SLACK) - 1
        if index < 0:
            continue
        start, blocked, site = events[index]
        if at <= start + blocked + _SLACK:
            found = sums.setdefault(site, [0, 0])
            found[0] += 1
            found[1] += copy.duration
    return tuple(BusTime(site, count, time) for site, (count, time) in sorted(sums.items()))
