"""`watch()`: what a region of a program transferred, counted."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Literal

from runtime_check import cost, naming
from runtime_check.collect import Collector
from runtime_check.events import Event
from runtime_check.guards import Region
from runtime_check.records import SiteRecord
from runtime_check.session import Session
from runtime_check.totals import Totals
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
        from runtime_check.hooks import device

        if self._collector.model is None and device.simulation() is not None:
            self._collector.model = cost.default()
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

    def totals(self) -> Totals:
        """All of the numbers below at once."""
        return self._collector.totals()

    def counts(self) -> Mapping[int, tuple[int, int]]:
        """Events and bytes by the id of a record, much quicker than `records`."""
        return self._collector.counts()

    @property
    def h2d(self) -> int:
        """Transfers from host to device."""
        return self.totals().h2d

    @property
    def d2h(self) -> int:
        """Transfers from device to host."""
        return self.totals().d2h

    @property
    def d2d(self) -> int:
        """Copies from one device to another, for which the host does not wait."""
        return self.totals().d2d

    @property
    def h2d_bytes(self) -> int:
        """Bytes from host to device."""
        return self.totals().h2d_bytes

    @property
    def d2h_bytes(self) -> int:
        """Bytes from device to host."""
        return self.totals().d2h_bytes

    @property
    def sync(self) -> int:
        """How often the host waited for the device, in transfers too."""
        return self.totals().sync

    @property
    def blocked_ns(self) -> int:
        """For how many nanoseconds transfers and waits kept the host; see `time_source`."""
        return self.totals().blocked_ns

    @property
    def time_source(self) -> str:
        """Where times come from: "measured" by the clock, or on the simulated accelerator "modelled"."""
        return "measured" if self._collector.model is None else "modelled"

    def __str__(self) -> str:
        return "\n".join([f"h2d {self.h2d}, d2h {self.d2h}, waits {self.sync}", *lines(self.records())])


def lines(records: tuple[SiteRecord, ...]) -> list[str]:
    """A line for each site that crossed or waited, the most frequent first."""
    crossed = sorted((record for record in records if record.crossed), key=lambda record: -record.count)
    return [describe(record) for record in crossed]


def describe(record: SiteRecord) -> str:
    """`train.py:42: d2h 100 times, 400 bytes (aten::_local_scalar_dense)`, and the line of a library that did it."""
    site = record.user or record.site
    what = "waits" if record.direction is Direction.NONE else record.direction.value
    times = f"{record.count} time{'s' * (record.count != 1)}"
    inside = f" in {naming.in_library(record.site.path)}:{record.site.line}" if record.user else ""
    return f"{naming.shown(site.path)}:{site.line}: {what} {times}, {record.bytes} bytes ({record.operation}{inside})"
