"""The running sum of one site's events, and the record it comes to."""

from __future__ import annotations

from runtime_check import sketch
from runtime_check.events import COPIED_AT_ONCE, Event, Frame
from runtime_check.records import Blocked, SiteRecord
from transferlint.model import Direction, Site


class SiteSum:
    """What is added up while a program runs, for one operation in one direction at one site and thread."""

    __slots__ = (
        "_buckets",
        "_bytes",
        "_call",
        "_count",
        "_current",
        "_executions",
        "_first",
        "_first_step",
        "_inside",
        "_last_step",
        "_max",
        "_pinned",
        "_places",
        "_steps",
        "_total",
        "_unasked",
        "_untimed",
        "_waited",
        "id",
    )

    def __init__(self, number: int, event: Event, frame: Frame, user: Frame | None, thread: str) -> None:
        self.id = number
        self._first = event
        self._places = frame, user, thread
        self._count = self._bytes = self._pinned = self._unasked = self._waited = self._total = self._max = 0
        self._call = self._executions = self._untimed = 0
        self._buckets: dict[int, int] = {}
        self._first_step = self._last_step = -1
        self._inside = self._current = self._steps = 0

    def add(self, event: Event, blocked: int, step: int) -> None:
        """Add an event of `step` that kept the host for `blocked` nanoseconds."""
        self._count += 1
        self._bytes += event.bytes
        if not event.call or event.call != self._call:
            self._executions += 1
            self._call = event.call
        if event.pinned:
            self._pinned += 1
        if not event.timed:
            self._untimed += 1
        if event.non_blocking:
            self._unasked += 1
            copied = not (event.pinned and event.dense) and event.direction is not Direction.D2D
            self._waited += copied and event.bytes > COPIED_AT_ONCE
        self._total += blocked
        if blocked > self._max:
            self._max = blocked
        index = sketch.bucket(blocked)
        buckets = self._buckets
        buckets[index] = buckets.get(index, 0) + 1
        if self._last_step != step:
            if self._first_step < 0:
                self._first_step = step
            self._inside += self._current
            self._steps += self._current > 0
            self._current = 0
            self._last_step = step
        if step > 0:
            self._current += 1

    def counts(self) -> tuple[int, int]:
        """Events and bytes so far."""
        return self._count, self._bytes

    def record(self, steps: int) -> SiteRecord:
        """The sum so far, when `steps` step boundaries have been seen."""
        event, (frame, user, thread) = self._first, self._places
        # Until it is full of events of several steps, nobody knows whether a step is the last: what came in a step
        # that has not ended counts as outside.
        whole = self._last_step < steps
        inside = self._inside + (self._current if whole else 0)
        return SiteRecord(
            id=self.id,
            site=site_of(frame),
            direction=event.direction,
            operation=event.operation,
            count=self._count,
            bytes=self._bytes,
            sync=event.sync,
            blocked=self._blocked(),
            pinned=self._pinned,
            non_blocking=self._unasked,
            first_step=self._first_step if steps else -1,
            last_step=self._last_step if steps else -1,
            thread=thread,
            chain=tuple(site_of(caller) for caller in event.frames[1:]),
            user=None if user is None else site_of(user),
            function=frame.function,
            backward=event.backward,
            hint_ignored=self._waited,
            stepped=inside,
            steps=self._steps + (whole and self._current > 0),
            executions=self._executions,
            inside=tuple(f"{_module(one.path)}:{one.line} {one.function}" for one in event.inside),
            framework=event.framework,
            untimed=self._untimed,
        )

    def _blocked(self) -> Blocked:
        p50, p95 = (min(sketch.percentile(self._buckets, share), self._max) for share in (0.5, 0.95))
        return Blocked(self._total, p50, p95, self._max, tuple(sorted(self._buckets.items())))


def site_of(frame: Frame) -> Site:
    """The site of a frame: one line, without columns, where Python does not tell more."""
    return Site(frame.path, frame.line, frame.column, frame.end_line or frame.line, frame.end_column)


def _module(path: str) -> str:
    """Where a file of torch's lies in it: "torch/optim/lbfgs.py"."""
    head, found, tail = path.replace("\\", "/").rpartition("/torch/")
    return f"torch/{tail}" if found else head or tail


def places_of(event: Event) -> tuple[Frame, Frame | None]:
    """The nearest line outside torch, and the user's own where that is another."""
    frame = event.frames[0] if event.frames else _NOWHERE
    return frame, event.frames[event.user] if 0 < event.user < len(event.frames) else None


_NOWHERE = Frame("(no Python frame)", 0, "")
