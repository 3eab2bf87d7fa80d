"""Changed texts to disk, once all is checked: a file is written whole or stays as it was, and the others go on."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator

from transferlint.discovery import Trouble
from transferlint.plan import Outcome

Stamp = tuple[int, int]
NO_STAMP: Stamp = (-1, -1)


def stamp_of(path: str) -> Stamp:
    """Which state a file is in: its time of change in nanoseconds and its size; NO_STAMP where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return NO_STAMP
    return found.st_mtime_ns, found.st_size


def written(
    outcomes: Iterable[Outcome], rests_on: Callable[[str], str], given_up: dict[str, Trouble]
) -> list[Outcome]:
    """Write what is to be written. Where a file cannot be, that and why is a trouble, and its findings stand.

    `rests_on` names a file that changed since it was read, and on which the findings in another rest; "" for none.
    Files in `given_up` are not tried, and those that fail are added to it.
    """
    return [_written(outcome, rests_on, given_up) if outcome.data else outcome for outcome in outcomes]


def _written(outcome: Outcome, rests_on: Callable[[str], str], given_up: dict[str, Trouble]) -> Outcome:
    from transferlint import fixes

    if outcome.path in given_up:
        return _left(outcome, given_up[outcome.path])
    other = rests_on(outcome.path)
    why = f"not written: {other}, on which its findings rest, changed while it was checked" if other else ""
    if not why:
        try:
            with _uninterrupted():
                fixes.write_atomically(outcome.path, outcome.data, outcome.before)
            return outcome
        except fixes.FixError as error:
            why = error.message
    given_up[outcome.path] = Trouble(outcome.path, why)
    return _left(outcome, given_up[outcome.path])


def _left(outcome: Outcome, trouble: Trouble) -> Outcome:
    """The outcome of a file that stays as it was."""
    unchanged = outcome.unchanged or Outcome(outcome.path)
    return dataclasses.replace(unchanged, troubles=(*unchanged.troubles, trouble))


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """An interrupt (Ctrl-C) waits until one file is written, so that no temporary file stays behind."""
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
