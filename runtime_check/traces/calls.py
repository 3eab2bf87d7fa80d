"""What a trace says of copies and waits, in the same words for every format: calls of the driver, put together to
transfers and syncs."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Iterable, Sequence

from transferlint.model import Direction

# Calls of the CUDA and HIP runtimes and drivers that copy, and that wait. `cudaStreamWaitEvent` lets a stream wait, and
# not the host. nsys adds the version of the interface: cudaMemcpyAsync_v3020.
COPY = re.compile(r"(cuda|hip|cu)Memcpy\w*")
WAIT = re.compile(r"(cuda|hip)(Stream|Device|Event)Synchronize\w*|cu(Stream|Ctx|Event)Synchronize\w*")
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")


class TraceError(Exception):
    """A file that cannot be used; the message is one line that names it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """Something on one host thread, in nanoseconds: an operator, a Python function, a named range."""

    name: str
    start: int
    duration: int
    python: bool = False

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + self.duration


@dataclasses.dataclass(frozen=True, slots=True)
class Driver:
    """A call of the driver that copies or waits. `correlation` joins it with what the device did; `size` is in bytes
    and `way` a direction where the call itself tells them, as HIP's do (-1 and None where it does not)."""

    name: str
    start: int
    duration: int
    thread: object
    correlation: object
    size: int = -1
    way: Direction | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Copied:
    """What the device says of a copy. `pinned` is about its host side, None where that is not told."""

    way: Direction
    bytes: int
    pinned: bool | None
    start: int
    duration: int


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A transfer or a sync: what one operator copied, with the wait that belongs to it. `blocked` is how long its calls
    of the driver kept the host, `waiting` the part of it that was a call that only waits, `bus` how long the copy took
    on the device, and `queued` how long after it was asked for it began there, all in nanoseconds. `around` are the
    operators and Python functions that it lies in, outermost first; `borrowed` says that they are those of another
    thread, which waited for this one in a backward pass, and `backward` names what ran in it."""

    direction: Direction
    operation: str
    bytes: int
    start: int
    blocked: int
    sync: bool
    pinned: bool | None
    thread: object
    bus: int = 0
    queued: int = 0
    waiting: int = 0
    around: tuple[Stretch, ...] = ()
    borrowed: bool = False
    backward: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Child:
    """A call of `name` that the Python function with the id `parent` made, as a trace with stacks shows it."""

    parent: object
    name: str
    start: int


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """One file. `device` is its name ("" where the file does not say), `start` and `duration` are those of everything
    in it, `steps` the steps that it names, as (name, start, end). `stacks` says whether it has Python functions.
    `owners` tells of each instance of a function that was asked for which function it is, `children` what these called.
    `notes` are for the user, one line each."""

    path: str
    calls: tuple[Call, ...]
    device: str = ""
    rank: int = 0
    ranks: int = 1
    start: int = 0
    duration: int = 0
    steps: tuple[tuple[str, int, int], ...] = ()
    stacks: bool = False
    owners: dict[object, str] = dataclasses.field(default_factory=dict)
    children: tuple[Child, ...] = ()
    notes: tuple[str, ...] = ()


def plain(name: str) -> str:
    """A call's name without the version of its interface."""
    return _VERSION.sub("", name)


class Points:
    """Times on threads, asked whether one of them lies within a stretch."""

    def __init__(self, calls: Iterable[Driver]) -> None:
        self._by_thread: dict[object, list[int]] = {}
        for one in calls:
            self._by_thread.setdefault(one.thread, []).append(one.start)
        for starts in self._by_thread.values():
            starts.sort()

    def within(self, thread: object, start: int, end: int) -> bool:
        """True where one of a thread's times is in [start, end]."""
        starts = self._by_thread.get(thread, [])
        index = bisect.bisect_left(starts, start)
        return index < len(starts) and starts[index] <= end


def assemble(
    drivers: Iterable[Driver], copies: dict[object, Copied], around: dict[object, list[Stretch]]
) -> tuple[list[Call], int]:
    """Calls from those of the driver, in order of time. A wait that follows a copy within the same innermost operator
    is that copy's own: torch's blocking copies are `cudaMemcpyAsync` and `cudaStreamSynchronize`
    (aten/src/ATen/native/cuda/Copy.cu). Copies within the device are left out. Also: how many copies are of unknown
    direction, because the device's half of them is not in the trace."""
    by_thread: dict[object, list[Driver]] = {}
    for one in drivers:
        by_thread.setdefault(one.thread, []).append(one)
    found: list[Call] = []
    unknown = 0
    for thread, mine in by_thread.items():
        mine.sort(key=lambda one: one.start)
        nesting = _Nesting(around.get(thread, []))
        last: tuple[Call | None, Stretch | None] = (None, None)
        for one in mine:
            stack = nesting.at(one.start)
            operator = next((frame for frame in reversed(stack) if not frame.python), None)
            if WAIT.fullmatch(one.name):
                before, within = last
                if before is not None and operator is not None and operator is within:
                    found[-1] = dataclasses.replace(
                        before,
                        blocked=before.blocked + one.duration,
                        waiting=before.waiting + one.duration,
                        sync=True,
                    )
                else:
                    found.append(_wait(one, operator, stack))
                last = (found[-1], operator)
                continue
            copied = copies.get(one.correlation)
            way = copied.way if copied is not None else one.way
            if way in (Direction.H2D, Direction.D2H):
                found.append(_copy(one, copied, way, operator, stack))
                last = (found[-1], operator)
                continue
            unknown += way is None
            last = (None, None)
    return sorted(found, key=lambda one: one.start), unknown


def _wait(one: Driver, operator: Stretch | None, stack: Sequence[Stretch]) -> Call:
    name = operator.name if operator is not None else one.name
    return Call(
        Direction.NONE,
        name,
        0,
        one.start,
        one.duration,
        True,
        None,
        one.thread,
        waiting=one.duration,
        around=tuple(stack),
    )


def _copy(
    one: Driver, copied: Copied | None, way: Direction, operator: Stretch | None, stack: Sequence[Stretch]
) -> Call:
    size = copied.bytes if copied is not None and copied.bytes >= 0 else max(one.size, 0)
    pinned = copied.pinned if copied is not None else None
    name = operator.name if operator is not None else one.name
    # Plain copies wait by definition, and those to pageable memory return when they are done (CUDA runtime API, "API
    # synchronization behavior"); of other copies the wait that follows says whether the host waits.
    waits = "Async" not in one.name or (way is Direction.D2H and pinned is False)
    bus = copied.duration if copied is not None else 0
    queued = max(copied.start - one.start, 0) if copied is not None else 0
    return Call(way, name, size, one.start, one.duration, waits, pinned, one.thread, bus, queued, around=tuple(stack))


class _Nesting:
    """The stretches of a thread that a time lies in; times are asked for in ascending order."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self._waiting = sorted(stretches, key=lambda one: (one.start, -one.duration))
        self._next = 0
        self._open: list[Stretch] = []

    def at(self, time: int) -> list[Stretch]:
        """Outermost first."""
        while self._next < len(self._waiting) and self._waiting[self._next].start <= time:
            self._open = [one for one in self._open if one.end > self._waiting[self._next].start]
            self._open.append(self._waiting[self._next])
            self._next += 1
        self._open = [one for one in self._open if one.end > time]
        return list(self._open)
