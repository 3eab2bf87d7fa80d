"""The files of several processes as one run."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime_check import records, sketch
from runtime_check.records import (
    Blocked,
    Counted,
    Executed,
    Link,
    LinkKind,
    Missing,
    Outcome,
    Profile,
    RawEvent,
    RecordError,
    Run,
    SiteRecord,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """What a run left: each process's records, all of them as one, and what could not be read, in one line each."""

    runs: tuple[Run, ...]
    whole: Run
    problems: tuple[str, ...] = ()


def read_folder(folder: str | Path) -> Folder:
    """Read the records of a run: a folder of files, or one file. Raises RecordError, in one line, where there are none
    that can be read, and OSError."""
    place = Path(folder)
    if not place.exists():
        raise RecordError(f"{place}: no such file or folder")
    paths = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    runs, problems = [], []
    for path in paths:
        try:
            runs.append(records.read(path))
        except RecordError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
    if not runs:
        raise RecordError(problems[0] if problems else f"{place}: no records of a run (*.jsonl)")
    return Folder(tuple(runs), merge(runs), tuple(problems))


def merge(runs: Sequence[Run]) -> Run:
    """Several processes' records as one run, under the header of the first rank: records of the same site become one,
    counts, bytes and times are added. Raises ValueError for no runs."""
    if not runs:
        raise ValueError("no runs to merge")
    ordered = sorted(runs, key=lambda run: (run.header.parent != 0, run.header.rank, run.header.pid))
    groups: dict[object, list[SiteRecord]] = {}
    for run in ordered:
        for record in run.sites:
            groups.setdefault(_identity(record), []).append(record)
    order = {identity: number for number, identity in enumerate(groups)}
    numbers = [{record.id: order[_identity(record)] for record in run.sites} for run in ordered]
    return Run(
        dataclasses.replace(
            ordered[0].header,
            ranks=max(run.header.ranks for run in ordered),
            notes=tuple(dict.fromkeys(note for run in ordered for note in run.header.notes)),
        ),
        tuple(_together(number, group) for number, group in enumerate(groups.values())),
        _links(ordered, numbers),
        any(run.truncated for run in ordered),
        _raw(ordered, numbers),
        _outcome(ordered),
        _executed(ordered),
        _profiles(ordered, numbers),
        _counts(ordered),
    )


def _identity(record: SiteRecord) -> object:
    place = record.site, record.user, record.function, record.backward, record.thread
    return place, record.direction, record.operation, record.sync, record.maybe


def _together(number: int, group: list[SiteRecord]) -> SiteRecord:
    steps = [record.first_step for record in group if record.first_step >= 0]
    return dataclasses.replace(
        group[0],
        id=number,
        count=sum(record.count for record in group),
        bytes=sum(record.bytes for record in group),
        blocked=_blocked([record.blocked for record in group]),
        pinned=sum(record.pinned for record in group),
        non_blocking=sum(record.non_blocking for record in group),
        hint_ignored=sum(record.hint_ignored for record in group),
        first_step=min(steps, default=-1),
        last_step=max(record.last_step for record in group),
        stepped=sum(record.stepped for record in group),
        steps=sum(record.steps for record in group),
        processes=sum(record.processes for record in group),
        executions=sum(record.executions or record.count for record in group) if _counted(group) else 0,
        unknown_memory=sum(record.unknown_memory for record in group),
        untimed=sum(record.untimed for record in group),
    )


def _counted(group: Sequence[SiteRecord]) -> bool:
    return any(record.executions for record in group)


def _blocked(parts: Sequence[Blocked]) -> Blocked:
    if len(parts) == 1:
        return parts[0]
    buckets = sketch.add(part.buckets for part in parts)
    longest = max(part.max for part in parts)
    p50, p95 = (min(sketch.percentile(buckets, share), longest) for share in (0.5, 0.95))
    return Blocked(sum(part.total for part in parts), p50, p95, longest, tuple(sorted(buckets.items())))


def _links(runs: Sequence[Run], numbers: Sequence[dict[int, int]]) -> tuple[Link, ...]:
    """The links between the merged records; one whose end was lost with the tail of its file is left out."""
    merged: dict[tuple[LinkKind, int, int, bool | None], Link] = {}
    for run, places in zip(runs, numbers, strict=True):
        for link in run.links:
            if link.first in places and link.second in places:
                key = link.kind, places[link.first], places[link.second], link.changed
                old = merged.get(key) or Link(*key[:3], 0, 0, link.changed)
                merged[key] = dataclasses.replace(old, count=old.count + link.count, bytes=old.bytes + link.bytes)
    return tuple(merged.values())


def _raw(runs: Sequence[Run], numbers: Sequence[dict[int, int]]) -> tuple[RawEvent, ...]:
    """All single events, in order of time, timed from the start of the first process."""
    events = []
    for run, places in zip(runs, numbers, strict=True):
        later = started(run) - started(runs[0])
        for event in run.raw:
            if event.site in places:
                events.append(dataclasses.replace(event, site=places[event.site], at=event.at + later))
    events.sort(key=lambda event: event.at)
    return tuple(dataclasses.replace(event, slot=slot) for slot, event in enumerate(events))


def started(run: Run) -> int:
    """When the process began, in nanoseconds since 1970; 0 where the header does not say it."""
    try:
        began = datetime.datetime.fromisoformat(run.header.started)
    except ValueError:
        return 0
    return round(began.timestamp() * 1e6) * 1000


def _outcome(runs: Sequence[Run]) -> Outcome | None:
    known = [run.outcome for run in runs if run.outcome is not None]
    if not known:
        return None
    launched = [run.outcome.status if run.outcome else None for run in runs if not run.header.parent]
    failed = next((status for status in launched if status), None)
    return Outcome(
        steps=max(one.steps for one in known),
        full_steps=sum(one.full_steps for one in known),
        events=sum(one.events for one in known),
        duration=max(one.duration for one in known),
        processes=sum(one.processes for one in known),
        status=failed or (None if None in launched else 0),
        overflow=sum(one.overflow for one in known),
        missing=(*(missing for one in known for missing in one.missing), *_ended(runs)),
        timed=known[0].timed,  # of the first rank: steps of several are not the same steps
        marks=runs[0].outcome.marks if runs[0].outcome is not None else (),
    )


def _ended(runs: Sequence[Run]) -> Iterator[Missing]:
    """What is missing of spawned processes that did not come to their end."""
    for run in runs:
        if run.header.spawned and (run.outcome is None or run.outcome.status is None):
            why = "it was ended from outside: what it did in its last half second is not recorded"
            yield Missing(f"process {run.header.pid}", why)


def _profiles(runs: Sequence[Run], numbers: Sequence[dict[int, int]]) -> tuple[Profile, ...]:
    """The profiles of all processes; what names a site that was lost is left out."""
    return tuple(
        dataclasses.replace(
            profile,
            copies=tuple(
                dataclasses.replace(one, site=places[one.site]) for one in profile.copies if one.site in places
            ),
        )
        for run, places in zip(runs, numbers, strict=True)
        for profile in run.profiles
    )


def _executed(runs: Sequence[Run]) -> tuple[Executed, ...]:
    merged: dict[str, tuple[set[int], set[tuple[int, int]], set[tuple[int, int]]]] = {}
    started = {one.path for run in runs for one in run.executed if one.started}
    for one in (one for run in runs for one in run.executed):
        lines, decided, evaluated = merged.setdefault(one.path, (set(), set(), set()))
        lines.update(one.lines)
        decided.update(one.decided)
        evaluated.update(one.evaluated)
    return tuple(
        Executed(path, tuple(sorted(lines)), tuple(sorted(decided)), tuple(sorted(evaluated)), path in started)
        for path, (lines, decided, evaluated) in merged.items()
    )


def _counts(runs: Sequence[Run]) -> tuple[Counted, ...]:
    """Executions and steps of all processes, added."""
    rows: dict[str, dict[int, tuple[int, int]]] = {}
    for one in (one for run in runs for one in run.counted):
        into = rows.setdefault(one.path, {})
        for line, count, steps in one.lines:
            before = into.get(line, (0, 0))
            into[line] = (before[0] + count, before[1] + steps)
    return tuple(Counted(path, tuple((line, *found[line]) for line in sorted(found))) for path, found in rows.items())
