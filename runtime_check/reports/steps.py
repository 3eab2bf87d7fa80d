"""The steps of a run in three rows: the first, a median one and the slowest."""

from __future__ import annotations

from collections.abc import Iterator

from runtime_check.records import StepTime
from runtime_check.reports.shown import Shown
from runtime_check.reports.units import count, duration, share, size

HEADINGS = ("step", "took", "blocked", "share", "h2d", "d2h", "wait", "bytes")


def rows(shown: Shown) -> list[tuple[str, ...]]:
    """The cells of each row, as `HEADINGS` name them; none where fewer than four steps ended."""
    timed = shown.run.outcome.timed if shown.run.outcome is not None else ()
    return [] if len(timed) < 3 else [_cells(*pair) for pair in zip(("first", "median", "slowest"), timed, strict=True)]


def title(shown: Shown) -> str:
    """What the table is of, and whose times it shows."""
    steps = shown.run.outcome.steps if shown.run.outcome is not None else 0
    by_model = "; took: by the clock here, blocked: modelled" if shown.modelled else ""
    return f"{count(steps, 'step')} (the first with all before it{by_model})"


def table(shown: Shown) -> Iterator[list[tuple[str, str]]]:
    """The rows as lines of styled pieces, for a terminal."""
    made = rows(shown)
    if not made:
        return
    yield [("label", title(shown))]
    widths = [max(len(cells[at]) for cells in (HEADINGS, *made)) for at in range(len(HEADINGS))]
    for style, cells in (("dim", HEADINGS), *(("", cells) for cells in made)):
        head, *numbers = zip(cells, widths, strict=True)
        yield [(style, "  ".join([f"{head[0]:<{head[1]}}", *(f"{cell:>{width}}" for cell, width in numbers)]))]
    yield []


def _cells(name: str, step: StepTime) -> tuple[str, ...]:
    part = share(step.blocked / step.wall) if step.wall > 0 else ""
    return (
        f"{name} ({step.number + 1})",
        duration(step.wall),
        duration(step.blocked) if step.blocked else "0",
        part,
        *(f"{number:,}" for number in (step.h2d, step.d2h, step.waits)),
        size(step.bytes),
    )
