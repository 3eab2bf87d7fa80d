"""What a collector has counted so far, in a few numbers."""

from __future__ import annotations

import dataclasses

from runtime_check.events import Event
from transferlint.model import Direction


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """Transfers by direction, waits of the host for the device (those of transfers too), bytes by direction, and for
    how many nanoseconds transfers and waits kept the host."""

    h2d: int = 0
    d2h: int = 0
    sync: int = 0
    h2d_bytes: int = 0
    d2h_bytes: int = 0
    blocked_ns: int = 0
    d2d: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.h2d + other.h2d,
            self.d2h + other.d2h,
            self.sync + other.sync,
            self.h2d_bytes + other.h2d_bytes,
            self.d2h_bytes + other.d2h_bytes,
            self.blocked_ns + other.blocked_ns,
            self.d2d + other.d2d,
        )

    def __sub__(self, other: Totals) -> Totals:
        return Totals(
            self.h2d - other.h2d,
            self.d2h - other.d2h,
            self.sync - other.sync,
            self.h2d_bytes - other.h2d_bytes,
            self.d2h_bytes - other.d2h_bytes,
            self.blocked_ns - other.blocked_ns,
            self.d2d - other.d2d,
        )


class Running:
    """Totals while they are added up."""

    __slots__ = ("_blocked", "_d2d", "_d2h", "_d2h_bytes", "_h2d", "_h2d_bytes", "_sync")

    def __init__(self) -> None:
        self._h2d = self._d2h = self._sync = self._h2d_bytes = self._d2h_bytes = self._blocked = self._d2d = 0

    def add(self, event: Event, blocked: int) -> None:
        """Add an event that kept the host for `blocked` nanoseconds."""
        if event.sync:
            self._sync += 1
        if event.direction is Direction.H2D:
            self._h2d += 1
            self._h2d_bytes += event.bytes
        elif event.direction is Direction.D2H:
            self._d2h += 1
            self._d2h_bytes += event.bytes
        elif event.direction is Direction.D2D:
            self._d2d += 1
        elif not event.sync:  # it moved nothing between host and device, and nobody waited
            return
        self._blocked += blocked

    def now(self) -> Totals:
        """The totals so far."""
        return Totals(self._h2d, self._d2h, self._sync, self._h2d_bytes, self._d2h_bytes, self._blocked, self._d2d)
