"""The lines of source that a finding rests on, with marks under what is meant. Rows of styled pieces, no colour yet."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterable, Sequence

from transferlint import escaping
from transferlint.model import Finding, Site
from transferlint.rows import Row

_WIDTH = 160  # cells of a source line that are shown
_LEAD = 40  # cells shown before the mark where a line is clipped
_MOST_LINKS = 6
_MOST_LINES = 4
_TAB = 4


@dataclasses.dataclass(frozen=True, slots=True)
class _Mark:
    """A stretch of one line (1-based, end exclusive; 0 for to the end of the line) and what is said about it."""

    line: int
    start: int
    end: int
    sign: str
    style: str
    words: str


def rows(finding: Finding, lines: Sequence[str]) -> list[Row]:
    """The excerpt of one finding; `lines` is the text of its file. Evidence in other files is left to the notes."""
    marks = list(_marks(finding, lines))
    if not marks:
        return []
    gutter = max(4, max(len(str(mark.line)) for mark in marks) + 1)
    found: list[Row] = []
    before = None
    for number in sorted({mark.line for mark in marks}):
        if before is not None and number == before + 2 and not _clipped(lines[before]):
            found.append(_source(gutter, before + 1, _clean(lines[before])[0]))
        elif before is not None and number > before + 1:
            found.append([("dim", " " * (gutter - 3) + "...")])
        here = [mark for mark in marks if mark.line == number]
        shown, cells = _clean(lines[number - 1])
        left = _left(cells, here) if cells[-1] > _WIDTH else 0
        found.append(_source(gutter, number, _cut(shown, cells, left)))
        found.extend(_underline(gutter, mark, cells, left) for mark in here)
        before = number
    return found


def links(finding: Finding, lines: Sequence[str]) -> list[str]:
    """The evidence that the excerpt does not show, as notes: in other files, or beyond the first few."""
    inside = [link for link in finding.evidence if _shows(link.site, finding.site.path, lines)]
    rest = [link for link in finding.evidence if link not in inside[:_MOST_LINKS]]
    return [f"{link.message} ({link.site.path}:{link.site.line})" for link in rest]


def _shows(site: Site, path: str, lines: Sequence[str]) -> bool:
    return site.path == path and 1 <= site.line <= len(lines)


def _marks(finding: Finding, lines: Sequence[str]) -> Iterable[_Mark]:
    """The evidence of this file and the site itself; evidence about the site becomes the words at the site."""
    site = finding.site
    inside = [link for link in finding.evidence if _shows(link.site, site.path, lines)][:_MOST_LINKS]
    own = "; ".join(link.message for link in inside if link.site == site)
    for link in inside:
        if link.site != site:
            yield from _stretch(link.site, lines, "-", "evidence", link.message, 1)
    if _shows(site, site.path, lines):
        yield from _stretch(site, lines, "^", "site", own, _MOST_LINES)


def _stretch(site: Site, lines: Sequence[str], sign: str, style: str, words: str, most: int) -> Iterable[_Mark]:
    """One mark a line of the site, `most` lines at most; the last carries the words."""
    last = min(max(site.end_line, site.line), site.line + most - 1, len(lines))
    for number in range(site.line, last + 1):
        text = lines[number - 1]
        start = site.column if number == site.line else len(text) - len(text.lstrip()) + 1
        end = site.end_column if number == site.end_line else 0
        yield _Mark(number, start, end, sign, style, words if number == last else "")


def _clean(line: str) -> tuple[str, list[int]]:
    """A line as a terminal may show it, and the cell at which each of its code points starts (and the end)."""
    shown: list[str] = []
    cells = [0]
    for character in line:
        piece = " " * (_TAB - cells[-1] % _TAB) if character == "\t" else escaping.character(character)
        shown.append(piece)
        cells.append(cells[-1] + sum(_cells(single) for single in piece))
    return "".join(shown), cells


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _clipped(line: str) -> bool:
    return len(line) > _WIDTH


def _left(cells: list[int], marks: Sequence[_Mark]) -> int:
    """The cell from which a line too long to be shown whole is shown."""
    first = min(_at(cells, mark.start) for mark in marks)
    return max(0, first - _LEAD)


def _at(cells: list[int], column: int) -> int:
    return cells[max(0, min(column - 1, len(cells) - 1))]


def _cut(shown: str, cells: list[int], left: int) -> str:
    if cells[-1] <= _WIDTH and not left:
        return shown.rstrip()
    out, at = [], 0
    for character in shown:
        if left <= at < left + _WIDTH:
            out.append(character)
        at += _cells(character)
        if at >= left + _WIDTH:
            break
    return ("..." if left else "") + "".join(out) + ("..." if cells[-1] > left + _WIDTH else "")


def _source(gutter: int, number: int, shown: str) -> Row:
    return [("dim", f"{number:>{gutter}} |"), ("", f" {shown}" if shown else "")]


def _underline(gutter: int, mark: _Mark, cells: list[int], left: int) -> Row:
    start = _at(cells, mark.start) - left
    end = (_at(cells, mark.end) if mark.end else cells[-1]) - left
    shift = 3 if left else 0
    signs = mark.sign * max(1, min(end, _WIDTH) - start)
    words = f" {mark.words}" if mark.words else ""
    return [("dim", " " * gutter + " |"), ("", " " * (start + shift + 1)), (mark.style, signs + words)]
