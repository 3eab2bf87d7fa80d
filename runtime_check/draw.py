"""A fair draw of single events from a stream of unknown length, in bounded memory."""

from __future__ import annotations

import math
import random

from runtime_check.events import Event
from runtime_check.records import RawEvent


class Draw:
    """Keeps `size` events, each of all that were offered with the same chance.

    Algorithm L (K.-H. Li, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))", 1994): it draws how
    many events to pass over, so that an event that is not kept costs a comparison. Seeded by itself: the program's own
    random numbers stay as they are.
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = size
        self._random = random.Random(seed)
        self._kept: list[RawEvent] = []
        self._changed: dict[int, None] = {}
        self._seen = 0
        self._next = 0
        self._weight = 1.0

    def offer(self, site: int, event: Event, blocked: int, step: int, origin: int) -> None:
        """Take or pass over an event of the record `site`; times are kept relative to `origin`."""
        self._seen += 1
        if self._seen <= self._size:
            slot = len(self._kept)
            self._kept.append(RawEvent(slot, site, event.started - origin, blocked, event.bytes, step))
            if self._seen == self._size:
                self._skip()
        elif self._seen == self._next:
            slot = self._random.randrange(self._size)
            self._kept[slot] = RawEvent(slot, site, event.started - origin, blocked, event.bytes, step)
            self._skip()
        else:
            return
        self._changed[slot] = None

    def events(self) -> tuple[RawEvent, ...]:
        """Those that are kept."""
        return tuple(self._kept)

    def changes(self) -> tuple[RawEvent, ...]:
        """Those that were taken since this was last asked."""
        changed, self._changed = self._changed, {}
        return tuple(self._kept[slot] for slot in changed)

    def _skip(self) -> None:
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self._size)
        over = math.log(1.0 - self._random.random()) / math.log1p(-min(self._weight, 1 - 1e-16))
        self._next = self._seen + int(over) + 1 if math.isfinite(over) else 0
