"""A group of which few files changed, checked by what was written down when all of it was: only what the changes matter
for is analysed again, and all else stands (`flow/incremental/update.py`)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from transferlint import late
from transferlint.cache import bases, programs, results
from transferlint.engine import steps, workers
from transferlint.engine.plan import Outcome
from transferlint.engine.steps import Prepared, Programs
from transferlint.engine.workers import Job

if TYPE_CHECKING:
    from transferlint.engine.kept_results import Keeper
    from transferlint.engine.run import Run
    from transferlint.flow.incremental.recorded import FileRecord
    from transferlint.flow.incremental.update import Others
    from transferlint.flow.project import Project
    from transferlint.syntax.program import Program

FEWEST = 8  # files; smaller groups are checked anew as fast
FEW = 3  # files that changed, which each run looks at again; after more, what was written down is renewed
_MOST = 40  # files that changed, or of which nothing was found when it was written down
_DISPATCH = "\0dispatch"

Group = Sequence[Job]


class Updated(NamedTuple):
    """What comes of the wanted files of a group, by their index, and what writes down anew what it rests on, once that
    is kept, where it is worth it."""

    outcomes: dict[int, Outcome]
    renew: Callable[[], None]


class _Found(NamedTuple):
    """The same of the files of which something else may be found; what writes takes the cache's folder, and the
    contents of the group's files."""

    outcomes: dict[int, Outcome]
    renew: Callable[[str, Sequence[bytes]], None] | None = None


def write(run: Run, group: Group, project: Project, outcomes: Mapping[int, Outcome]) -> None:
    """Keep what was written down of a project, which was put together from all files of the group."""
    from transferlint.flow.incremental.recorded import RecordedProject

    keeper = run.keeper
    if keeper is None or not isinstance(project, RecordedProject):
        return
    names, heads, askers = project.asked_for()
    lookers: dict[str, set[tuple[int, str]]] = {}
    for path, looked in (*project.looked.items(), *((one.path, one.looked) for one in outcomes.values())):
        for other, index in looked:
            lookers.setdefault(other, set()).add((index, path))
    tables = [{path: sorted(found) for path, found in table.items()} for table in (names, heads, askers, lookers)]
    overriding, methods = project.dispatched()
    parts = [(_DISPATCH, (overriding, methods)), *project.records()]
    told = _rows(run, [job for job in group if job.index in outcomes])
    head = keeper.contents(group), tables, sorted(told.values())
    bases.write(keeper.where, keeper.name(group), head, parts)


def check(run: Run, group: Group) -> Updated | None:
    """What comes of the wanted files of a group; None where all of it has to be checked."""
    keeper = run.keeper
    base = base_of(keeper, group) if keeper is not None else None
    if keeper is None or base is None:
        return None
    known = keeper.read_contents(group, base.head[0]) or {}
    now = keeper.contents(group)
    also = _also(run, group, base) | {job.target.path for job in _told(run, group) if job.index not in known}
    found = _since(run, group, base, now, also, _MOST, FEW)
    if found is None:
        return None
    renew = functools.partial(found.renew, keeper.where, now) if found.renew is not None else _nothing
    return Updated(known | found.outcomes, renew)


def base_of(keeper: Keeper, group: Group) -> bases.Base | None:
    """What was written down of a group."""
    return bases.read(keeper.where, keeper.name(group)) if len(group) >= FEWEST else None


def _told(run: Run, group: Group) -> list[Job]:
    return [job for job in group if job.wanted and job.index in run.told]


def _rows(run: Run, jobs: Iterable[Job]) -> dict[str, str]:
    """By path, what tells that a file was looked at by these rules."""
    from transferlint.engine import kept_results

    plans = [results.digest(kept_results.asked(plan)) for plan in run.plans]
    return {job.target.path: results.digest(job.target.path, plans[job.scope], job.ignored) for job in jobs}


def _also(run: Run, group: Group, base: bases.Base) -> set[str]:
    """The files of a group that are told of and were not when it was written down, or by other rules: whom these looked
    at is not known."""
    known = frozenset(base.head[2])
    return {path for path, row in _rows(run, _told(run, group)).items() if row not in known}


def since(run: Run, group: Group, base: bases.Base, now: Sequence[bytes]) -> dict[int, Outcome] | None:
    """What comes of the files of a group of which something else may be found than when it was written down, where
    these are the contents of its files; None where that takes all of it, or too many files changed by now."""
    found = _since(run, group, base, now, _also(run, group, base), FEW, FEW)
    return found.outcomes if found is not None else None


def beside(run: Run, group: Group, own: Prepared, content: bytes) -> Outcome | None:
    """What comes of a file of a group that is prepared already, whose content this is the digest of; None where that is
    not known without the others."""
    keeper = run.keeper
    base = base_of(keeper, group) if keeper is not None and keeper.key(group) else None
    if keeper is None or base is None or own.outcome is not None:
        return None
    pairs = zip(group, keeper.contents(group), strict=True)
    now = [content if job.target.path == own.path else known for job, known in pairs]
    found = _since(run, group, base, now, {own.path}, _MOST, _MOST, {own.path: own})
    return next((one for one in found.outcomes.values() if one.path == own.path), None) if found is not None else None


def _nothing() -> None:
    """Writes nothing down anew."""


def _since(
    run: Run,
    group: Group,
    base: bases.Base,
    now: Sequence[bytes],
    also: set[str],
    most: int,
    few: int,
    given: Mapping[str, Prepared] = MappingProxyType({}),
) -> _Found | None:
    """What comes of it, if no more than `most` files changed, and what writes it down anew, if more than `few` did;
    `also` are files that are looked at in any case, `given` those that are prepared."""
    before = base.head[0]
    changed = [number for number, content in enumerate(now) if content != before[number]]
    if not changed and not also:
        return _Found({})
    if len(changed) > most or len(also) > _MOST:
        return None
    from transferlint.flow.incremental.traces import Unforeseen

    try:
        return workers.deep(lambda: _updated(run, group, base, changed, also, len(changed) > few, given))
    except (Unforeseen, steps.Beyond):
        return None


def _updated(
    run: Run,
    group: Group,
    base: bases.Base,
    changed: Sequence[int],
    also: set[str],
    writes: bool,
    given: Mapping[str, Prepared],
) -> _Found:
    """What comes of the files whose findings may be others, and of some `also`; `writes`: also what writes it down
    anew. Raises Unforeseen and Beyond."""
    from transferlint.flow.incremental.restored import RestoredProject
    from transferlint.flow.incremental.traces import Unforeseen
    from transferlint.flow.incremental.update import Update

    before, tables, told = base.head
    jobs = {job.target.path: job for job in group}
    fresh = {group[number].target.path: _prepared(run, group[number]) for number in changed} | dict(given)
    old = {group[number].target.path: _before(run, group[number], before[number]) for number in changed}
    if any(one.program is None and not one.kept for one in fresh.values()):
        raise Unforeseen
    plan = run.plans[0]
    every = frozenset(path for one in run.around.groups for path in one) - run.around.idle
    others = [fresh.get(path) or Prepared(path, kept=True) for path in jobs if path in base]
    known = Programs(others, plan, every - jobs.keys())
    own = {path: run.plans[job.scope].options for path, job in jobs.items() if job.scope}

    def record(path: str) -> FileRecord | None:
        found: FileRecord | None = base.part(path)
        return found

    dispatch = base.part(_DISPATCH)
    if dispatch is None:
        raise Unforeseen
    project = RestoredProject(known, run.index, plan.options, known.lines, own, record)
    update = Update(project, _others(tables), dispatch, old)
    found = {}
    for path in sorted(update.run(also)):
        job = jobs[path]
        if job.wanted and job.index in run.told:
            prepared = fresh.get(path) or _prepared(run, job)
            program = known[path]
            prepared = late.replace(prepared, program=program)
            found[job.index] = steps.check_prepared(prepared, run.plans[job.scope], job.ignored, project)
    if any(one.troubles for one in found.values()):
        raise Unforeseen

    def renew(where: str, now: Sequence[bytes]) -> None:
        from transferlint.flow.incremental import renewal

        looked = [(path, other) for path, others in project.looked.items() for other in others]
        looked += [(one.path, other) for one in found.values() for other in one.looked]
        with contextlib.suppress(Unforeseen):
            parts = dict(renewal.records(project, update))
            told_of = sorted({*told, *_rows(run, [job for job in group if job.index in found]).values()})
            base.renew(where, (list(now), renewal.tables(project, update, looked), told_of), parts)
        project.let_go()

    if not writes:
        project.let_go()
    return _Found(found, renew if writes else None)


def _prepared(run: Run, job: Job) -> Prepared:
    return steps.prepare(job.target, run.plans[job.scope], job.ignored, job.wanted)


def _before(run: Run, job: Job, content: bytes) -> Program:
    from transferlint.flow.incremental.traces import Unforeseen

    found = programs.read_content(run.plans[0].cache, job.target.path, content) if content else None
    if found is None:
        raise Unforeseen
    return found[0]


def _others(tables: Any) -> Others:
    from transferlint.flow.incremental.update import Others

    return Others(*({path: frozenset(found) for path, found in table.items()} for table in tables))
