"""Counts of lines as a line profiler prints them: of each function in which something crossed, every line with how
often it ran, in how many steps, and what crossed there."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runtime_check.records import Counted, SiteRecord
from runtime_check.reports.shown import Shown
from runtime_check.reports.source import own_line, own_path
from runtime_check.reports.units import duration, size
from transferlint.model import Direction

_NONE = ("", 0, 0)  # of lines outside of functions, only those are shown that crossed
HEADINGS = ("line", "runs", "steps", "h2d", "d2h", "wait", "bytes", "blocked")


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function (or what stands outside of any, named after its file): its lines, each with the cells of `HEADINGS`
    and its text. `blocked` is the sum over its lines, in nanoseconds."""

    path: str
    name: str
    lines: tuple[tuple[tuple[str, ...], str], ...]
    blocked: int


def functions(shown: Shown) -> list[Function]:
    """The functions of the counted files in which something crossed, those that kept the host longest first."""
    found: list[Function] = []
    for counted in shown.run.counted:
        here: dict[int, list[SiteRecord]] = {}
        for record in shown.run.sites:
            if record.crossed and own_path(record) == counted.path:
                here.setdefault(own_line(record), []).append(record)
        if here:
            found += _of_file(counted, shown.texts.get(counted.path, ()), here)
    return sorted(found, key=lambda one: -one.blocked)


def _of_file(counted: Counted, text: Sequence[str], here: Mapping[int, Sequence[SiteRecord]]) -> Iterator[Function]:
    counts = {line: (count, steps) for line, count, steps in counted.lines}
    inside: dict[tuple[str, int, int], list[int]] = {}
    spans = _spans(text)
    for line in here:
        around = [span for span in spans if span[1] <= line <= span[2]]
        inside.setdefault(max(around, key=lambda span: span[1], default=_NONE), []).append(line)
    for (name, first, last), crossed in sorted(inside.items(), key=lambda one: one[0][1]):
        numbers = range(first, last + 1) if first else sorted(crossed)
        rows = tuple(_row(number, counts, here, text) for number in numbers if number <= len(text))
        blocked = sum(record.blocked.total for line in crossed for record in here[line])
        yield Function(counted.path, name, rows, blocked)


def _row(
    number: int, counts: Mapping[int, tuple[int, int]], here: Mapping[int, Sequence[SiteRecord]], text: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    count, steps = counts.get(number, (0, 0))
    records = here.get(number, ())
    by_way = [
        sum(record.count for record in records if record.direction is way)
        for way in (Direction.H2D, Direction.D2H, Direction.NONE)
    ]
    moved, blocked = sum(record.bytes for record in records), sum(record.blocked.total for record in records)
    numbers = [str(number), *(f"{one:,}" if one else "" for one in (count, steps, *by_way))]
    cells = (*numbers, size(moved) if moved else "", duration(blocked) if blocked else "")
    return cells, text[number - 1]


def _spans(text: Sequence[str]) -> list[tuple[str, int, int]]:
    """The functions of a file: name, first line (a decorator's, where there is one) and last."""
    try:
        tree = ast.parse("\n".join(text))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found: list[tuple[str, int, int]] = []

    def walk(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{name}.{child.name}" if name else child.name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                found.append((inner, first, child.end_lineno or child.lineno))
            walk(child, inner)

    walk(tree, "")
    return found


def table(shown: Shown, made: Iterable[Function]) -> Iterator[list[tuple[str, str]]]:
    """The functions as lines of styled pieces, for a terminal."""
    for one in made:
        widths = [max(len(cells[at]) for cells in (HEADINGS, *(cells for cells, _ in one.lines))) for at in range(8)]
        yield [("path", shown.path(one.path)), ("", f" {one.name}".rstrip())]
        yield [("dim", "  ".join(f"{head:>{width}}" for head, width in zip(HEADINGS, widths, strict=True)))]
        for cells, text in one.lines:
            margin = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
            yield [("" if any(cells[3:6]) else "dim", margin), ("dim", " | "), ("", text)]
        yield []
