"""How many findings of each rule there are."""

from __future__ import annotations

import collections
import json

from transferlint import escaping
from transferlint.reporters.report import Report


def render(report: Report) -> str:
    """A line a code, the most frequent first; `[*]` where some are fixable with --fix, `[u]` with --unsafe-fixes."""
    lines = []
    for code, name, number, safe, unsafe in _rows(report):
        mark = "[*]" if safe else "[u]" if unsafe else "[ ]"
        lines.append(f"{number:>6}  {code}  {mark}  {name}")
    return escaping.lines(lines)


def render_json(report: Report) -> str:
    """The same as a JSON list."""
    keys = ("code", "name", "count", "fixable", "fixable_unsafely")
    return escaping.data(json.dumps([dict(zip(keys, row, strict=True)) for row in _rows(report)], indent=2)) + "\n"


def _rows(report: Report) -> list[tuple[str, str, int, int, int]]:
    counts: collections.Counter[str] = collections.Counter()
    names: dict[str, str] = {}
    options: collections.Counter[tuple[str, str]] = collections.Counter()
    for (code, name, option), number in report.counted().items():
        counts[code] += number
        names[code] = name
        options[code, option] += number
    return [
        (code, names[code], number, options[code, "--fix"], options[code, "--unsafe-fixes"])
        for code, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
