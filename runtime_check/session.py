"""Recording in this process: started and stopped, nested and repeated, and nothing left registered afterwards.

What is registered with torch is of the process, so the state here is too: one `Recorder` registers it when somebody
begins to listen, and takes it away when nobody does any more.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from runtime_check.events import Event
from runtime_check.records import LEVELS

if TYPE_CHECKING:
    from runtime_check.hooks import Hooks
    from runtime_check.hooks.observer import Observer


class Collects(Protocol):
    """Whoever wants events (see `runtime_check.collect.Collector`). Where they have them, `step(source)`,
    `missing(process, why)` and, of host storages that were seen, `gone(serial)` are called too. All are called in the
    thread where it happens, and must not call torch."""

    def __call__(self, event: Event) -> None:
        """Take an event."""


class Session:
    """One recording, from `start` to `stop`; a context manager too."""

    def __init__(self, listener: Collects, trace: bool) -> None:
        self._listener = listener
        self._trace = trace
        self._pid = os.getpid()
        RECORDER.add(listener, trace)
        self._open = True

    def stop(self) -> None:
        """Stop; does nothing the second time."""
        if self._open:
            self._open = False
            RECORDER.remove(self._listener, self._trace)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(level: str, collector: Collects, *, trace: bool | None = None) -> Session:
    """Have `collector` called for every transfer and sync of this process, in whatever thread, until the session is
    stopped or the process ends.

    `level` is one of `records.LEVELS`. `trace` adds what provenance needs: both ends of each transfer, the Python
    objects that reads return, and moves that cross nothing; by default every level but "guard" has it. Raises
    ValueError for another level, and ImportError where there is no torch.
    """
    if level not in LEVELS:
        raise ValueError(f"no level {level!r}: one of {', '.join(LEVELS)}")
    return Session(collector, level != "guard" if trace is None else trace)


class Recorder:
    """What of ours is registered with torch, and for how many."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._users = 0
        self._tracing = 0
        self._hooks: Hooks | None = None
        self._observer: Observer | None = None
        self.alone: Callable[[], None] | None = None  # hears of steps where nothing is registered with torch

    def add(self, listener: Collects | None, trace: bool) -> Observer:
        """Somebody wants events: all of them where there is a listener, those of a scope where there is none."""
        with self._locked():
            if self._hooks is None or self._observer is None:
                self._begin()
            assert self._hooks is not None
            assert self._observer is not None
            if trace and not self._tracing:
                self._hooks.trace(True)
            self._users += 1
            self._observer.scoped += listener is None
            self._tracing += trace
            if listener is not None:
                self._observer.listeners = (*self._observer.listeners, listener)
                self._observer.sites.forget()
            self._observer.renew()
            return self._observer

    def remove(self, listener: Collects | None, trace: bool) -> None:
        """Somebody wants no more."""
        with self._locked():
            if self._hooks is None or self._observer is None:
                return
            if listener is not None:
                left = list(self._observer.listeners)
                left.reverse()  # of one that listens twice, the inner leaves first
                left.remove(listener)
                self._observer.listeners = tuple(reversed(left))
            self._users -= 1
            self._observer.scoped -= listener is None
            self._tracing -= trace
            if trace and not self._tracing:
                self._hooks.trace(False)
            if not self._users:
                self._end()

    def step(self) -> None:
        """The program says that a step of its ended."""
        if self._observer is not None:
            self._observer.step("")
        elif self.alone is not None:
            self.alone()

    def _begin(self) -> None:
        from runtime_check.hooks import Hooks
        from runtime_check.hooks.observer import Observer

        observer = Observer()
        self._hooks = Hooks(observer)
        self._observer = observer
        atexit.register(self._end)  # threads of autograd outlive the interpreter

    def _end(self) -> None:
        hooks, self._hooks, self._observer = self._hooks, None, None
        self._users = self._tracing = 0
        if hooks is not None:
            hooks.remove()
        atexit.unregister(self._end)

    @contextlib.contextmanager
    def _locked(self):  # type: ignore[no-untyped-def]
        if os.getpid() != self._owner:  # forked, perhaps while another thread held the lock
            self._lock = threading.RLock()
            self._owner = os.getpid()
        with self._lock:
            yield


RECORDER = Recorder()
