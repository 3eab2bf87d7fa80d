"""Slices of time on tracks: what a trace viewer draws, before it is put into a format."""

from __future__ import annotations

import bisect
import dataclasses
import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

APART = 10  # nanoseconds between slices of a track: a viewer that rounds the microseconds sees no overlap


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Something that took `length` nanoseconds from `start` on; no two are the same one."""

    name: str
    category: str
    start: int
    length: int
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Track:
    """Slices that follow each other or lie within each other. `device` says whose they are: "" for the host's."""

    name: str
    slices: tuple[Slice, ...]
    device: str = ""


def lanes(slices: Iterable[Slice]) -> list[list[Slice]]:
    """The slices on as few tracks as will do without any two that overlap. Those of a time by a model overlap where
    the program was quicker than the modelled device, and those of threads where they ran at the same time."""
    found: list[list[Slice]] = []
    free: list[tuple[int, int]] = []  # when a lane is free again, and its number
    for one in sorted(slices, key=lambda one: one.start):
        if free and free[0][0] <= one.start:
            lane = heapq.heappop(free)[1]
        else:
            lane = len(found)
            found.append([])
        found[lane].append(one)
        heapq.heappush(free, (one.start + max(one.length, 1) + APART, lane))
    return found


def pairs(first: Sequence[Slice], second: Sequence[Slice]) -> list[tuple[Slice, Slice]]:
    """Each slice of `second` with the last of `first` that began before it."""
    ordered = sorted(first, key=lambda one: one.start)
    starts = [one.start for one in ordered]
    before = [(bisect.bisect_left(starts, one.start), one) for one in second]
    return [(ordered[number - 1], one) for number, one in before if number]
