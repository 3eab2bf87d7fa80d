"""The files of a run as jobs, and what is done to each of them that needs no other: here, or by an executor."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transferlint.engine import steps, workers
from transferlint.engine.pipeline import check_file
from transferlint.engine.plan import Outcome, Plan
from transferlint.engine.scopes import Scopes
from transferlint.engine.steps import Prepared
from transferlint.engine.workers import Done, Job
from transferlint.sources.discovery import Target, Trouble

if TYPE_CHECKING:
    from concurrent.futures import Executor


def job(index: int, target: Target, scopes: Scopes, wanted: bool = True) -> Job:
    """A file as a job; `wanted` False says that it is only read for the sake of others."""
    ignored = scopes.ignored(target.path) if wanted else ()
    return Job(index, target, ignored, wanted, scopes.of(target.path))


def beside(first: int, paths: Sequence[str], scopes: Scopes) -> list[Job]:
    """The files that are only read, numbered from `first` on."""
    return [job(index, Target(path), scopes, wanted=False) for index, path in enumerate(paths, start=first)]


def checked(
    jobs: Sequence[Job], plans: Sequence[Plan], count: int, done: Done, executor: Executor | None
) -> tuple[list[Outcome], str]:
    """What comes of files that are checked each by itself, and a remark on how, "" for none."""
    check = functools.partial(_check, plans=plans)
    if executor is None:
        return workers.run(jobs, check, died, count, done), ""
    from transferlint.engine import executors

    send = functools.partial(executors.check, plans=plans, executor=executor)
    return executors.run(jobs, check, died, count, done, send)


def prepared(
    jobs: Sequence[Job], plans: Sequence[Plan], count: int, done: Done, executor: Executor | None = None
) -> tuple[list[Prepared], str]:
    """The first step for files that are checked together, and a remark on how it was done, "" for none."""
    prepare = functools.partial(_prepare, plans=plans)
    if executor is None:
        return workers.run(jobs, prepare, _lost, count, done), ""
    from transferlint.engine import executors

    send = functools.partial(executors.prepare, plans=plans, executor=executor)
    return executors.run(jobs, prepare, _lost, count, done, send)


def died(job: Job) -> Outcome:
    """What comes of a file whose worker died twice."""
    why = f"internal error: the worker that checked {job.target.path} died; please report"
    return Outcome(job.target.path, troubles=(Trouble("", why),))


def _check(job: Job, plans: Sequence[Plan]) -> Outcome:
    return check_file(job.target, plans[job.scope], job.ignored)


def _prepare(job: Job, plans: Sequence[Plan]) -> Prepared:
    return steps.prepare(job.target, plans[job.scope], job.ignored, job.wanted).packed()


def _lost(job: Job) -> Prepared:
    return Prepared(job.target.path, outcome=died(job))
