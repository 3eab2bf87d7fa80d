"""The report as one HTML file: nothing is fetched, and everything that comes from the program is escaped."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime_check import phrases
from runtime_check.records import Link, LinkKind, SiteRecord
from runtime_check.reports import shown as parts
from runtime_check.reports import steps
from runtime_check.reports.judged import Page, notes, rows, unreached
from runtime_check.reports.perfetto import kind
from runtime_check.reports.shown import Shown
from runtime_check.reports.source import HEADINGS, File, length, listing, own_line, own_path
from runtime_check.reports.timeline import timeline
from runtime_check.reports.units import count, duration, share, size
from runtime_check.verdicts import VerdictKind

_TRIPS = {
    LinkKind.DEVICE_HOST_DEVICE: "device → host → device",
    LinkKind.HOST_DEVICE_HOST: "host → device → host",
    LinkKind.SCALAR_DETOUR: "read as a number, sent back",
    LinkKind.REPEAT: "sent again",
    LinkKind.EQUAL_CONTENT: "equal content sent again",
}
_CONTENT = {None: "not seen", True: "changed in between", False: "unchanged"}
_MOST_TRIPS = 60
_MOST_LINES = 3000  # of source, in the files that kept the host longest


@dataclasses.dataclass(frozen=True, slots=True)
class _End:
    """One end of a round trip."""

    place: str
    href: str
    source: tuple[tuple[str, str], ...]
    what: str


def render(shown: Shown) -> str:
    """The page. Raises jinja2.TemplateError for a fault in the template."""
    from transferlint import pages

    return pages.render("run.html", Path(__file__).parent, _values(shown))


def _values(shown: Shown) -> dict[str, Any]:
    header, outcome = shown.run.header, shown.run.outcome
    paths, more_files = _paths(shown)
    page = Page(shown, {path: f"f{number}" for number, path in enumerate(paths)})
    failed = phrases.ended(outcome.status) if outcome is not None and outcome.status else ""
    kinds = parts.verdict_kinds(shown)
    trips, more_trips = _trips(page)
    told, more = rows(page)
    folded, more_folded = unreached(page)
    return {
        "program": " ".join(header.program),
        "facts": [
            ("device", header.device or "not asked"),
            ("torch", header.torch),
            ("Python", header.python),
            ("level", header.level),
            ("started", header.started.replace("T", " ")[:19] + " UTC"),
            *([("ranks", str(header.ranks))] if header.ranks > 1 else []),
        ],
        "time_source": header.times,
        "tiles": _tiles(shown),
        "steps": count(outcome.steps, "step") if outcome is not None and outcome.steps else "",
        "failed": failed,
        "notes": (*shown.failures, *shown.problems, *shown.judgement.notes),
        "kinds": [(name.replace(" ", "-"), name, number) for name, number in kinds.items()]
        + [("as-it-is", "as it is", len(shown.explained))],
        "rows": told,
        "more_rows": more,
        "unreached": folded,
        "unreached_count": count(kinds["not reached"], "finding"),
        "more_unreached": more_folded,
        "timed": steps.rows(shown),
        "timed_title": steps.title(shown),
        "timed_headings": steps.HEADINGS,
        "trips": trips,
        "more_trips": more_trips,
        "timeline": timeline(shown),
        "files": _files(page),
        "more_files": more_files,
        "headings": HEADINGS,
        "version": shown.version,
    }


def _tiles(shown: Shown) -> list[tuple[str, str]]:
    tiles = [(duration(shown.judgement.blocked_ns), f"host blocked, {parts.source_of(shown)}")]
    if shown.judgement.share is not None:
        tiles.append((share(shown.judgement.share), "of the run"))
    names = {"h2d": "host to device", "d2h": "device to host", "sync": "waits that move nothing"}
    for name, number, moved in parts.totals(shown.run.sites):
        tiles.append((f"{number:,}", names[name] + (f", {size(moved)}" if moved else "")))
    if shown.run.outcome is not None:
        tiles.append((duration(shown.run.outcome.duration), "run, by the clock"))
    return tiles


def _paths(shown: Shown) -> tuple[list[str], int]:
    """The files to show with their source, those in which something crossed or was found, by how long it kept the host;
    and how many more there are."""
    blocked: dict[str, int] = {}
    lines: dict[str, set[int]] = {}
    for verdict in shown.judgement.verdicts:
        if verdict.kind is not VerdictKind.NOT_REACHED:
            lines.setdefault(verdict.finding.site.path, set()).add(verdict.finding.site.line)
    for record in shown.run.sites:
        path = own_path(record)
        blocked[path] = blocked.get(path, 0) + record.blocked.total
        lines.setdefault(path, set()).add(own_line(record))
    ordered = sorted(lines.keys() & set(shown.texts), key=lambda path: (-blocked.get(path, 0), path))
    room = _MOST_LINES
    found: list[str] = []
    for path in ordered:
        room -= length(len(shown.texts[path]), len(lines[path]))
        if found and room < 0:
            break
        found.append(path)
    return found, len(ordered) - len(found)


def _trips(page: Page) -> tuple[list[tuple[str, _End, _End, str, str, str]], int]:
    """(kind, where it left, where it came back, times, bytes, content) of the links between two transfers, those first
    whose ends kept the host longest, and how many more there are."""
    run = page.shown.run
    records = {record.id: record for record in run.sites}
    links = [one for one in run.links if one.kind in _TRIPS and {one.first, one.second} <= records.keys()]
    links.sort(key=lambda one: (-_cost(one, records), -one.count))

    def end(number: int) -> _End:
        record = records[number]
        site = record.user or record.site
        what = f"{kind(record)} by {record.operation}"
        return _End(page.shown.place(site), page.href(site), page.source(site), what)

    return [
        (_TRIPS[one.kind], end(one.first), end(one.second), f"{one.count:,}", size(one.bytes), _CONTENT[one.changed])
        for one in links[:_MOST_TRIPS]
    ], max(len(links) - _MOST_TRIPS, 0)


def _cost(link: Link, records: Mapping[int, SiteRecord]) -> int:
    return sum(records[number].blocked.total for number in {link.first, link.second})


def _files(page: Page) -> list[File]:
    records: dict[str, list[SiteRecord]] = {path: [] for path in page.anchors}
    heat: dict[tuple[str, int], int] = {}
    for record in page.shown.run.sites:
        path = own_path(record)
        if path in records:
            records[path].append(record)
            heat[path, own_line(record)] = heat.get((path, own_line(record)), 0) + record.blocked.total
    said, hottest = notes(page), max(heat.values(), default=0)

    def one(path: str, anchor: str, found: Sequence[SiteRecord]) -> File:
        return listing(page.shown.path(path), anchor, page.lines(path), found, said.get(path, {}), hottest)

    return [one(path, anchor, records[path]) for path, anchor in page.anchors.items()]
