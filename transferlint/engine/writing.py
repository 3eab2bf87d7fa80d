"""Changed texts to disk, once all is checked: a file is written whole or stays as it was, and the others go on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator

from transferlint import late
from transferlint.engine.plan import Outcome
from transferlint.files import atomic
from transferlint.files.repository import repository
from transferlint.sources.discovery import Target, Trouble

Stamp = tuple[int, int]
NO_STAMP: Stamp = (-1, -1)


def stamp_of(path: str) -> Stamp:
    """Which state a file is in: its time of change in nanoseconds and its size; NO_STAMP where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return NO_STAMP
    return found.st_mtime_ns, found.st_size


def outside(paths: Iterable[str], targets: Iterable[Target]) -> Callable[[str], str]:
    """For a path, why it is not to be written, where it is a link that leads out of all that was named; else "".

    Whoever wrote a tree chose where its links lead, and whoever has it fixed named no file elsewhere."""
    roots = [os.path.join(os.path.realpath(path), "") for path in paths]
    roots += [os.path.join(root, "") for root in {repository(os.path.realpath(path)) for path in paths} if root]
    named = {target.path for target in targets if target.named}

    def look(path: str) -> str:
        real = os.path.realpath(path)
        if path in named or not os.path.islink(path) or any(real.startswith(root) for root in roots):
            return ""
        return f"not written: it is a link to {real}, outside of what is checked; name that file to fix it"

    return look


def sweep(targets: Iterable[Target]) -> None:
    """Remove what runs that were killed have left beside the files that may be written."""
    for folder in {os.path.dirname(target.path) or os.curdir for target in targets}:
        atomic.sweep(folder)


def written(outcomes: Iterable[Outcome], barred: Callable[[str], str], given_up: dict[str, Trouble]) -> list[Outcome]:
    """Write what is to be written. Where a file cannot be, that and why is a trouble, and its findings stand.

    `barred` says why a file is not to be written, "" where it may be. Files in `given_up` are not tried, and those that
    fail are added to it.
    """
    return [_written(outcome, barred, given_up) if outcome.data else outcome for outcome in outcomes]


def _written(outcome: Outcome, barred: Callable[[str], str], given_up: dict[str, Trouble]) -> Outcome:
    if outcome.path in given_up:
        return _left(outcome, given_up[outcome.path])
    why = barred(outcome.path)
    if not why:
        try:
            with _uninterrupted():
                atomic.write(outcome.path, outcome.data, outcome.before)
            return outcome
        except atomic.WriteError as error:
            why = error.message
    given_up[outcome.path] = Trouble(outcome.path, why)
    return _left(outcome, given_up[outcome.path])


def _left(outcome: Outcome, trouble: Trouble) -> Outcome:
    """The outcome of a file that stays as it was."""
    unchanged = outcome.unchanged or Outcome(outcome.path)
    return late.replace(unchanged, troubles=(*unchanged.troubles, trouble))


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """An interrupt (Ctrl-C) waits until one file is written, so that no temporary file stays behind."""
    import signal  # which only runs that write need

    waiting: list[int] = []
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # as in the background
    if ignored or threading.current_thread() is not threading.main_thread():  # they reach the main thread alone
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if waiting:
        raise KeyboardInterrupt
