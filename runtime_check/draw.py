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
        self._kept: list[tuple[int, int, int, int, int]] = []
        self._changed: dict[int, None] = {}
        self._weight = 1.0
        self._seen = 0  # events that were offered,
        self._next = 1 if size else 0  # and the number of the next that is taken; 0 for none

    def offer(self, site: int, event: Event, blocked: int, step: int, origin: int) -> None:
        """Take or pass over an event of the record `site`; times are kept relative to `origin`."""
        self._seen += 1
        if self._seen == self._next:
            self._take((site, event.started - origin, blocked, event.bytes, step))

    def _take(self, taken: tuple[int, int, int, int, int]) -> None:
        slot = len(self._kept)
        if slot < self._size:
            self._kept.append(taken)
            self._next = self._seen + 1
            if slot + 1 == self._size:
                self._skip()
        else:
            slot = self._random.randrange(self._size)
            self._kept[slot] = taken
            self._skip()
        self._changed[slot] = None

    def events(self) -> tuple[RawEvent, ...]:
        """Those that are kept."""
        return tuple(RawEvent(slot, *taken) for slot, taken in enumerate(self._kept))

    def changes(self) -> tuple[RawEvent, ...]:
        """Those that were taken since this was last asked."""
        changed, self._changed = self._changed, {}
        return tuple(RawEvent(slot, *self._kept[slot]) for slot in changed)

    def _skip(self) -> None:
        self._weight *= math.exp(math.log(1.0 - self._random.random()) / self._size)
        over = math.log(1.0 - self._random.random()) / math.log1p(-min(self._weight, 1 - 1e-16))
        self._next = self._seen + int(over) + 1 if math.isfinite(over) else 0
