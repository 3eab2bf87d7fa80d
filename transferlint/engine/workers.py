"""Many files at once: worker processes over chunks of files, in a fixed order of results, surviving a worker's death.

A file is always worked on in a thread with a large stack and a high recursion limit, so that deeply nested source does
not overflow; a worker that dies all the same is found out by giving each file it may have held a worker of its own.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from transferlint import late
from transferlint.sources.discovery import Target
from transferlint.sources.shards import weight
from transferlint.syntax.deep import DEEP_STACK_BYTES, start

SERIAL_BELOW = 60
_DEPTH = 200_000
_LAST_WORDS = 1.0  # seconds
_CHUNKS_A_WORKER = 8
_WAITING, _STARTED = 0, 1


@late.dataclass(frozen=True, slots=True)
class Job:
    """A file of a run: its place in the order of results, what to work on, and the selectors that do not count in it.

    `wanted` is False for a file that is only read for the sake of others; `scope` is the number of its plan.
    """

    index: int
    target: Target
    ignored: tuple[str, ...] = ()
    wanted: bool = True
    scope: int = 0


T = TypeVar("T")
Done = Callable[[int], None]


def run(
    jobs: Sequence[Job],
    task: Callable[[Job], T],
    died: Callable[[Job], T],
    workers: int,
    done: Done,
    shares: bool = False,
) -> list[T]:
    """Do `task` for every job and return what comes of each, in their order; `done` is told how many more are finished.

    `died` says what comes of a job whose worker died twice. `workers` 0 picks the number: one a core, and none but this
    process for few files or where processes cannot be forked. `shares` says that `task` holds much that only forked
    processes can share: without fork it is all done here.
    """
    count = workers or _suitable(len(jobs))
    if count <= 1 or len(jobs) <= 1 or (shares and not _forks()):
        stop = threading.Event()
        return deep(lambda: _serial(jobs, task, done, stop), stop)
    return _parallel(jobs, task, died, min(count, len(jobs)), done)


def run_apart(jobs: Sequence[Job], task: Callable[[Job], T], died: Callable[[Job], T], done: Done) -> list[T]:
    """`run` in one worker process, which may die where this one may not."""
    return _parallel(jobs, task, died, 1, done) if jobs else []


def deep(work: Callable[[], T], stop: threading.Event | None = None) -> T:
    """The value of `work()`, run in a thread with a large stack; what it raises is raised here.

    An interrupt sets `stop` and waits a moment, so that the file at hand is left whole.
    """
    box: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            box.append(work())
        except BaseException as error:
            failure.append(error)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        thread = start(body, DEEP_STACK_BYTES)
    except (RuntimeError, ValueError):  # no memory for such a stack: do without
        sys.setrecursionlimit(limit)
        return work()
    try:
        thread.join()
    except BaseException:
        if stop:
            stop.set()
        thread.join(_LAST_WORDS)
        raise
    finally:
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return box[0]


def _suitable(files: int) -> int:
    if files < SERIAL_BELOW or not _forks():
        return 1
    with contextlib.suppress(AttributeError, OSError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _forks() -> bool:
    return hasattr(os, "fork")


def _serial(jobs: Sequence[Job], task: Callable[[Job], T], done: Done, stop: threading.Event) -> list[T]:
    results = []
    for job in jobs:
        if stop.is_set():
            break
        results.append(task(job))
        done(1)
    return results


def _parallel(
    jobs: Sequence[Job], task: Callable[[Job], T], died: Callable[[Job], T], workers: int, done: Done
) -> list[T]:
    _preload()
    results: dict[int, T] = {}
    remaining = list(jobs)
    while remaining:
        chunks = _chunks(remaining, workers)
        suspects = _pass(chunks, task, workers, results, done)
        for job in suspects:
            if _pass([[job]], task, 1, results, done):
                results[job.index] = died(job)
                done(1)
        remaining = [job for job in remaining if job.index not in results]
    return [results[job.index] for job in jobs]


def _pass(
    chunks: Sequence[Sequence[Job]], task: Callable[[Job], T], workers: int, results: dict[int, T], done: Done
) -> list[Job]:
    """Run the chunks in a pool of their own, filling `results`. Empty where all went well; where a worker died, the
    jobs that were begun and not brought home (what was never begun is nobody's fault)."""
    import concurrent.futures
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("fork" if _forks() else None)
    last = max(job.index for chunk in chunks for job in chunk)
    states = context.RawArray("b", last + 1)
    broken = False
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(task, states)
    )
    try:
        pending = {pool.submit(_chunk, chunk): chunk for chunk in chunks}
        for future in concurrent.futures.as_completed(pending):
            try:
                found = future.result()
            except BrokenProcessPool:
                broken = True
                continue
            results.update(zip((job.index for job in pending[future]), found, strict=True))
            done(len(found))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()
    if not broken:
        return []
    begun = [job for chunk in chunks for job in chunk if states[job.index] == _STARTED and job.index not in results]
    return begun or [job for chunk in chunks for job in chunk if job.index not in results][:1]


_worker: dict[str, Any] = {}


def _begin(task: Any, states: Any) -> None:
    """In a new worker: keep what every chunk needs, and die of an interrupt without a word, but where the whole run
    was started with interrupts ignored, as in the background."""
    import signal

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.freeze()
    _worker.update(task=task, states=states)


def _chunk(jobs: Sequence[Job]) -> list[Any]:
    task, states = _worker["task"], _worker["states"]

    def work() -> Iterator[Any]:
        for job in jobs:
            states[job.index] = _STARTED
            yield task(job)
            states[job.index] = _WAITING

    return deep(lambda: list(work()))


def _chunks(jobs: Sequence[Job], workers: int) -> list[list[Job]]:
    """Runs of consecutive jobs of about equal size in bytes, the largest first, several for each worker."""
    sizes = [weight(job.target.path) for job in jobs]
    limit = max(1, sum(sizes) // (workers * _CHUNKS_A_WORKER))
    chunks: list[list[Job]] = [[]]
    weights = [0]
    for job, size in zip(jobs, sizes, strict=True):
        if chunks[-1] and weights[-1] + size > limit:
            chunks.append([])
            weights.append(0)
        chunks[-1].append(job)
        weights[-1] += size
    order = sorted(range(len(chunks)), key=lambda index: -weights[index])
    return [chunks[index] for index in order]


def _preload() -> None:
    """Import what every worker needs before they are forked, so that it is imported once."""
    for name in ("transferlint.flow.facts", "transferlint.syntax.lower", "transferlint.syntax.source"):
        with contextlib.suppress(ImportError):
            __import__(name)
