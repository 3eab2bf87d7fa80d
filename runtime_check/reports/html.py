"""The report as one HTML file: nothing is fetched, and everything that comes from the program is escaped."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime_check.records import Link, LinkKind, RawEvent, SiteRecord
from runtime_check.reports import shown as parts
from runtime_check.reports import steps
from runtime_check.reports.perfetto import kind
from runtime_check.reports.shown import Shown
from runtime_check.reports.source import HEADINGS, File, Note, listing, own_line, own_path
from runtime_check.reports.units import count, duration, share, size
from runtime_check.verdicts import Missed, Verdict, VerdictKind
from transferlint.model import Site

_TRIPS = {
    LinkKind.DEVICE_HOST_DEVICE: "device → host → device",
    LinkKind.HOST_DEVICE_HOST: "host → device → host",
    LinkKind.SCALAR_DETOUR: "read as a number, sent back",
    LinkKind.REPEAT: "sent again",
    LinkKind.EQUAL_CONTENT: "equal content sent again",
}
_CONTENT = {None: "not seen", True: "changed on the way", False: "unchanged"}
_LANES = ("h2d", "d2h", "sync")
_WIDTH, _LANE, _LEFT = 1000.0, 34, 52


@dataclasses.dataclass(frozen=True, slots=True)
class _Row:
    """A verdict or a miss in the table."""

    kind: str
    label: str
    place: str
    href: str
    title: str
    source: str
    text: str
    act: str
    cells: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _End:
    """One end of a round trip."""

    place: str
    href: str
    source: str
    what: str


def render(shown: Shown) -> str:
    """The page. Raises jinja2.TemplateError for a fault in the template."""
    from transferlint import pages

    anchors = _anchors(shown)
    return pages.render("run.html", Path(__file__).parent, _values(shown, anchors))


def _values(shown: Shown, anchors: Mapping[str, str]) -> dict[str, Any]:
    header, outcome = shown.run.header, shown.run.outcome
    kinds = parts.verdict_kinds(shown)
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
        "time_source": header.time_source,
        "tiles": _tiles(shown),
        "steps": count(outcome.steps, "step") if outcome is not None and outcome.steps else "",
        "notes": (*shown.failures, *shown.problems, *shown.judgement.notes),
        "kinds": [(name.replace(" ", "-"), name, number) for name, number in kinds.items()]
        + [("as-it-is", "as it is", len(shown.explained))],
        "rows": _rows(shown, anchors),
        "timed": steps.rows(shown),
        "timed_title": steps.title(shown),
        "timed_headings": steps.HEADINGS,
        "trips": _trips(shown, anchors),
        "timeline": _timeline(shown),
        "files": _files(shown, anchors),
        "headings": HEADINGS,
        "version": shown.version,
    }


def _rows(shown: Shown, anchors: Mapping[str, str]) -> list[_Row]:
    unreached = [one for one in shown.judgement.verdicts if one.kind is VerdictKind.NOT_REACHED]
    return [
        *(_row(shown, anchors, one) for one in _reached(shown)),
        *(_miss(shown, anchors, one, "missed") for one in shown.misses),
        *(_row(shown, anchors, one) for one in unreached),
        *(_miss(shown, anchors, one, "as it is") for one in shown.explained),
    ]


def _tiles(shown: Shown) -> list[tuple[str, str]]:
    tiles = [(duration(shown.judgement.blocked_ns), f"host blocked, {shown.run.header.time_source}")]
    if shown.judgement.share is not None:
        tiles.append((share(shown.judgement.share), "of the run"))
    names = {"h2d": "host to device", "d2h": "device to host", "sync": "waits that move nothing"}
    for name, number, moved in parts.totals(shown.run.sites):
        tiles.append((f"{number:,}", names[name] + (f", {size(moved)}" if moved else "")))
    if shown.run.outcome is not None:
        tiles.append((duration(shown.run.outcome.duration), "run, by the clock"))
    return tiles


def _anchors(shown: Shown) -> dict[str, str]:
    """The id of each file that is shown with its source: those in which something crossed or was found."""
    paths = {own_path(record) for record in shown.run.sites} | {one.finding.site.path for one in _reached(shown)}
    return {path: f"f{number}" for number, path in enumerate(sorted(paths & set(shown.texts)))}


def _reached(shown: Shown) -> list[Verdict]:
    return [one for one in shown.judgement.verdicts if one.kind is not VerdictKind.NOT_REACHED]


def _href(anchors: Mapping[str, str], site: Site) -> str:
    return f"#{anchors[site.path]}-{site.line}" if site.path in anchors else ""


def _row(shown: Shown, anchors: Mapping[str, str], one: Verdict) -> _Row:
    site, label = one.finding.site, one.kind.value
    title = f"{one.finding.code} {one.finding.message}"
    where = shown.place(site), _href(anchors, site)
    if one.kind is VerdictKind.NOT_REACHED:  # there may be many, and mostly there is nothing to say of each
        said = ("", "") if one.text == "the line did not run" else (one.text, one.act)
        return _Row("not-reached", label, *where, title, "", *said, parts.columns(one))
    return _Row(label, label, *where, title, shown.source(site), one.text, one.act, parts.columns(one))


def _miss(shown: Shown, anchors: Mapping[str, str], one: Missed, label: str) -> _Row:
    what = "sync" if one.direction.value == "none" else one.direction.value
    title = f"{what} by {one.operation}" + (f": {one.explained}" if one.explained else ", which no finding is about")
    where = shown.place(one.site), _href(anchors, one.site)
    text, act = one.text, one.act
    return _Row(label.replace(" ", "-"), label, *where, title, shown.source(one.site), text, act, parts.columns(one))


def _trips(shown: Shown, anchors: Mapping[str, str]) -> list[tuple[str, _End, _End, str, str, str]]:
    """(kind, where it left, where it came back, times, bytes, content) of every link between two transfers."""
    records = {record.id: record for record in shown.run.sites}
    links = [one for one in shown.run.links if one.kind in _TRIPS and {one.first, one.second} <= records.keys()]
    links.sort(key=lambda one: (-_cost(one, records), -one.count))

    def end(number: int) -> _End:
        record = records[number]
        site = record.user or record.site
        what = f"{kind(record)} by {record.operation}"
        return _End(shown.place(site), _href(anchors, site), shown.source(site), what)

    return [
        (_TRIPS[one.kind], end(one.first), end(one.second), f"{one.count:,}", size(one.bytes), _CONTENT[one.changed])
        for one in links
    ]


def _cost(link: Link, records: Mapping[int, SiteRecord]) -> int:
    return sum(records[number].blocked.total for number in {link.first, link.second})


def _timeline(shown: Shown) -> dict[str, Any] | None:
    """The single events that were kept, as bars in a lane for each direction."""
    records = {record.id: record for record in shown.run.sites}
    events = [one for one in shown.run.raw if one.site in records and kind(records[one.site]) in _LANES]
    if not events:
        return None
    length = shown.run.outcome.duration if shown.run.outcome is not None else 0
    whole = max(length, 1, *(event.at + event.blocked for event in events))
    scale = (_WIDTH - _LEFT) / whole
    quarters = [(_LEFT + (_WIDTH - _LEFT) * part / 4, whole * part / 4, part) for part in range(5)]
    seen = sum(record.count for record in shown.run.sites if kind(record) in _LANES)
    return {
        "width": _WIDTH,
        "height": _LANE * len(_LANES) + 24,
        "lanes": [(name, _LANE * number) for number, name in enumerate(_LANES)],
        "lane": _LANE,
        "left": _LEFT,
        "bars": [_bar(shown, event, records[event.site], scale) for event in events],
        "ticks": [(x, duration(at) if part else "0", part) for x, at, part in quarters],
        "shown": f"{len(events):,}",
        "seen": f"{seen:,}",
    }


def _bar(shown: Shown, event: RawEvent, record: SiteRecord, scale: float) -> tuple[str, str, str, int, str]:
    lane = kind(record)
    words = [shown.place(record.user or record.site), lane, record.operation, size(event.bytes)]
    words.append(f"blocked {duration(event.blocked)} ({shown.run.header.time_source})")
    x, width = _LEFT + event.at * scale, max(event.blocked * scale, 1.5)
    return lane, f"{x:.1f}", f"{width:.1f}", _LANE * _LANES.index(lane), " · ".join(words)


def _files(shown: Shown, anchors: Mapping[str, str]) -> list[File]:
    records: dict[str, list[SiteRecord]] = {path: [] for path in anchors}
    heat: dict[tuple[str, int], int] = {}
    for record in shown.run.sites:
        path = own_path(record)
        if path in records:
            records[path].append(record)
            heat[path, own_line(record)] = heat.get((path, own_line(record)), 0) + record.blocked.total
    notes = _notes(shown)
    hottest = max(heat.values(), default=0)
    files = [
        listing(shown.path(path), anchor, "\n".join(shown.texts[path]), records[path], notes.get(path, {}), hottest)
        for path, anchor in anchors.items()
    ]
    return sorted(files, key=lambda one: (-one.blocked, one.path))


def _notes(shown: Shown) -> dict[str, dict[int, list[Note]]]:
    """What is said below the lines: the verdicts and misses of each."""
    found: dict[str, dict[int, list[Note]]] = {}
    said: Sequence[tuple[Site, Note]] = [
        *((one.finding.site, _note(one.kind.value, f"{one.finding.code} {one.text}")) for one in _reached(shown)),
        *((one.site, _note("missed", one.text)) for one in shown.misses),
    ]
    for site, note in said:
        found.setdefault(site.path, {}).setdefault(site.line, []).append(note)
    return found


def _note(label: str, text: str) -> Note:
    return Note(label.replace(" ", "-"), label, text)
