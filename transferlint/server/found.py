"""Findings where the editor has them: each with the URI, the text and the range that it stands in."""

from __future__ import annotations

import dataclasses
import os

from transferlint import late
from transferlint.engine.cells import by_cells
from transferlint.engine.plan import UNPARSABLE
from transferlint.model import Evidence, Finding, Site
from transferlint.server.checking import Analysis
from transferlint.server.documents import Documents, uri_of
from transferlint.server.positions import Lines, Position, Range
from transferlint.syntax.source import SourceError, decode

_IN_CELL = late.pattern(r"cell (\d+), line (\d+): ")


@dataclasses.dataclass(frozen=True)
class Found:
    """A finding of a document: `number` is its place among all, `whole` the finding as the rules have it (that of a
    notebook stands in the text of all cells), `told` the one to show; `lines` are those of the document or cell."""

    number: int
    whole: Finding
    told: Finding
    uri: str
    version: int | None
    lines: Lines
    range: Range


@dataclasses.dataclass(frozen=True)
class Link:
    """A piece of evidence: where it stands, and what it shows."""

    uri: str
    range: Range
    message: str
    place: str


def found(analysis: Analysis, documents: Documents) -> list[Found]:
    """The findings of a document, in order."""
    if analysis.checked is None:
        return []
    outcome, _ = by_cells(analysis.checked.outcome)
    pairs = zip(analysis.checked.outcome.findings, outcome.findings, strict=True)
    return [_found(number, whole, told, analysis, documents) for number, (whole, told) in enumerate(pairs)]


def _found(number: int, whole: Finding, told: Finding, analysis: Analysis, documents: Documents) -> Found:
    site, document = told.site, analysis.document
    inside = _IN_CELL.match(told.message) if document.notebook and not site.cell else None
    if inside is not None:  # a cell that cannot be read, so that there is no text of all
        site = late.replace(site, line=int(inside[2]), end_line=int(inside[2]))
    uri, text, version = document.part(int(inside[1]) if inside is not None else site.cell)
    lines = documents.lines(text)
    return Found(number, whole, told, uri, version, lines, _range(site, lines, told.code == UNPARSABLE[0]))


def _range(site: Site, lines: Lines, of_line: bool = False) -> Range:
    """The range of a site; that of one without extent is all that stands in its line."""
    start, end = lines.at(site.line, site.column), lines.at(site.end_line, site.end_column)
    if of_line or end <= start:
        line = lines.line(site.line - 1)
        first = lines.at(site.line, 1)
        start, end = first + len(line) - len(line.lstrip()), first + len(line.rstrip())
    return lines.range(start, max(start, end))


def evidence(one: Found, analysis: Analysis, documents: Documents) -> list[Link]:
    """The evidence of a finding, in order; what stands in a file that cannot be read is left out."""
    found = []
    for link in one.told.evidence:
        place = _place(link, analysis, documents)
        if place is not None:
            shown = f"{link.site.path}:{link.site.line}"
            found.append(Link(place[0], _range(link.site, place[1]), link.words, shown))
    return found


def _place(link: Evidence, analysis: Analysis, documents: Documents) -> tuple[str, Lines] | None:
    """The URI and the text in which a piece of evidence stands."""
    document = analysis.document
    assert analysis.checked is not None
    if link.site.file == analysis.checked.outcome.path:
        uri, text, _ = document.part(link.site.cell)
        return uri, documents.lines(text)
    path = os.path.join(analysis.folder, link.site.file)
    for other in documents.all():
        if other.path == path and not other.notebook:
            return other.uri, documents.lines(other.text)
    try:
        with open(path, "rb") as file:
            return uri_of(path), documents.lines(decode(path, file.read()).text)
    except (OSError, ValueError, SourceError):
        return None


def touches(one: Range, other: Range) -> bool:
    """Whether two ranges have a character or an end in common."""
    return one.start <= other.end and other.start <= one.end


def around(one: Range, at: Position) -> bool:
    """Whether a position lies in a range or at an end of it."""
    return one.start <= at <= one.end
