"""What is written down of a project after an update, so that the next one goes on from there: of the functions that
were placed again, and of the files that are told where their calls stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transferlint import late
from transferlint.flow.callgraph.names import split
from transferlint.flow.incremental.recorded import Asked, Briefs, FileRecord, HeatRecord, edges_of
from transferlint.flow.incremental.restored import RestoredProject
from transferlint.flow.incremental.traces import CALLED, GLOBAL, PLACE, TELL
from transferlint.flow.incremental.update import Update, at_sites
from transferlint.flow.project import Look

Tables = list[dict[str, list[Any]]]


def records(project: RestoredProject, update: Update) -> Iterator[tuple[str, FileRecord]]:
    """The records that are not what they were. Raises Unforeseen where that cannot be told."""
    briefs = Briefs()
    again: dict[str, list[int]] = {}
    for key, index in sorted(update.again):
        again.setdefault(key, []).append(index)
    for key in sorted(again.keys() | _told(project)):
        owner = project.restored(key)
        record = owner.record
        traces, seen = dict(record.traces), dict(record.seen)
        for index in again.get(key, ()):
            made = project.traces[key, index]
            seen[index] = [briefs.of(one.placed) for one in made]
            traces[index] = [briefs.trace(owner, index, one) for one in made]
        values, given = owner.callers.known()
        yield key, FileRecord(traces, seen, values, given, _heat(project, update, key), record.flagged)


def tables(project: RestoredProject, update: Update, looked: Iterable[tuple[str, Look]]) -> Tables:
    """The tables of who asked what of whom, with what is asked now; `looked`: which file looked at which function."""
    others = update.others
    kinds: tuple[Mapping[str, frozenset[Any]], ...] = (others.names, others.heads, others.askers, others.lookers)
    names, heads, askers, lookers = ({path: set(found) for path, found in table.items()} for table in kinds)
    for path, name in project.looked_up():
        names.setdefault(path, set()).add(name)
    for path, head in project.heads:
        heads.setdefault(path, set()).add(head)
    for path, (other, index) in looked:
        lookers.setdefault(other, set()).add((index, path))
    for key, index in update.again:
        for trace in project.traces[key, index]:
            for event in trace.events:
                if event[0] == PLACE and event[1] != key:
                    askers.setdefault(event[1], set()).add(key)
                elif event[0] == GLOBAL and event[1] != key:
                    names.setdefault(event[1], set()).add(event[2])
    return [{path: sorted(found) for path, found in table.items()} for table in (names, heads, askers, lookers)]


def _told(project: RestoredProject) -> set[str]:
    """The files that hold where calls of functions stand whose calls stand elsewhere now."""
    found: set[str] = set()
    for key, index in project.changed:
        if all(old == new for old, new in project.moved.get((key, index), {}).items()):
            continue
        record = project.restored(key).record
        events = (event for trace in record.traces.get(index, ()) for event in trace.events)
        found.update(event[1] for event in events if event[0] in (TELL, CALLED))
        heat = record.heat
        for edges in heat.edges if heat is not None else ():
            found.update(edge[2] for edge in edges if edge[0] == index and isinstance(edge[2], str))
        for target, _ in heat.handed if heat is not None else ():
            place = split(target)
            found.update((place[0],) if place is not None else ())
    for key, index in project.retold:
        for trace in project.traces[key, index]:
            found.update(event[1] for event in trace.events if event[0] == TELL)
    return {key for key in found if project.record(key) is not None}


def _heat(project: RestoredProject, update: Update, key: str) -> HeatRecord | None:
    record = project.restored(key).record.heat
    if record is None:
        return None
    asked: list[Asked] | None = update.asked.get(key)
    if asked is None:
        return late.replace(record, asked=[at_sites(one, key, project) for one in record.asked])
    _, _, heat = project.linked(key)
    return HeatRecord(asked, edges_of(heat), heat.handed)
