"""A trace as a run: its calls summed by site, as a recorder would have."""

from __future__ import annotations

import bisect
import dataclasses
import os
import statistics
from collections.abc import Iterable, Sequence

from runtime_check.claims import sites as claimed
from runtime_check.events import Event, Frame
from runtime_check.findings import FoundFinding
from runtime_check.records import IMPORTED, UNPLACED, Executed, Header, Outcome, Run, SiteRecord
from runtime_check.reports import units
from runtime_check.sums import SiteSum
from runtime_check.traces.calls import Call, Trace
from runtime_check.traces.placing import NOWHERE, Placed, Placing
from runtime_check.traces.sources import Sources
from transferlint.model import Direction, Site


def run_of(trace: Trace, number: int, findings: Sequence[FoundFinding], sources: Sources) -> Run:
    """The run that a trace is of; `number` is its place among those of one program."""
    placing = Placing(trace, sources)
    steps = _Steps(trace)
    sums: dict[object, SiteSum] = {}
    maybes: dict[int, tuple[Site, ...]] = {}
    unknown: dict[int, int] = {}
    for placed in placing.placed():
        event = _event(placed)
        frame, user = event.frames[0], event.frames[event.user] if event.user > 0 else None
        key = frame, user, event.operation, event.direction, event.sync, event.backward, placed.maybe
        known = sums.get(key)
        if known is None:
            known = sums[key] = SiteSum(len(sums), event, frame, user, "")
            maybes[known.id] = placed.maybe
        known.add(event, event.blocked, steps.of(placed.call.start))
        copies = placed.call.direction is not Direction.NONE
        unknown[known.id] = unknown.get(known.id, 0) + (copies and placed.call.pinned is None)
    sites = tuple(_with(one.record(steps.last), maybes[one.id], unknown[one.id]) for one in sums.values())
    executed = _executed(trace, findings, placing, sources) if trace.stacks else ()
    header = Header(
        (os.path.basename(trace.path),), "", trace.device, "", "", "", IMPORTED, "measured",
        rank=trace.rank, ranks=trace.ranks, pid=number, notes=_notes(trace, steps, sites),
    )  # fmt: skip
    count = len(trace.steps)
    outcome = Outcome(count, count, len(trace.calls), trace.duration, trace.duration, 0)
    return Run(header, sites, outcome=outcome, executed=executed)


def _with(record: SiteRecord, maybe: tuple[Site, ...], unknown: int) -> SiteRecord:
    return dataclasses.replace(record, maybe=maybe, unknown_memory=unknown)


def _event(placed: Placed) -> Event:
    """A call of a trace as the event that a hook would have seen. A copy that no wait follows was asked not to wait; it
    waits all the same for pageable memory, which is copied aside first."""
    call, frames = placed.call, placed.frames
    if frames[0].path == NOWHERE:
        frames = (Frame(UNPLACED + _operators(call), 0, ""),)
    copies = call.direction is not Direction.NONE
    staged = call.direction is Direction.H2D and call.pinned is False
    return Event(
        call.direction,
        call.operation,
        call.bytes,
        call.start,
        call.blocked,
        call.sync or staged,
        frames,
        max(placed.user, 0),
        pinned=bool(call.pinned),
        non_blocking=copies and not call.sync,
        backward=call.backward,
        inside=placed.inside,
    )


def _operators(call: Call) -> str:
    """ "aten::to > aten::copy_": the outermost and the innermost operator."""
    names = [one.name for one in call.around if not one.python]
    return " > ".join(dict.fromkeys((names[0], names[-1]))) if names else call.operation


class _Steps:
    """The steps of a trace by time: 0 before the first, then 1, 2 ... , and one more after the last."""

    def __init__(self, trace: Trace) -> None:
        self._starts = [start for _, start, _ in trace.steps]
        self._end = max((end for _, _, end in trace.steps), default=0)
        self.last = len(trace.steps) + 1 if trace.steps else 0

    def of(self, time: int) -> int:
        """The step that a time falls into."""
        if not self._starts or time > self._end:
            return self.last
        return bisect.bisect_right(self._starts, time)


def _executed(
    trace: Trace, findings: Iterable[FoundFinding], placing: Placing, sources: Sources
) -> tuple[Executed, ...]:
    """What the trace shows of the expressions with findings: those that are known to have run."""
    ran: dict[str, set[Site]] = {}
    for path, site in placing.evaluated():
        ran.setdefault(path, set()).add(site)
    seen = {one.path for name in set(trace.owners.values()) if (one := sources.function(name)) is not None}
    of_interest: dict[str, set[Site]] = {}
    for site in (site for finding in findings for site in claimed(finding)):
        of_interest.setdefault(site.path, set()).add(site)
    found = []
    for path, sites in of_interest.items():
        proven = sites & ran.get(path, set())
        found.append(
            Executed(
                path,
                tuple(sorted({site.line for site in proven})),
                tuple(sorted({(site.line, site.column) for site in sites})),
                tuple(sorted({(site.line, site.column) for site in proven})),
                path in seen,
            )
        )
    return tuple(found)


def _notes(trace: Trace, steps: _Steps, sites: Sequence[SiteRecord]) -> tuple[str, ...]:
    found = list(trace.notes)
    name = os.path.basename(trace.path)
    if not trace.stacks:
        found.append(f"{name} has no Python stacks: nothing in it has a line, and nothing is refuted by it")
    elif any(record.site.path.startswith(UNPLACED) for record in sites):
        found.append(f"{name}: what runs on threads without Python stacks has no line")
    if trace.steps:
        waiting = [0] * (steps.last + 1)
        for call in trace.calls:
            waiting[steps.of(call.start)] += call.blocked
        lengths = [end - start for _, start, end in trace.steps]
        slowest = max(trace.steps, key=lambda one: one[2] - one[1])
        length, waited = statistics.median(lengths), statistics.median(waiting[1 : steps.last])
        found.append(
            f"{name}: {units.count(len(lengths), 'step')} of {units.duration(round(length))} (median), of which"
            f" {units.duration(round(waited))} waiting; the slowest, {slowest[0]}, took"
            f" {units.duration(slowest[2] - slowest[1])}"
        )
    return tuple(found)
