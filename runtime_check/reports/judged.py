"""Verdicts and misses as the HTML page shows them: in its table, folded, and below the lines of the source."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from runtime_check import phrases
from runtime_check.reports import highlight
from runtime_check.reports import shown as parts
from runtime_check.reports.highlight import Line
from runtime_check.reports.shown import Shown
from runtime_check.reports.source import Note, own_line, own_path
from runtime_check.reports.units import count
from runtime_check.verdicts import Missed, Verdict, VerdictKind, other_ends
from transferlint.model import Site

_MOST = (300, 200, 100)  # rows of the table: verdicts, misses, what is as it is
_MOST_UNREACHED = 200
_MOST_PLACES = 6  # further sites of one verdict that are listed


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A verdict or a miss. `others` are the further sites that it is about, each with its link ("" for none)."""

    kind: str
    label: str
    place: str
    href: str
    title: str
    source: Line
    text: str
    act: str
    cells: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()


class Page:
    """What a page shows: `anchors` are the ids of the files whose source it holds."""

    def __init__(self, shown: Shown, anchors: Mapping[str, str]) -> None:
        self.shown = shown
        self.anchors = anchors
        self._lines: dict[str, list[Line]] = {}
        self._records = {record.id: record for record in shown.run.sites}

    def href(self, site: Site) -> str:
        """The link to a line of the source; "" where the page does not hold it."""
        return self._href(site.path, site.line)

    def _href(self, path: str, line: int) -> str:
        known = path in self.anchors and 1 <= line <= len(self.shown.texts.get(path, ()))
        return f"#{self.anchors[path]}-{line}" if known else ""

    def lines(self, path: str) -> list[Line]:
        """A file in coloured pieces."""
        if path not in self._lines:
            self._lines[path] = highlight.lines(self.shown.texts.get(path, ()))
        return self._lines[path]

    def source(self, site: Site) -> Line:
        """The line of a site without its indentation, in coloured pieces; empty where it is not to be had."""
        lines = self.lines(site.path)
        return highlight.stripped(lines[site.line - 1]) if 1 <= site.line <= len(lines) else ()

    def others(self, one: Verdict | Missed) -> list[tuple[str, int]]:
        """The lines of the program's own, beside its first, that a verdict or a miss is about: all where it crossed,
        and the other ends of its round trips."""
        records = list(one.records)
        if isinstance(one, Verdict):
            ends = {end for link in one.links for end in (link.first, link.second)}
            records += [self._records[end] for end in ends & self._records.keys()]
            records += other_ends(one.finding, self.shown.run) if one.records else ()
        site = one.finding.site if isinstance(one, Verdict) else one.site
        places = {(own_path(record), own_line(record)) for record in records}
        return sorted(places - {(site.path, site.line)})

    def listed(self, one: Verdict | Missed) -> tuple[tuple[str, str], ...]:
        """`others` as words and links; of many, the first."""
        found = self.others(one)
        links = [(f"{self.shown.path(path)}:{line}", self._href(path, line)) for path, line in found[:_MOST_PLACES]]
        more = len(found) - _MOST_PLACES
        return (*links, *([(f"{more:,} more", "")] if more > 0 else []))


def rows(page: Page) -> tuple[list[Row], int]:
    """The table, and how many rows it would have beyond that."""
    shown = page.shown
    groups: tuple[Sequence[Verdict | Missed], ...] = (_reached(shown), shown.misses, shown.explained)
    kept = [one for group, most in zip(groups, _MOST, strict=True) for one in group[:most]]
    return [_row(page, one) for one in kept], sum(map(len, groups)) - len(kept)


def unreached(page: Page) -> tuple[list[Row], int]:
    """The findings that were not reached, and how many more there are; those of a file that the run did not import are
    one row."""
    every = [one for one in page.shown.judgement.verdicts if one.kind is VerdictKind.NOT_REACHED]
    here = [one for one in every if one.text != phrases.NEVER_IMPORTED]
    files: dict[str, int] = {}
    for one in every:
        if one.text == phrases.NEVER_IMPORTED:
            files[one.finding.site.path] = files.get(one.finding.site.path, 0) + 1
    found = [_row(page, one) for one in here[:_MOST_UNREACHED]]
    found += [_file(page, *pair) for pair in sorted(files.items())[: _MOST_UNREACHED - len(found)]]
    return found, len(here) + len(files) - len(found)


def notes(page: Page) -> dict[str, dict[int, list[Note]]]:
    """What is said below the lines: every site of a verdict or a miss carries it, the first with what was seen."""
    found: dict[str, dict[int, list[Note]]] = {}
    for path, line, note in _said(page):
        there = found.setdefault(path, {}).setdefault(line, [])
        if note not in there:
            there.append(note)
    return found


def _said(page: Page) -> Iterator[tuple[str, int, Note]]:
    shown = page.shown
    told: list[Verdict | Missed] = [*_reached(shown), *shown.misses, *shown.explained]
    for one in told:
        site, label, code, text = _spoken(one)
        kind = label.replace(" ", "-")
        yield site.path, site.line, Note(kind, label, f"{code} {text}".strip())
        for path, line in page.others(one):
            yield path, line, Note(kind, label, f"{code} with {shown.place(site)}".strip())


def _spoken(one: Verdict | Missed) -> tuple[Site, str, str, str]:
    """Where, what it is called, the code of its finding, and what is said of it."""
    if isinstance(one, Verdict):
        return one.finding.site, one.kind.value, one.finding.code, one.text
    if one.own and not one.explained:
        return one.site, "missed", "", one.text
    return one.site, "as it is", "", f"{one.text} ({one.explained or 'in a library'})"


def _reached(shown: Shown) -> list[Verdict]:
    return [one for one in shown.judgement.verdicts if one.kind is not VerdictKind.NOT_REACHED]


def _row(page: Page, one: Verdict | Missed) -> Row:
    site, label, _, _ = _spoken(one)
    text, act, source = one.text, one.act, page.source(site)
    if isinstance(one, Verdict):
        title = f"{one.finding.code} {one.finding.message}"
        if one.kind is VerdictKind.NOT_REACHED:  # there may be many, and mostly there is nothing to say of each
            source = ()
            text, act = ("", "") if text == "the line did not run" else (text, act)
    else:
        what = "sync" if one.direction.value == "none" else one.direction.value
        title = f"{what} by {one.operation}" + (
            f": {one.explained}" if one.explained else ", without a finding"
        )
    kind, place = label.replace(" ", "-"), page.shown.place(site)
    others = page.listed(one)
    return Row(kind, label, place, page.href(site), title, source, text, act, parts.columns(one), others)


def _file(page: Page, path: str, number: int) -> Row:
    title = f"{count(number, 'finding')}: {phrases.NEVER_IMPORTED}"
    return Row("not-reached", "not reached", page.shown.path(path), "", title, (), "", "", ("", "", ""))
