"""Files worked on by an executor of the caller's: threads, processes, or a cluster.

An executor is a `concurrent.futures.Executor` (docs.python.org, "concurrent.futures"): its `submit` gives a
`concurrent.futures.Future`. What is sent is a function of a module, and for some files at a time their bytes and what
of the plan concerns them; what comes back are programs or outcomes. Both pickle, and hold nothing of the project.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Generic, TypeVar

from transferlint import late
from transferlint.cache import programs
from transferlint.engine import pipeline, steps, workers
from transferlint.engine.plan import Outcome, Plan
from transferlint.engine.steps import Prepared
from transferlint.engine.workers import Done, Job
from transferlint.engine.writing import NO_STAMP, Stamp, stamp_of
from transferlint.rule import Rule
from transferlint.sources.changes import Changes
from transferlint.syntax.notebooks import SUFFIX

_BYTES = 200_000  # of source in a task: a quarter of a second's work, beside which sending it is nothing
_UNDER_WAY = 256  # tasks, so that their bytes are no more than 50 MB
# What a task does changes what is the process's own (the recursion limit, the filters of warnings), and threads of one
# process cannot run it at the same time anyway.
_ALONE = threading.Lock()

T = TypeVar("T")
R = TypeVar("R")
Task = Callable[[str, bytes, Plan, tuple[str, ...]], T]


@late.dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent of a job: its bytes, the number of its plan and the selectors that do not count in it."""

    path: str
    data: bytes
    scope: int
    ignored: tuple[str, ...]


@late.dataclass(frozen=True, slots=True)
class Sent:
    """A job with what was sent of it, and which state of the file was read."""

    job: Job
    parcel: Parcel
    stamp: Stamp


@dataclasses.dataclass(slots=True)
class Returned(Generic[R]):
    """What came back, by the job's index; the jobs of which nothing did; and why, in one line ("" for no reason). Jobs
    that are in neither were not sent: what is to be said of them is found out as quickly here."""

    found: dict[int, R] = dataclasses.field(default_factory=dict)
    lost: list[Job] = dataclasses.field(default_factory=list)
    why: str = ""


Send = Callable[[Sequence[Job]], Returned[R]]


def run(
    jobs: Sequence[Job], task: Callable[[Job], R], died: Callable[[Job], R], count: int, done: Done, send: Send[R]
) -> tuple[list[R], str]:
    """`workers.run`, with what `send` gets done elsewhere. What was lost there is done in a process of its own here, so
    that what may have ended the other one does not end this one. The second value is a remark on that, "" for none."""
    returned = send(jobs)
    found = returned.found
    done(len(found))
    lost = {job.index for job in returned.lost}
    here = [job for job in jobs if job.index not in found and job.index not in lost]
    # Without a number that is asked for, in this process: what an executor runs beside it may not survive a fork.
    found.update(zip((job.index for job in here), workers.run(here, task, died, count or 1, done), strict=True))
    again = workers.run_apart(returned.lost, task, died, done)
    found.update(zip((job.index for job in returned.lost), again, strict=True))
    remark = f"the executor failed on {len(lost):,} files, which were then done here: {returned.why}" if lost else ""
    return [found[job.index] for job in jobs], remark


def prepare(jobs: Sequence[Job], plans: Sequence[Plan], executor: Executor) -> Returned[Prepared]:
    """`steps.prepare` for the jobs whose programs are not kept."""
    bare = [late.replace(plan, rules=(), known=None, since=None, cache="") for plan in plans]

    def finish(sent: Sent, made: Prepared) -> Prepared | None:
        # What cannot be read is judged by settings that were not sent.
        return None if made.outcome is not None else _kept(made, sent, plans[sent.job.scope])

    return _sent_out(_chunks(jobs, plans), steps.prepare_bytes, lambda _: bare, finish, executor, "")


def check(jobs: Sequence[Job], plans: Sequence[Plan], executor: Executor) -> Returned[Outcome]:
    """`pipeline.check_file` for the jobs, each by itself. Rules and settings may look at what lies beside a file, so
    that it is done only where the worker is in the same folder."""
    bare = [late.replace(plan, rules=tuple(map(_detecting, plan.rules)), cache="") for plan in plans]

    def concerning(paths: Sequence[str]) -> list[Plan]:
        return [_concerning(plan, paths) for plan in bare]

    return _sent_out(_chunks(jobs, bare), pipeline.check_bytes, concerning, lambda _, made: made, executor, os.getcwd())


def _sent_out(
    chunks: Iterable[list[Sent]],
    task: Task[T],
    concerning: Callable[[list[str]], Sequence[Plan]],
    finish: Callable[[Sent, T], R | None],
    executor: Executor,
    folder: str,
) -> Returned[R]:
    """Send the chunks, a bounded number of them at a time, and `finish` what comes back; None leaves it out."""
    returned: Returned[R] = Returned()
    pending: dict[Future[list[T]], list[Sent]] = {}

    def collect(until: str) -> None:
        for future in concurrent.futures.wait(pending, return_when=until).done:
            chunk = pending.pop(future)
            try:
                pairs = list(zip(chunk, future.result(), strict=True))
            except Exception as error:  # whatever an executor makes of a failure
                _lose(returned, chunk, error)
                continue
            made = ((sent.job.index, finish(sent, one)) for sent, one in pairs)
            returned.found.update((index, one) for index, one in made if one is not None)

    try:
        for chunk in chunks:
            if len(pending) >= _UNDER_WAY:
                collect(concurrent.futures.FIRST_COMPLETED)
            parcels = [sent.parcel for sent in chunk]
            own = concerning([parcel.path for parcel in parcels])
            used = {parcel.scope: own[parcel.scope] for parcel in parcels}
            try:
                pending[executor.submit(_do, task, parcels, used, folder)] = chunk
            except Exception as error:  # as one does that is broken or was shut down
                _lose(returned, chunk, error)
        while pending:
            collect(concurrent.futures.ALL_COMPLETED)
    except BaseException:
        for future in pending:
            future.cancel()
        raise
    return returned


def _do(task: Task[T], parcels: Sequence[Parcel], plans: Mapping[int, Plan], folder: str) -> list[T]:
    """In a worker: the task for each of some files. Raises OSError where the folder is not the current one."""
    if folder and os.getcwd() != folder:
        raise OSError(f"a worker is in the folder {os.getcwd()}, not in {folder}")
    with _ALONE:
        return workers.deep(lambda: [task(one.path, one.data, plans[one.scope], one.ignored) for one in parcels])


def _lose(returned: Returned[R], chunk: Iterable[Sent], error: BaseException) -> None:
    returned.lost += [sent.job for sent in chunk]
    words = " ".join(str(error).split())[:200]
    returned.why = returned.why or f"{type(error).__name__}: {words}".removesuffix(": ")


def _chunks(jobs: Iterable[Job], plans: Sequence[Plan]) -> Iterator[list[Sent]]:
    """What is sent, some files of about `_BYTES` in all at a time."""
    chunk: list[Sent] = []
    size = 0
    for job in jobs:
        sent = _sent(job, plans[job.scope])
        if sent is None:
            continue
        chunk.append(sent)
        size += len(sent.parcel.data)
        if size >= _BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _sent(job: Job, plan: Plan) -> Sent | None:
    """What is sent of a job; None for a file that cannot be read, holds nothing of interest, or is in the cache."""
    stamp = stamp_of(job.target.path) if plan.changes else NO_STAMP
    data = steps.read_for(job.target)
    if isinstance(data, Outcome) or (_keeps(job.target.path, plan) and programs.holds(plan.cache, data)):
        return None
    return Sent(job, Parcel(job.target.path, data, job.scope, job.ignored), stamp)


def _keeps(path: str, plan: Plan) -> bool:
    return bool(plan.cache) and not path.endswith(SUFFIX)


def _kept(made: Prepared, sent: Sent, plan: Plan) -> Prepared:
    """What came back, as it would have been made here: kept in the cache, and of context only what is asked for."""
    keeps = _keeps(made.path, plan)
    if keeps and made.program is not None:
        parts = made.program, made.comments, made.lines, made.marks, made.parentheses
        programs.write(plan.cache, sent.parcel.data, parts)
    if sent.job.wanted:
        return late.replace(made, stamp=sent.stamp)
    return Prepared(made.path, kept=True) if keeps else Prepared(made.path, made.program, lines=made.lines)


def _detecting(rule: Rule) -> Rule:
    """A rule without what is there to be read."""
    return late.replace(rule, doc="", examples=(), more_examples=None)


def _concerning(plan: Plan, paths: Iterable[str]) -> Plan:
    """The plan with what concerns some files alone: of the baseline their entries, of what changed their texts."""
    since = plan.since
    if since is not None:
        real = {os.path.realpath(path) for path in paths}
        since = Changes({path: text for path, text in since.texts.items() if path in real})
    known = plan.known.about(paths) if plan.known is not None else None
    return late.replace(plan, known=known, since=since)
