"""The program's source with what crossed beside it, line by line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from runtime_check.records import SiteRecord
from runtime_check.reports.highlight import Line as Pieces
from runtime_check.reports.perfetto import kind
from runtime_check.reports.units import count, duration, size

_WHOLE = 400  # a file of so many lines is shown whole, a longer one around the lines where something crossed
_AROUND = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """Something said of a line: a verdict, with its kind for the colour."""

    kind: str
    label: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line in coloured pieces with its margin: the cells, how hot it is (0 to 10, by the time the host was blocked),
    its notes, and whether lines before it are left out."""

    number: int
    pieces: Pieces
    margin: tuple[str, ...]
    heat: int
    notes: tuple[Note, ...]
    gap: bool


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """A file of the program; `blocked` is the sum over its lines in nanoseconds."""

    path: str
    anchor: str
    blocked: int
    lines: tuple[Line, ...]


HEADINGS = ("events", "what", "bytes", "blocked")


def listing(
    path: str,
    anchor: str,
    source: Sequence[Pieces],
    records: Iterable[SiteRecord],
    notes: Mapping[int, Sequence[Note]],
    hottest: int,
) -> File:
    """The listing of one file: `records` are those of its lines, `hottest` the blocked time that is shown hottest."""
    here: dict[int, list[SiteRecord]] = {}
    for record in records:
        here.setdefault(own_line(record), []).append(record)
    wanted = sorted({*here, *notes} & set(range(1, len(source) + 1)))
    shown = range(1, len(source) + 1) if len(source) <= _WHOLE else _around(wanted, len(source))
    lines: list[Line] = []
    for number in shown:
        crossed = here.get(number, [])
        blocked = sum(record.blocked.total for record in crossed)
        gap = number != (lines[-1].number + 1 if lines else 1)
        heat = max(round(10 * (blocked / hottest) ** 0.5), 1) if hottest and blocked else 0
        lines.append(Line(number, source[number - 1], _margin(crossed), heat, tuple(notes.get(number, ())), gap))
    total = sum(record.blocked.total for group in here.values() for record in group)
    return File(path, anchor, total, tuple(lines))


def length(lines: int, wanted: int) -> int:
    """How many of a file's lines are shown at most, where something is said of `wanted` of them."""
    return lines if lines <= _WHOLE else min(lines, wanted * (2 * _AROUND + 1))


def own_path(record: SiteRecord) -> str:
    """The file of the program's own line nearest to what crossed."""
    return (record.user or record.site).path


def own_line(record: SiteRecord) -> int:
    """That line."""
    return (record.user or record.site).line


def _margin(crossed: Sequence[SiteRecord]) -> tuple[str, ...]:
    if not crossed:
        return ("", "", "", "")
    moved = sum(record.bytes for record in crossed)
    blocked = sum(record.blocked.total for record in crossed)
    kinds = " ".join(dict.fromkeys(kind(record) for record in crossed))
    events = count(sum(record.count for record in crossed))
    return events, kinds, size(moved) if moved else "", duration(blocked) if blocked else ""


def _around(wanted: Sequence[int], last: int) -> list[int]:
    return sorted({near for one in wanted for near in range(max(1, one - _AROUND), min(last, one + _AROUND) + 1)})
