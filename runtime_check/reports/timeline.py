"""The single events that a run kept, as bars on a line of time that begins with the first step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from runtime_check.records import RawEvent, SiteRecord
from runtime_check.reports.perfetto import kind
from runtime_check.reports.shown import Shown
from runtime_check.reports.source import own_line
from runtime_check.reports.units import count, duration, size

_LANES = ("h2d", "d2h", "sync")
_MOST = 1000  # bars
_PARTS = 4  # between ticks


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """Nanoseconds from the first step's start, and the same in percent of what the picture shows."""

    lane: str
    at: int
    length: int
    x: str
    width: str
    title: str


@dataclasses.dataclass(frozen=True, slots=True)
class Timeline:
    """`setup` says what came before the first step, "" where nothing did; it lies left of the picture. `first` is when
    all began, and `last` when it ended, in nanoseconds from the first step's start."""

    lanes: tuple[tuple[str, tuple[Bar, ...]], ...]
    steps: tuple[Bar, ...]
    ticks: tuple[tuple[str, str], ...]
    first: int
    last: int
    setup: str
    said: str


def timeline(shown: Shown) -> Timeline | None:
    """The timeline of a run; None where no events were kept."""
    records = {record.id: record for record in shown.run.sites}
    events = [one for one in shown.run.raw if one.site in records and kind(records[one.site]) in _LANES]
    if not events:
        return None
    events.sort(key=lambda event: event.at)
    zero = start(events, records, shown)
    outcome = shown.run.outcome
    alone = outcome is not None and outcome.duration == outcome.processes  # else each has an end of its own
    length = outcome.duration if outcome is not None and alone else 0
    last = max(length - zero, 1, *(event.at + event.blocked - zero for event in events))
    kept = _thinned(events)
    bars = [_bar(shown, event, records[event.site], zero, last) for event in kept]
    before = sum(event.at < zero for event in events)
    setup = f"{count(before, 'event') if before else 'no event'} in the {duration(zero)} before the first step"
    seen = sum(record.count for record in shown.run.sites if kind(record) in _LANES)
    said = f"{len(kept):,} of {seen:,} events" + (", drawn at random" if len(kept) < seen else "")
    said += "; steps are those of the first rank" if shown.run.header.ranks > 1 else ""
    return Timeline(
        tuple((name, tuple(bar for bar in bars if bar.lane == name)) for name in _LANES),
        tuple(_steps(shown, zero, last)),
        tuple((f"{100 * part / _PARTS:g}", duration(last * part / _PARTS) if part else "0") for part in range(5)),
        min(events[0].at, 0) - zero,
        last,
        setup if zero > 0 else "",
        said,
    )


def start(events: Sequence[RawEvent], records: Mapping[int, SiteRecord], shown: Shown) -> int:
    """When the first step began, after the clock of the run: with the first event of a site that crosses in a later
    step too, for nothing tells where setup ends and the step begins; else, where it ended. 0 without steps."""
    outcome = shown.run.outcome
    if outcome is None or not outcome.steps:
        return 0
    again = [one.at for one in events if one.step == 0 and records[one.site].last_step > 0]
    ended = [at + wall for number, at, wall in outcome.marks if number == 0]
    later = [one.at for one in events if one.step > 0]
    return min([*again, *ended] or later, default=0)


def _thinned(events: Sequence[RawEvent]) -> list[RawEvent]:
    """As many as are drawn, evenly of all."""
    if len(events) <= _MOST:
        return list(events)
    return [events[number * len(events) // _MOST] for number in range(_MOST)]


def _bar(shown: Shown, event: RawEvent, record: SiteRecord, zero: int, last: int) -> Bar:
    lane, own = kind(record), record.user or record.site
    words = [f"{shown.path(own.path)}:{own_line(record)}", lane, record.operation, size(event.bytes)]
    words.append(f"blocked {duration(event.blocked)} ({shown.run.header.times})")
    at = event.at - zero
    return Bar(lane, at, event.blocked, *_percent(at, event.blocked, last), " · ".join(words))


def _steps(shown: Shown, zero: int, last: int) -> list[Bar]:
    marks = shown.run.outcome.marks if shown.run.outcome is not None else ()
    found = []
    for number, began, wall in marks:
        at = max(began - zero, 0) if number == 0 else began - zero
        length = began + wall - zero - at
        if length > 0:
            title = f"step {number + 1}: {duration(wall)}" + (" with all before it" if number == 0 else "")
            found.append(Bar("step", at, length, *_percent(at, length, last), title))
    return found


def _percent(at: int, length: int, last: int) -> tuple[str, str]:
    return f"{100 * at / last:.4f}", f"{100 * length / last:.4f}"
