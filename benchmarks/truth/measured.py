"""From a table's rows to what is true of a line: whether it ran, how often in a step, on which side, what crossed."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from truth.marks import STEPS
from truth.tables import Crossing, File, Table

READS, UPLOADS = "to the host", "to the device"  # a wait that moves nothing counts with the reads


@dataclasses.dataclass
class Line:
    """A line. `frequency` is the share of steps in which it ran, of the kinds of step that call its function at all
    (None where its function never ran); `device` and `host` are operators that it started."""

    executions: int = 0
    frequency: float | None = None
    device: int = 0
    host: int = 0


@dataclasses.dataclass
class Crossed:
    """What crossed one way at a line. `share` is the greatest share of the steps of one kind in which it did, `rows`
    the crossings; `repeated` says that half of what was uploaded was what had been uploaded the time before."""

    share: float
    rows: list[Crossing]

    @property
    def repeated(self) -> bool:
        """Whether the same bytes came again, half of the time or more."""
        count = sum(row.count for row in self.rows)
        return count > 2 and sum(row.repeated for row in self.rows) * 2 >= count

    @property
    def site(self) -> tuple[int, int, int, int]:
        """The place that crossed most."""
        return max(self.rows, key=lambda row: row.count).site

    @property
    def operation(self) -> str:
        """The operation that crossed most."""
        return max(self.rows, key=lambda row: row.count).operation


@dataclasses.dataclass
class Measured:
    """What is true of the lines of a file. `arms` are the places of conditions, with how often each was true and
    false."""

    lines: dict[int, Line]
    crossed: dict[tuple[int, str], Crossed]
    arms: dict[tuple[int, int, int, int], tuple[int, int]]

    def never(self, site: tuple[int, int, int, int], answer: bool) -> bool:
        """Whether the expression at a place was asked whether it is true and never gave this answer."""
        found = self.arms.get(site)
        return found is not None and found[0 if answer else 1] == 0


def way(crossing: Crossing) -> str:
    """Which of the two classes a crossing is of."""
    return UPLOADS if crossing.direction == "h2d" else READS


def of_file(table: Table, file: File, functions: dict[int, int]) -> Measured:
    """The lines of one file. `functions` maps lines to the first line of the function that they stand in."""
    steps = [one.steps if one.phase == STEPS else 0 for one in table.sections]
    called: dict[int, set[int]] = defaultdict(set)  # by first line of a function: sections that called it
    for section, first, _ in file.calls:
        called[first].add(section)
    lines: dict[int, Line] = defaultdict(Line)
    ran: dict[int, dict[int, int]] = defaultdict(dict)
    for (section, line), (count, distinct) in file.lines.items():
        lines[line].executions += count
        ran[line][section] = distinct
    for (_, line), (device, host) in file.operators.items():
        lines[line].device += device
        lines[line].host += host
    for line, first in functions.items():
        sections = called.get(first)
        if sections:
            in_steps = [one for one in sections if steps[one]]
            total = sum(steps[one] for one in in_steps)
            hits = sum(min(ran[line].get(one, 0), steps[one]) for one in in_steps) if line in ran else 0
            lines[line].frequency = hits / total if total else 0.0
    return Measured(dict(lines), _crossed(table, file, steps), _arms(file))


def _arms(file: File) -> dict[tuple[int, int, int, int], tuple[int, int]]:
    arms: dict[tuple[int, int, int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for one in file.branches:
        if one.kind == "if":
            yes, no = arms[one.site]
            arms[one.site] = yes + one.yes, no + one.no
    return dict(arms)


def _crossed(table: Table, file: File, steps: list[int]) -> dict[tuple[int, str], Crossed]:
    by_line: dict[tuple[int, str], list[Crossing]] = defaultdict(list)
    for row in file.crossings:
        by_line[row.site[0], way(row)].append(row)
    found = {}
    for key, rows in by_line.items():
        shares: dict[int, float] = defaultdict(float)
        for row in rows:
            if steps[row.section] > 1:
                shares[row.section] = max(shares[row.section], row.steps / steps[row.section])
        found[key] = Crossed(max(shares.values(), default=0.0), rows)
    return found
