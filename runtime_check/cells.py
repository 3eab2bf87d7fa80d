"""What one cell of a notebook moved: counts and lines, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from runtime_check import naming
from runtime_check.records import SiteRecord
from runtime_check.reports.units import count, duration, share, size
from runtime_check.totals import Totals
from transferlint.model import Direction

HEADINGS = ("h2d", "d2h", "wait", "bytes", "blocked")
_LONGEST = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A line at which something crossed: `place` ("line 3", "Cell In[2], line 4", "train.py:31"), the cells of
    `HEADINGS`, the line's text, and notes below it: where in a library it was, and what was said of the line."""

    place: str
    cells: tuple[str, ...]
    text: str
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class CellReport:
    """What a cell moved. IPython shows it as HTML where it can, and as text elsewhere."""

    headline: str
    rows: tuple[Row, ...]
    time_source: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"transfers: {self.headline}"]
        if self.rows:
            table = [("", *HEADINGS), *((row.place, *row.cells) for row in self.rows)]
            widths = [max(len(cells[at]) for cells in table) for at in range(len(HEADINGS) + 1)]
            texts = ("", *(row.text for row in self.rows))
            below = ((), *(row.notes for row in self.rows))
            for cells, text, notes in zip(table, texts, below, strict=True):
                first = cells[0].ljust(widths[0])
                numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
                lines.append("  ".join((first, *numbers, *((f"| {text}",) if text else ()))))
                lines += [f"{' ' * (sum(widths) + 2 * len(widths))}|   {note}" for note in notes]
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from transferlint import pages

        values = {"report": self, "headings": HEADINGS}
        return pages.render("cell.html", Path(__file__).parent / "reports", values)


def report(
    records: Sequence[SiteRecord],
    totals: Totals,
    seconds: float,
    time_source: str,
    *,
    place: Callable[[str, int], str],
    said: Callable[[str, int], Sequence[str]] = lambda path, line: (),
    notes: Iterable[str] = (),
) -> CellReport:
    """The report of a cell that took `seconds`. `place` says how a line of a file is shown; `said` what else there is
    to say of it; `notes` stand below."""
    here: dict[tuple[str, int], list[SiteRecord]] = {}
    for record in records:
        if record.crossed:
            site = record.user or record.site
            here.setdefault((site.path, site.line), []).append(record)
    ordered = sorted(here.items(), key=lambda one: -sum(record.blocked.total for record in one[1]))
    rows = tuple(
        Row(
            place(path, line),
            _cells(group),
            linecache.getline(path, line).strip()[:_LONGEST],
            (*_inside(group), *said(path, line)),
        )
        for (path, line), group in ordered
    )
    return CellReport(_headline(totals, seconds, time_source), rows, time_source, tuple(notes))


def _headline(totals: Totals, seconds: float, time_source: str) -> str:
    taken = duration(round(seconds * 1e9))
    if not (totals.h2d or totals.d2h or totals.sync):
        return f"none · the cell took {taken}"
    moved = (("h2d", totals.h2d, totals.h2d_bytes), ("d2h", totals.d2h, totals.d2h_bytes))
    parts = [f"{name} {number:,}" + (f" ({size(of)})" if number else "") for name, number, of in moved]
    part = totals.blocked_ns / (seconds * 1e9) if seconds and time_source == "measured" else None
    of_it = "" if part is None else f", {share(part)} of the cell"
    blocked = f"the host was blocked for {duration(totals.blocked_ns)} ({time_source}{of_it})"
    return " · ".join((*parts, count(totals.sync, "wait"), blocked, f"the cell took {taken}"))


def _cells(group: Sequence[SiteRecord]) -> tuple[str, ...]:
    ways = [
        sum(record.count for record in group if record.direction is way)
        for way in (Direction.H2D, Direction.D2H, Direction.NONE)
    ]
    moved, blocked = sum(record.bytes for record in group), sum(record.blocked.total for record in group)
    numbers = [f"{number:,}" if number else "" for number in ways]
    return (*numbers, size(moved) if moved else "", duration(blocked) if blocked else "")


def _inside(group: Sequence[SiteRecord]) -> list[str]:
    """Where in libraries it was."""
    times: dict[str, int] = {}
    for record in group:
        if record.user is not None:
            place = f"in {naming.in_library(record.site.path)}:{record.site.line}, `{record.function}`"
            times[place] = times.get(place, 0) + record.count
    return [f"{place} ({count(number, 'time')})" for place, number in times.items()]
