"""How long each step took and what crossed in it, in memory that does not grow with the run."""

from __future__ import annotations

from runtime_check.events import Event
from runtime_check.records import StepTime
from transferlint.model import Direction

_MOST = 4096  # steps of which all is kept; then of every other one, and so on
_MARKS = 256  # steps of which it is told when they ran


class StepTimes:
    """The first step, the slowest one, and a median one, of the steps that ended so far.

    Steps count from 0. The first begins where recording does, and holds what comes before it, imports among it; so the
    median and the slowest are of the others. What does not fall into memory any more is left out evenly.
    """

    def __init__(self, began: int) -> None:
        self._origin = self._began = began
        self._first: StepTime | None = None
        self._marked: list[tuple[int, int, int]] = []
        self._slowest: StepTime | None = None
        self._kept: list[StepTime] = []
        self._every = self._mark_every = 1
        self._clear()

    def add(self, event: Event, blocked: int) -> None:
        """Take an event of the running step, which kept the host for `blocked` nanoseconds."""
        if event.direction is Direction.H2D:
            self._h2d += 1
        elif event.direction is Direction.D2H:
            self._d2h += 1
        elif event.sync:
            self._waits += 1
        else:
            return
        self._bytes += event.bytes
        self._blocked += blocked

    def end(self, number: int, at: int) -> None:
        """The step `number` ended."""
        self._mark(number, at)
        wall, self._began = at - self._began, at
        step = StepTime(number, wall, self._blocked, self._h2d, self._d2h, self._waits, self._bytes)
        self._clear()
        if self._first is None:
            self._first = step
            return
        if self._slowest is None or wall > self._slowest.wall:
            self._slowest = step
        if number % self._every == 0:
            self._kept.append(step)
        if len(self._kept) >= _MOST:
            self._kept = self._kept[::2]
            self._every *= 2

    def _mark(self, number: int, at: int) -> None:
        if number % self._mark_every == 0:
            self._marked.append((number, self._began - self._origin, at - self._began))
        if len(self._marked) >= _MARKS:
            self._mark_every *= 2
            self._marked = [one for one in self._marked if one[0] % self._mark_every == 0]

    def skip(self, at: int) -> None:
        """What ran until now is not of a step that counts."""
        self._began = at
        self._clear()

    def rows(self) -> tuple[StepTime, ...]:
        """The first, the median and the slowest step; fewer where there were fewer than three others."""
        if self._first is None or self._slowest is None or len(self._kept) < 3:
            return () if self._first is None else (self._first,)
        ordered = sorted(self._kept, key=lambda step: step.wall)
        return self._first, ordered[(len(ordered) - 1) // 2], self._slowest

    def marks(self) -> tuple[tuple[int, int, int], ...]:
        """Steps as (number, nanoseconds from `began` to its start, wall time): of many, some that lie evenly."""
        return tuple(self._marked)

    def _clear(self) -> None:
        self._h2d = self._d2h = self._waits = self._bytes = self._blocked = 0
