"""A run as a trace for ui.perfetto.dev and chrome://tracing: the "Trace Event Format" (docs.google.com document
1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), read as Perfetto's importer does (`importers/json/` in its sources).

Complete events ("X") lie on tracks, which the format calls threads: steps, transfers by direction, waits, the host's
operators and the device's streams. A flow ("s" to "f", `bp` "e") belongs to the slice that encloses its time on its
track. Perfetto names a thread by its number alone, so no two tracks of a file have the same.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from runtime_check.merging import started
from runtime_check.records import LinkKind, RawEvent, Run, SiteRecord
from runtime_check.reports import kineto
from runtime_check.reports.tracks import APART, Slice, Track, lanes, pairs
from runtime_check.reports.units import count as counted
from runtime_check.reports.units import size
from transferlint import escaping
from transferlint.model import Direction

_TRACKS = {
    "h2d": "host to device",
    "d2h": "device to host",
    "d2d": "device to device",
    "sync": "waits that move nothing",
    "move": "moves that cross nothing",
}
_FLOWS = {
    LinkKind.DEVICE_HOST_DEVICE: "device to host to device",
    LinkKind.HOST_DEVICE_HOST: "host to device to host",
    LinkKind.SCALAR_DETOUR: "read as a number, sent back",
    LinkKind.REPEAT: "sent again",
}
Flow = tuple[str, Slice, Slice]


@dataclasses.dataclass(frozen=True, slots=True)
class _Process:
    """A process's tracks, timed from the beginning of the first process."""

    name: str
    labels: str
    tracks: tuple[Track, ...]
    flows: tuple[Flow, ...]
    problems: tuple[str, ...]


def render(runs: Sequence[Run], folder: Path | None = None) -> str:
    """The trace of a run's processes as JSON. `folder` holds their profiles. A run keeps single events drawn fairly
    from all; `otherData` says how many of how many, and what else is left out."""
    ordered = sorted(runs, key=lambda run: (run.header.rank, run.header.parent != 0, run.header.pid))
    base = min((at for at in map(started, ordered) if at), default=0)
    made = [_process(run, max(started(run) - base, 0), folder) for run in ordered]
    pids, more = _pids([run.header.pid for run in ordered])
    tids, flows = itertools.count(1), itertools.count(1)
    rows: list[dict[str, Any]] = []
    for order, (one, pid) in enumerate(zip(made, pids, strict=True)):
        rows += _rows(one, pid, order, tids, flows, more)
    header = ordered[0].header
    shown, seen = sum(len(run.raw) for run in ordered), sum(map(_seen, ordered))
    other: dict[str, Any] = {
        "events": seen,
        "shown": shown,
        "sampled": shown < seen,
        "times": header.times,
        "device": header.device,
        "flows": "from the last shown event of a site before; the records say which sites, not which events",
    }
    if problems := [problem for one in made for problem in one.problems]:
        other["left_out"] = problems
    whole = {"traceEvents": rows, "displayTimeUnit": "ms", "otherData": other}
    return escaping.data(json.dumps(whole)) + "\n"


def kind(record: SiteRecord) -> str:
    """What a record is of, in one word: h2d, d2h, d2d, sync, or move for one that crossed nothing."""
    if record.direction is Direction.NONE:
        return "sync" if record.sync else "move"
    direction: str = record.direction.value
    return direction


def _seen(run: Run) -> int:
    return run.outcome.events if run.outcome else sum(record.count for record in run.sites)


def _pids(own: Sequence[int]) -> tuple[list[int], Iterator[int]]:
    """A number for each process, its own where no other has it (ranks may run on several machines), and more."""
    more = itertools.count(max(own, default=0) + 1)
    found: list[int] = []
    for pid in own:
        found.append(pid if pid and pid not in found else next(more))
    return found, more


def _process(run: Run, later: int, folder: Path | None) -> _Process:
    header, seen = run.header, _seen(run)
    name = " ".join(header.program)
    if header.ranks > 1:
        name = f"rank {header.rank}: {name}"
    if header.parent:
        name += " (forked or spawned)"
    labels = f"times are {header.times}"
    if len(run.raw) < seen:
        labels += f"; {len(run.raw):,} of {seen:,} events, drawn at random"
    transfers = _slices(run, later)
    profiles = _profiles(run, later, folder)
    tracks = (
        *_steps(run, later),
        *_transfer_tracks(run, transfers),
        *(track for one in profiles for track in one.tracks),
    )
    flows, left_out = _flows(run, transfers)
    asked = (("asked for", call, work) for one in profiles for call, work in one.asked)
    problems = [*(one.problem for one in profiles if one.problem), *left_out]
    return _Process(name, labels, tracks, (*flows, *asked), tuple(problems))


def _steps(run: Run, later: int) -> list[Track]:
    marks = run.outcome.marks if run.outcome is not None else ()
    found = [
        Slice(f"step {number + 1}" + ("" if number else ", with all before it"), "step", start + later, wall - APART)
        for number, start, wall in marks
    ]
    return [Track("steps", tuple(found))] if found else []


def _slices(run: Run, later: int) -> dict[int, list[Slice]]:
    """The single events by site record, in order of time."""
    records = {record.id: record for record in run.sites}
    found: dict[int, list[Slice]] = {}
    for event in sorted(run.raw, key=lambda one: one.at):
        if event.site in records:
            found.setdefault(event.site, []).append(_slice(event, records[event.site], later))
    return found


def _slice(event: RawEvent, record: SiteRecord, later: int) -> Slice:
    own = record.user or record.site
    args = {
        "site": f"{own.path}:{own.line}",
        "operation": record.operation,
        "bytes": event.bytes,
        "size": size(event.bytes),
        "blocked_ns": event.blocked,
        "step": event.step + 1,
        "chain": [f"{one.path}:{one.line}" for one in record.chain],
        **({"inside": f"{record.site.path}:{record.site.line}"} if record.user else {}),
    }
    name = f"{kind(record)} {own.path.rpartition('/')[2]}:{own.line}"
    return Slice(name, kind(record), event.at + later, event.blocked, args)


def _transfer_tracks(run: Run, transfers: dict[int, list[Slice]]) -> Iterator[Track]:
    """A track for each direction and thread, and more where slices of one would overlap."""
    groups: dict[tuple[str, str], list[Slice]] = {}
    threads = {record.thread for record in run.sites if record.id in transfers}
    for record in run.sites:
        groups.setdefault((record.thread, kind(record)), []).extend(transfers.get(record.id, ()))
    for (thread, what), slices in sorted(groups.items(), key=lambda one: (one[0][0], [*_TRACKS].index(one[0][1]))):
        name = _TRACKS[what] + (f" · {thread or 'main'}" if len(threads) > 1 else "")
        for number, lane in enumerate(lanes(slices), start=1):
            yield Track(name + (f" ({number})" if number > 1 else ""), tuple(lane))


def _flows(run: Run, transfers: dict[int, list[Slice]]) -> tuple[list[Flow], list[str]]:
    """Where data left and where it came back; only where all that went by a site is known to have come by the link,
    for which of its events did is not."""
    records = {record.id: record for record in run.sites}
    counts: dict[tuple[LinkKind, int, int], int] = {}
    for link in run.links:
        if link.kind in _FLOWS and {link.first, link.second} <= records.keys():
            key = link.kind, link.first, link.second
            counts[key] = counts.get(key, 0) + link.count
    flows: list[Flow] = []
    unsure = 0
    for (what, first, second), count in counts.items():
        if count < records[second].count - (first == second):
            unsure += 1
            continue
        flows += [(_FLOWS[what], *pair) for pair in pairs(transfers.get(first, ()), transfers.get(second, ()))]
    said = f"flows of {counted(unsure, 'link')}: of a site some events came by the link, and it is not known which"
    return flows, [said] if unsure else []


def _profiles(run: Run, later: int, folder: Path | None) -> list[kineto.Profiled]:
    """The profiles in the time of the trace; without a clock to hold them against they are left out."""
    began = started(run)
    if folder is None or not began:
        return []
    traces = [profile.trace for profile in run.profiles if profile.trace]
    return [kineto.read(folder / Path(trace).name, began - later) for trace in traces]


def _rows(
    one: _Process, pid: int, order: int, tids: Iterator[int], flows: Iterator[int], more: Iterator[int]
) -> Iterator[dict[str, Any]]:
    """A process and its devices, as rows of the format; times are microseconds."""
    yield from _described(pid, one.name, order, one.labels)
    devices: dict[str, int] = {}
    at: dict[Slice, tuple[int, int]] = {}
    for place, track in enumerate(one.tracks):
        if track.device and track.device not in devices:
            devices[track.device] = next(more)
            yield from _described(devices[track.device], f"{track.device}, {one.name}", order, "")
        owner, tid = devices.get(track.device, pid), next(tids)
        yield _named("thread_name", owner, tid, {"name": track.name})
        yield _named("thread_sort_index", owner, tid, {"sort_index": place})
        for piece in track.slices:
            at[piece] = owner, tid
            yield {
                "ph": "X",
                "pid": owner,
                "tid": tid,
                "ts": piece.start / 1000,
                "dur": max(piece.length, 1) / 1000,  # one of no length would enclose no flow
                "cat": piece.category,
                "name": piece.name,
                "args": dict(piece.args),
            }
    for name, first, second in one.flows:
        number = next(flows)
        for phase, end in (("s", first), ("f", second)):
            owner, tid = at[end]
            row = {"ph": phase, "pid": owner, "tid": tid, "ts": end.start / 1000, "cat": "flow", "name": name}
            yield {**row, "id": number, **({"bp": "e"} if phase == "f" else {})}


def _described(pid: int, name: str, order: int, labels: str) -> Iterator[dict[str, Any]]:
    yield _named("process_name", pid, 0, {"name": name})
    yield _named("process_sort_index", pid, 0, {"sort_index": order})
    if labels:
        yield _named("process_labels", pid, 0, {"labels": labels})


def _named(what: str, pid: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": args}
