"""The files of a run, group after group: what is known of a group is taken from the cache, and the others are checked.

Groups are those of `connected.py`. Each has a project of its own, which is gone from memory when the group is checked.
Small ones go together, so that workers are not started for each.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.engine import jobs, steps, workers
from transferlint.engine.plan import Outcome, Plan, internal
from transferlint.engine.run import Run
from transferlint.engine.steps import Beyond, Prepared
from transferlint.engine.workers import Job

if TYPE_CHECKING:
    from transferlint.engine.writing import Stamp
    from transferlint.flow.project import Project
    from transferlint.sources.discovery import Trouble

_TOGETHER = 400  # files: as many as keep workers busy

Group = Sequence[Job]
Stamps = list[tuple[str, "Stamp"]]


def check(run: Run, reading: Group) -> tuple[list[Outcome], Stamps, str]:
    """What comes of those jobs in `reading` that are told of, in order, the state in which each file was read, and a
    remark on how, "" for none."""
    places = {job.target.path: job for job in reading}
    every: list[Group] = [[places[path] for path in group] for group in run.around.groups] or [reading]
    groups = [group for group in every if any(job.index in run.told for job in group)]
    with contextlib.suppress(Beyond):  # a name that no import tells of
        return _each(run, groups)
    return _each(late.replace(run, done=_nobody, keeper=None), [reading])


def check_beside(own: Prepared, content: bytes, job: Job, others: Group, run: Run) -> Outcome:
    """What comes of a file that is prepared already, with others around it that are not; `content` is the digest of
    what is in it."""
    from transferlint.engine import updates  # for what is kept of large groups

    group = sorted([job, *others], key=lambda one: one.target.path)
    known = updates.beside(run, group, own, content)
    if known is not None:
        return known
    run = late.replace(run, keeper=None)
    made, _ = jobs.prepared(others, run.plans, run.count, run.done)
    prepared = {job.index: own} | {one.index: found for one, found in zip(others, made, strict=True)}
    return check_prepared(late.replace(run, count=1), [[job, *others]], prepared)[job.index]


def _each(run: Run, groups: Iterable[Group]) -> tuple[list[Outcome], Stamps, str]:
    found: dict[int, Outcome] = {}
    stamps: Stamps = []
    remarks: list[str] = []
    left: list[tuple[str, Group]] = []
    for group in groups:
        key = run.keeper.key(group) if run.keeper is not None else ""
        known = run.keeper.read(key, group) if run.keeper is not None and key else None
        if known is None and run.keeper is not None and key:
            from transferlint.engine import updates  # for what is kept of large groups

            try:
                updated = updates.check(run, group)
                known = updated.outcomes if updated is not None else None
                if updated is not None and run.keeper.write(key, group, updated.outcomes):
                    updated.renew()
            except Exception as error:  # a defect of ours costs time, not the run
                trouble = internal("the check of what changed", "this project", error)
                remarks.append(f"{trouble}; all files were checked instead")
        if known is None:
            left.append((key, group))
        else:
            found.update(known)
            run.done(len(group) + len(known))
    for batch in _batches(left):
        reading = [job for _, group in batch for job in group]
        made, remark = jobs.prepared(reading, run.plans, run.count, run.done, run.executor)
        prepared = {job.index: one for job, one in zip(reading, made, strict=True)}
        keys = {group[0].index: key for key, group in batch}
        outcomes = check_prepared(run, [group for _, group in batch], prepared, keys)
        found.update(outcomes)
        stamps += [(one.path, one.stamp) for one in made]
        remarks += [remark]
    return [found[index] for index in sorted(found)], stamps, next(filter(None, remarks), "")


def _batches(groups: Iterable[tuple[str, Group]]) -> Iterator[list[tuple[str, Group]]]:
    batch: list[tuple[str, Group]] = []
    size = 0
    for key, group in groups:
        batch.append((key, group))
        size += len(group)
        if size >= _TOGETHER:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def check_prepared(
    run: Run, groups: Sequence[Group], prepared: Mapping[int, Prepared], keys: Mapping[int, str] | None = None
) -> dict[int, Outcome]:
    """The second step for what is told of some groups, by its index. Where a group cannot be put together, its files
    are checked each by itself. What comes of it is kept under `keys`, by the first job of each group. Raises Beyond
    where one asks for files of another."""
    projects: dict[int, Project] = {}
    troubles: dict[int, Trouble] = {}
    workers.deep(lambda: _link(run, groups, prepared, projects, troubles))
    told = [job for group in groups for job in group if job.index in run.told]
    checking = [job for job in told if prepared[job.index].outcome is None]
    alone = {job.index for group in groups if group[0].index in troubles for job in group}
    task = functools.partial(_check_one, prepared=prepared, plans=run.plans, projects=projects, alone=alone)
    # What an executor runs beside this process may not survive a fork.
    count = run.count or (1 if run.executor is not None else 0)
    checked = workers.run(checking, task, jobs.died, count, run.done, shares=True)
    run.done(len(told) - len(checking))
    outcomes = {job.index: outcome for job, outcome in zip(checking, checked, strict=False)}
    for job in told:
        outcomes.setdefault(job.index, prepared[job.index].outcome or Outcome(job.target.path))
    for group in groups:
        first = next((job.index for job in group if job.index in run.told), -1)
        if group[0].index in troubles and first >= 0:
            said = (troubles[group[0].index], *outcomes[first].troubles)
            outcomes[first] = late.replace(outcomes[first], troubles=said)
    for group in groups:
        key = keys.get(group[0].index, "") if keys else ""
        if run.keeper is not None and key and run.keeper.write(key, group, outcomes):
            made = projects.get(group[0].index)
            if made is not None:
                own = {job.index: outcomes[job.index] for job in group if job.index in outcomes}
                from transferlint.engine import updates

                updates.write(run, group, made, own)
    for project in {id(project): project for project in projects.values()}.values():
        project.let_go()
    return outcomes


def _link(
    run: Run,
    groups: Sequence[Group],
    prepared: Mapping[int, Prepared],
    projects: dict[int, Project],
    troubles: dict[int, Trouble],
) -> None:
    """Put the project of each group together, for each of its jobs; `troubles` has, by the first job of a group, why
    that failed."""
    every = frozenset(path for group in run.around.groups for path in group) - run.around.idle
    for group in groups:
        inside = [prepared[job.index] for job in group]
        if not any(one.program for one in inside):
            continue
        paths = frozenset(job.target.path for job in group)
        entered = run.around.users | {job.target.path for job in group if job.wanted}
        own = {job.target.path: run.plans[job.scope].options for job in group if job.scope}
        try:
            recorded = False
            if run.keeper is not None:
                from transferlint.engine import updates

                recorded = len(group) >= updates.FEWEST
            project = steps.linked(inside, run.index, run.plans[0], entered, own, every - paths, recorded)
        except Beyond:
            raise
        except Exception as error:  # a defect of ours must not end the run
            troubles[group[0].index] = internal("the project", run.around.root, error)
        else:
            projects.update((job.index, project) for job in group)


def _check_one(
    job: Job,
    prepared: Mapping[int, Prepared],
    plans: Sequence[Plan],
    projects: Mapping[int, Project],
    alone: set[int],
) -> Outcome:
    plan = plans[job.scope]
    if job.index in alone:
        plan = late.replace(plan, whole=False)
    return steps.check_prepared(prepared[job.index], plan, job.ignored, projects.get(job.index))


def _nobody(count: int) -> None:
    """Hears how far a run is, and tells nobody."""
