"""Durations in few integers: logarithmic buckets, from which percentiles are read, and which add up over processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_SUB = 3  # eight buckets between a power of two and the next: a value is known within 1/16 of itself


def bucket(value: int) -> int:
    """The bucket of a duration in nanoseconds; negative ones count as 0."""
    if value < 1 << _SUB:
        return max(value, 0)
    shift = value.bit_length() - _SUB - 1
    return (shift << _SUB) + (value >> shift)


def middle(index: int) -> int:
    """The duration in the middle of a bucket."""
    if index < 2 << _SUB:
        return index
    shift = (index >> _SUB) - 1
    return ((index - (shift << _SUB)) << shift) + (1 << shift >> 1)


def percentile(buckets: Mapping[int, int], share: float) -> int:
    """The smallest duration that a `share` (0 to 1) of all does not exceed, within 1/16; 0 where there are none."""
    wanted = share * sum(buckets.values())
    below = 0
    for index in sorted(buckets):
        below += buckets[index]
        if below >= wanted:
            return middle(index)
    return 0


def add(sketches: Iterable[Iterable[tuple[int, int]]]) -> dict[int, int]:
    """Several sketches, as pairs of bucket and count, as one."""
    whole: dict[int, int] = {}
    for sketch in sketches:
        for index, count in sketch:
            whole[index] = whole.get(index, 0) + count
    return whole
