"""`watch()`: what a region of a program transferred, counted."""

from __future__ import annotations

from types import TracebackType
from typing import Literal

from runtime_check import naming
from runtime_check.collect import Collector
from runtime_check.events import Event
from runtime_check.guards import Region
from runtime_check.records import SiteRecord
from runtime_check.session import Session
from transferlint.model import Direction


class watch(Region):
    """A region whose transfers and waits are counted: `with watch() as run: ...; assert run.d2h == 0`.

    It counts what this thread or task does, backward passes included; with `threads="all"`, what the process does
    meanwhile. Nothing is forbidden, and entering again goes on counting. The numbers can be read at any time.
    """

    def __init__(self, *, threads: Literal["own", "all"] = "own") -> None:
        super().__init__()
        if threads not in ("own", "all"):
            raise ValueError(f'threads={threads!r}: "own" or "all"')
        self._everywhere = threads == "all"
        self._collector = Collector()
        self._sessions: list[Session] = []

    def __enter__(self) -> watch:
        if self._everywhere:
            self._sessions.append(Session(self._collector, trace=False))
        else:
            super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._everywhere:
            if self._sessions:
                self._sessions.pop().stop()
        else:
            super().__exit__(kind, error, trace)

    def after(self, event: Event) -> None:
        self._collector(event)

    def step(self, source: object) -> None:
        self._collector.step(source)

    def records(self) -> tuple[SiteRecord, ...]:
        """What was seen, by line: see `runtime_check.SiteRecord`."""
        return self._collector.records()

    @property
    def h2d(self) -> int:
        """Transfers from host to device."""
        return self._count(Direction.H2D)

    @property
    def d2h(self) -> int:
        """Transfers from device to host."""
        return self._count(Direction.D2H)

    @property
    def d2d(self) -> int:
        """Copies from one device to another, for which the host does not wait."""
        return self._count(Direction.D2D)

    @property
    def h2d_bytes(self) -> int:
        """Bytes from host to device."""
        return sum(record.bytes for record in self.records() if record.direction is Direction.H2D)

    @property
    def d2h_bytes(self) -> int:
        """Bytes from device to host."""
        return sum(record.bytes for record in self.records() if record.direction is Direction.D2H)

    @property
    def sync(self) -> int:
        """How often the host waited for the device, in transfers too."""
        return sum(record.count for record in self.records() if record.sync)

    def __str__(self) -> str:
        return "\n".join([f"h2d {self.h2d}, d2h {self.d2h}, waits {self.sync}", *lines(self.records())])

    def _count(self, direction: Direction) -> int:
        return sum(record.count for record in self.records() if record.direction is direction)


def lines(records: tuple[SiteRecord, ...]) -> list[str]:
    """A line for each site that crossed or waited, the most frequent first."""
    crossed = sorted((record for record in records if record.crossed), key=lambda record: -record.count)
    return [describe(record) for record in crossed]


def describe(record: SiteRecord) -> str:
    """`train.py:42: d2h 100 times, 400 bytes (aten::_local_scalar_dense)`."""
    site = record.user or record.site
    what = "waits" if record.direction is Direction.NONE else record.direction.value
    times = f"{record.count} time{'s' * (record.count != 1)}"
    return f"{naming.shown(site.path)}:{site.line}: {what} {times}, {record.bytes} bytes ({record.operation})"
