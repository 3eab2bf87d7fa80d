"""One HTML file: an overview by rule, frequency and file, then every finding with its source. Nothing is fetched, and
everything that comes from what was checked is escaped."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from pathlib import Path

from transferlint import late, pages
from transferlint.model import Finding, Site
from transferlint.reporters import order, preview
from transferlint.reporters.order import Told
from transferlint.reporters.report import Report, count, fixable, lines_of, summary

_AROUND = 2  # lines of source shown before and after what is marked
_MOST = 12  # lines of a site that are marked
_NO_HEAT = "not about frequency"
Piece = tuple[str, str]  # what it is ("" for plain source) and its text


@late.dataclass(frozen=True, slots=True)
class _Line:
    """A line of source in pieces, with what is said of it; `gap`: lines before it are left out."""

    number: int
    pieces: tuple[Piece, ...]
    notes: tuple[tuple[str, str], ...]
    gap: bool


@late.dataclass(frozen=True, slots=True)
class _Shown:
    """A finding on the page."""

    code: str
    name: str
    page: str
    path: str
    place: str
    message: str
    heat: str
    why: str
    confidence: str
    also: str
    help: str
    option: str
    lines: tuple[_Line, ...]
    elsewhere: tuple[str, ...]
    change: tuple[tuple[str, str], ...]
    words: str


def render(report: Report) -> str:
    """The page. Raises jinja2.TemplateError for a fault in the template."""
    told = order.told(report.findings, report.unsafe)
    urls = {card.code: card.url for card in report.rules}
    shown = [_shown(one, report, urls.get(one.finding.code, "")) for one in told]
    findings = report.findings
    values = {
        "summary": summary(report),
        "version": report.version,
        "problems": report.problems,
        "findings": shown,
        "rules": _counted((finding.code for finding in findings), {one.code: one for one in shown}),
        "heats": _counted(map(_heat, findings), {}),
        "files": _counted((finding.site.path for finding in findings), {}),
        "tiles": [
            (str(len(findings)), "findings"),
            (str(len({finding.site.path for finding in findings})), f"of {count(report.files, 'file')}"),
            (str(sum(fixable(finding, report.unsafe) == "--fix" for finding in findings)), "fixable with --fix"),
            (str(sum(finding.heat is not None and finding.heat.hot for finding in findings)), "in hot code"),
        ],
    }
    return pages.render("check.html", Path(__file__).parent, values)


def _counted(words: Iterable[str], known: dict[str, _Shown]) -> list[tuple[str, int, str, str]]:
    """Each word with how often it is met, the most frequent first, and of a rule its name and page."""
    counts = collections.Counter(words)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(one, number, *((known[one].name, known[one].page) if one in known else ("", ""))) for one, number in rows]


def _heat(finding: Finding) -> str:
    heat = finding.heat
    if heat is None:
        return _NO_HEAT
    return heat.level.words + ("" if heat.hot else ", but rarely") + ("" if heat.seen else " (assumed)")


def _shown(one: Told, report: Report, page: str) -> _Shown:
    finding = one.finding
    text = report.texts.get(finding.site.path, "")
    changed = preview.rows(finding, text)[1:]
    return _Shown(
        code=finding.code,
        name=finding.name,
        page=page,
        path=finding.site.path,
        place=f"{finding.site.path}:{finding.site.line}:{finding.site.column}",
        message=finding.message,
        heat=_heat(finding),
        why=finding.heat.why if finding.heat else "",
        confidence=finding.confidence.name.lower(),
        also=one.also,
        help=finding.help or (finding.fix.title if finding.fix else ""),
        option=fixable(finding, report.unsafe),
        lines=tuple(_lines(finding, lines_of(text))) if text else (),
        elsewhere=tuple(
            f"{link.words} ({link.site.path}:{link.site.line})"
            for link in finding.evidence
            if link.site.path != finding.site.path
        ),
        change=tuple((row[1][0], row[1][1]) for row in changed if len(row) > 1),
        words=f"{finding.code} {finding.name} {finding.site.path} {finding.message} {finding.context}".lower(),
    )


def _lines(finding: Finding, text: Sequence[str]) -> list[_Line]:
    """The lines of the site and its evidence in this file, with a few around each."""
    marks: dict[int, list[tuple[int, int, str]]] = {}
    notes: dict[int, list[tuple[str, str]]] = {}
    own = [(link.site, link.words) for link in finding.evidence if link.site.path == finding.site.path]
    for site, words in [*own, (finding.site, "")]:
        kind = "site" if site == finding.site else "evidence"
        for number, start, end in _stretches(site, text):
            marks.setdefault(number, []).append((start, end, kind))
        if words and 1 <= site.line <= len(text):
            notes.setdefault(site.line, []).append((kind, words))
    wanted = sorted({n for at in marks for n in range(at - _AROUND, at + _AROUND + 1) if 1 <= n <= len(text)})
    found, before = [], 0
    for number in wanted:
        pieces = tuple(_pieces(text[number - 1], marks.get(number, [])))
        found.append(_Line(number, pieces, tuple(notes.get(number, [])), gap=bool(before) and number > before + 1))
        before = number
    return found


def _stretches(site: Site, text: Sequence[str]) -> Iterable[tuple[int, int, int]]:
    """The line and the 0-based ends of what a site covers on each of its lines."""
    for number in range(site.line, min(max(site.end_line, site.line), site.line + _MOST - 1, len(text)) + 1):
        line = text[number - 1]
        start = site.column - 1 if number == site.line else len(line) - len(line.lstrip())
        yield number, start, site.end_column - 1 if number == site.end_line else len(line)


def _pieces(line: str, marks: list[tuple[int, int, str]]) -> Iterable[Piece]:
    """The line cut where a mark begins or ends; the site's own mark stands over that of evidence."""
    kinds = [""] * len(line)
    for start, end, kind in sorted(marks, key=lambda mark: mark[2]):
        kinds[start:end] = [kind] * len(kinds[start:end])
    at = 0
    while at < len(line):
        end = at
        while end < len(line) and kinds[end] == kinds[at]:
            end += 1
        yield kinds[at], line[at:end].expandtabs(4)
        at = end
