"""Which value was last put on each address of memory, in a bounded number of ranges."""

from __future__ import annotations

import bisect
from typing import Generic, TypeVar

T = TypeVar("T")


class Ranges(Generic[T]):
    """Ranges of addresses that do not overlap, each with a value; what is put later covers what lay there before. A
    value has an owner, by whose number it is forgotten. Beyond `limit` ranges, the oldest are forgotten."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._starts: list[int] = []  # sorted
        self._held: dict[int, tuple[int, T, int]] = {}  # start: (end, value, owner), oldest first
        self._owned: dict[int, set[int]] = {}  # owner: starts

    def __len__(self) -> int:
        return len(self._starts)

    def put(self, start: int, end: int, value: T, owner: int = 0) -> None:
        """Put a value on the addresses from `start`, before `end`."""
        if end <= start:
            return
        for left in self._overlapping(start, end):
            right, old, owned = self._held[left]
            self._drop(left)
            if left < start:
                self._insert(left, start, old, owned)
            if right > end:
                self._insert(end, right, old, owned)
        self._insert(start, end, value, owner)
        while len(self._starts) > self._limit:
            self._drop(next(iter(self._held)))

    def over(self, start: int, end: int) -> list[T]:
        """The values on any of those addresses, in the order of the addresses."""
        return [self._held[left][1] for left in self._overlapping(start, end)]

    def forget(self, owner: int) -> None:
        """Leave out an owner's values."""
        for left in list(self._owned.get(owner, ())):
            self._drop(left)

    def _overlapping(self, start: int, end: int) -> list[int]:
        if end <= start:
            return []
        first = bisect.bisect_right(self._starts, start) - 1
        if first < 0 or self._held[self._starts[first]][0] <= start:
            first += 1
        return self._starts[first : bisect.bisect_left(self._starts, end)]

    def _insert(self, start: int, end: int, value: T, owner: int) -> None:
        bisect.insort(self._starts, start)
        self._held[start] = end, value, owner
        self._owned.setdefault(owner, set()).add(start)

    def _drop(self, start: int) -> None:
        del self._starts[bisect.bisect_left(self._starts, start)]
        owner = self._held.pop(start)[2]
        owned = self._owned[owner]
        owned.discard(start)
        if not owned:
            del self._owned[owner]
