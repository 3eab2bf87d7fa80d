"""One of several parts of a run, for machines that share the work: which files each of them reports on.

Files stand in the order in which they are discovered, that of their paths, and each part is a run of neighbours of
about the same number of bytes: the bytes before a file and half of its own say where it falls. So every file is in one
part alone, no part has more than its share and one file, and when a file changes, only what stands next to where two
parts meet can move. That rests on the paths and sizes of the files: all machines must have the same files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TypeVar

from transferlint import late

_FILE = 200  # what a file costs beside its bytes, in bytes: it is found, opened and reported on
_MOST = 10_000  # parts

T = TypeVar("T")


@late.dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` of `count`, both counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, items: Sequence[T], weights: Sequence[int]) -> list[T]:
        """The items of this part, in their order; `weights` are positive, one an item."""
        total = sum(weights)
        found, before = [], 0
        for item, weight in zip(items, weights, strict=True):
            # In integers, so that every machine comes to the same: the middle of the item, in parts of the total.
            if (2 * before + weight) * self.count // (2 * total) == self.index - 1:
                found.append(item)
            before += weight
        return found


def parse(text: str) -> Shard:
    """What `I/N` stands for. Raises ValueError with one line on what is wrong with it."""
    found = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if found is None:
        raise ValueError(f"{text!r} is not I/N, such as 2/4: the second of four")
    index, count = int(found[1]), int(found[2])
    if not 1 <= count <= _MOST:
        raise ValueError(f"{text!r}: the number of parts is from 1 to {_MOST:,}")
    if not 1 <= index <= count:
        raise ValueError(f"{text!r}: the parts of {count} are counted from 1 to {count}")
    return Shard(index, count)


def weight(path: str) -> int:
    """What a file weighs: its size in bytes, and something for every file."""
    try:
        return os.stat(path).st_size + _FILE
    except OSError:
        return _FILE
