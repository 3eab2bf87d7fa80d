"""The lines of source that a finding rests on, with marks under what is meant. Rows of styled pieces, no colour yet."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from transferlint import escaping, late
from transferlint.model import Finding, Site
from transferlint.rows import Row

_WIDTH = 160  # cells of a source line that are shown
_LEAD = 40  # cells shown before the mark where a line is clipped
_DOTS = 6  # cells of what stands for the parts of a line that are not shown
_MOST_LINKS = 6
_MOST_LINES = 4
_TAB = 4


@late.dataclass(frozen=True, slots=True)
class _Mark:
    """A stretch of one line (1-based, end exclusive; 0 for to the end of the line) and what is said about it."""

    line: int
    start: int
    end: int
    sign: str
    style: str
    words: str


@late.dataclass(frozen=True, slots=True)
class _View:
    """The part of a line that is shown: so many cells from this one on."""

    left: int
    room: int

    @property
    def end(self) -> int:
        return self.left + self.room


def rows(finding: Finding, lines: Sequence[str], width: int = 0) -> list[Row]:
    """The excerpt of one finding; `lines` is the text of its file. Evidence in other files is left to the notes. A row
    has at most `width` cells where that is not 0."""
    marks = list(_marks(finding, lines))
    if not marks:
        return []
    gutter = max(4, max(len(str(mark.line)) for mark in marks) + 1)
    room = min(_WIDTH, width - gutter - 3) if width else _WIDTH
    found: list[Row] = []
    before = None
    for number in sorted({mark.line for mark in marks}):
        if before is not None and number == before + 2 and len(lines[before]) <= room:
            found.append(_source(gutter, before + 1, _clean(lines[before])[0]))
        elif before is not None and number > before + 1:
            found.append([("dim", " " * (gutter - 3) + "...")])
        here = [mark for mark in marks if mark.line == number]
        shown, cells = _clean(lines[number - 1])
        view = _view(cells, here, room, bool(width))
        found.append(_source(gutter, number, _cut(shown, cells, view)))
        for mark in here:
            found.extend(_underline(gutter, mark, cells, view, width))
        before = number
    return found


def links(finding: Finding, lines: Sequence[str]) -> list[str]:
    """The evidence that the excerpt does not show, as notes: in other files, or beyond the first few."""
    inside = [link for link in finding.evidence if _shows(link.site, finding.site.path, lines)]
    rest = [link for link in finding.evidence if link not in inside[:_MOST_LINKS]]
    return [f"{link.words} ({link.site.path}:{link.site.line})" for link in rest]


def _shows(site: Site, path: str, lines: Sequence[str]) -> bool:
    return site.path == path and 1 <= site.line <= len(lines)


def _marks(finding: Finding, lines: Sequence[str]) -> Iterable[_Mark]:
    """The evidence of this file and the site itself; evidence about the site becomes the words at the site."""
    site = finding.site
    inside = [link for link in finding.evidence if _shows(link.site, site.path, lines)][:_MOST_LINKS]
    own = "; ".join(link.words for link in inside if link.site == site)
    for link in inside:
        if link.site != site:
            yield from _stretch(link.site, lines, "-", "evidence", link.words, 1)
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
    if line.isascii() and line.isprintable():  # as most are: each in a cell of its own
        return line, list(range(len(line) + 1))
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


def _view(cells: list[int], marks: Sequence[_Mark], room: int, exact: bool) -> _View:
    """What of a line is shown in so many cells; `exact` counts what stands for the rest among them."""
    if cells[-1] <= room:
        return _View(0, room)
    own = [mark for mark in marks if mark.style == "site"] or marks
    first = min(_at(cells, mark.start) for mark in own)
    return _View(max(0, first - min(_LEAD, room // 3)), room - _DOTS if exact else room)


def _at(cells: list[int], column: int) -> int:
    return cells[max(0, min(column - 1, len(cells) - 1))]


def _cut(shown: str, cells: list[int], view: _View) -> str:
    if cells[-1] <= view.room and not view.left:
        return shown.rstrip()
    out, at = [], 0
    for character in shown:
        if view.left <= at < view.end:
            out.append(character)
        at += _cells(character)
        if at >= view.end:
            break
    return ("..." if view.left else "") + "".join(out) + ("..." if cells[-1] > view.end else "")


def _source(gutter: int, number: int, shown: str) -> Row:
    return [("dim", f"{number:>{gutter}} |"), ("", f" {shown}" if shown else "")]


def _underline(gutter: int, mark: _Mark, cells: list[int], view: _View, width: int) -> Iterable[Row]:
    """The signs and, behind them or (where there is no room) below, the words."""
    start = min(max(0, _at(cells, mark.start) - view.left), view.room - 1)
    end = (_at(cells, mark.end) if mark.end else cells[-1]) - view.left
    shift = 3 if view.left else 0
    signs = mark.sign * max(1, min(end, view.room) - start)
    margin: Row = [("dim", " " * gutter + " |")]
    before = start + shift + 1
    if not width or not mark.words or gutter + 2 + before + len(signs) + 1 + len(mark.words) <= width:
        yield [*margin, ("", " " * before), (mark.style, signs + (f" {mark.words}" if mark.words else ""))]
        return
    yield [*margin, ("", " " * before), (mark.style, signs)]
    room = max(20, width - gutter - 2 - before)
    before = min(before, max(1, width - gutter - 2 - room))
    for line in textwrap.wrap(mark.words, room, break_on_hyphens=False):
        yield [*margin, ("", " " * before), (mark.style, line)]
