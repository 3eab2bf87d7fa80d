"""What every hook needs: who listens, what a guard says, where the program is, and whether a hook is already at work.

A hook asks `begin` before it lets the operation run, and tells `finish` afterwards. Both run in the thread where the
operation happens, which may be any.
"""

from __future__ import annotations

import contextvars
import dataclasses
import sys
import threading
from collections.abc import Callable
from threading import get_ident
from types import FrameType
from typing import Any, Protocol

from runtime_check.events import Event, Frame, Listener
from runtime_check.hooks.ends import Ends
from runtime_check.hooks.frames import NOWHERE, CallSites, Place
from transferlint.model import Direction


class Scope(Protocol):
    """Somebody who wants to know of what one thread or task does, and may forbid it."""

    def before(self, asked: Asked) -> bool:
        """Called before the operation runs; may raise. True: scopes further out are not asked."""

    def after(self, event: Event) -> None:
        """Called when it has run."""

    def step(self, source: object) -> None:
        """Called at the end of a step."""


@dataclasses.dataclass(slots=True)
class Asked:
    """An operation that is about to cross or wait."""

    direction: Direction
    operation: str
    bytes: int
    sync: bool
    place: Place


class Work:
    """What a thread of autograd works for: the frame that called `backward`, which waits there meanwhile, the scopes
    around it, and the work that it is part of. `covered` counts the waits in such threads that a hook has seen itself,
    and of which torch will warn when the call returns."""

    __slots__ = ("covered", "frame", "outer", "place", "scopes")

    def __init__(self, frame: FrameType, scopes: tuple[Scope, ...], outer: Work | None) -> None:
        self.frame: FrameType | None = frame
        self.place: Place | None = None
        self.scopes = scopes
        self.outer = outer
        self.covered = 0


SCOPES: contextvars.ContextVar[tuple[Scope, ...]] = contextvars.ContextVar("runtime_check.scopes", default=())
_WORK = "runtime_check.work"  # handed to autograd's threads with the rest of torch's thread-local state


class Observer:
    """Shared by all hooks of the process. `listeners` hear of everything, scopes of their own threads."""

    def __init__(self) -> None:
        import torch

        self.sites = CallSites()
        self.listeners: tuple[Listener, ...] = ()
        self.launches = 0  # device operations that the dispatch mode saw
        self.ends: Ends | None = None  # describes the memory at both ends of a transfer, while anybody traces
        self.local = _Local()
        self.working = 0  # calls of backward that have not returned
        self.warned = False  # torch warns of waits
        self.renew: Callable[[], None] = _nothing  # what has to be put in place again now and then
        self._c: Any = torch._C
        self._node: Any = torch._C._current_autograd_node
        self._main = threading.main_thread()
        self._threads: dict[int, threading.Thread] = getattr(threading, "_active", {})

    def begin(self, direction: Direction, operation: str, size: int, sync: bool) -> Event | None:
        """An operation that is about to run, as an event to be completed; None where nobody wants to know. Raises what
        a scope raises. It is called by the hook itself, and looks no further in than the hook's caller."""
        scopes = SCOPES.get()
        work = self.work() if self.working else None
        if not scopes:
            if work is not None:
                scopes = work.scopes
            if not scopes and not self.listeners:
                return None
        if self.warned:
            self.renew()
        place = self.sites.of(sys._getframe(2), NOWHERE if work is None else self._place(work))
        if scopes:
            asked = Asked(direction, operation, size, sync, place)
            for scope in reversed(scopes):
                if scope.before(asked):
                    break
        event = Event(direction, operation, size, 0, 0, sync, place.frames, place.user)
        event.launch = self.launches
        node = self._node()
        if node is not None:
            event.backward = node.name().rpartition("::")[2]
        thread = self._threads.get(get_ident())
        if thread is self._main:
            event.thread = "MainThread"
        elif thread is not None:
            event.thread = thread.name
        else:  # `threading.current_thread` would enter autograd's threads in its list for good
            event.thread = "native" if node is None else "autograd"
        return event

    def finish(self, event: Event) -> None:
        """It has run, and its event is complete: tell everybody, or keep it for the hook further up that will know the
        value that was returned."""
        waiting = self.local.waiting
        if waiting is not None:
            waiting.append(event)
            return
        for listener in self.listeners:
            listener(event)
        scopes = SCOPES.get()
        if not scopes and self.working:
            work = self.work()
            scopes = () if work is None else work.scopes
        for scope in scopes:
            scope.after(event)

    def cover(self, event: Event) -> None:
        """A hook has seen a wait of which torch will warn too, where it warns."""
        work = self.work()
        if work is not None:
            work.covered += 1
        else:
            known, count = self.local.covers
            first = event.frames[:1]
            self.local.covers = (first, count + 1 if known == first else 1)

    def covered(self) -> bool:
        """Whether the wait that torch warns of here has been seen by another hook; counts it off."""
        work = self.work()
        if work is not None:
            work.covered = max(work.covered - 1, -1)
            if work.covered >= 0:
                return True
            work.covered = 0
            return False
        first, count = self.local.covers
        if count < 1 or first != self.sites.of(sys._getframe(1)).frames[:1]:
            return False
        self.local.covers = (first, count - 1)
        return True

    def step(self, source: object) -> None:
        """A step of the program ended; `source` is what stepped."""
        self.note("step", source)
        for scope in SCOPES.get():
            scope.step(source)

    def note(self, kind: str, *what: object) -> None:
        """Tell those listeners that take such notes: "gone", "read", "escaped", "missing"; after the events that this
        thread keeps back."""
        waiting = self.local.waiting
        if waiting is not None:
            waiting.append((kind, *what))
            return
        for listener in self.listeners:
            take = getattr(listener, kind, None)
            if take is not None:
                take(*what)

    def hold(self) -> bool:
        """Keep back what this thread tells, until `release`; False where it is kept back already."""
        if self.local.waiting is not None:
            return False
        self.local.waiting = []
        return True

    def release(self, value: int) -> None:
        """Tell what was kept back; each read returned the object with this id (0: none that says anything)."""
        waiting, self.local.waiting = self.local.waiting, None
        for what in waiting or ():
            if isinstance(what, Event):
                what.value = value
                self.finish(what)
            else:
                self.note(*what)

    def enter_work(self) -> Work | None:
        """Backward is called here: what it does in other threads is done for this place. The one before comes back."""
        before = self.work() if self.working else None
        scopes = SCOPES.get() or (before.scopes if before is not None else ())
        self.working += 1
        self._c._stash_obj_in_tls(_WORK, Work(sys._getframe(2), scopes, before))
        return before

    def leave_work(self, before: Work | None) -> None:
        """Backward has returned."""
        work = self.work()
        if work is not None:
            work.frame = None
        self._c._stash_obj_in_tls(_WORK, before)
        self.working -= 1

    def work(self) -> Work | None:
        """What this thread works for, where it is one of autograd's or below a call of `backward`."""
        if not self._c._is_key_in_tls(_WORK):
            return None
        found: Work | None = self._c._get_obj_in_tls(_WORK)
        return found

    def _place(self, work: Work) -> Place:
        """Where it was called; found out when the first event asks."""
        if work.place is None:
            outer = NOWHERE if work.outer is None else self._place(work.outer)
            work.place = self.sites.of(work.frame, outer)
        return work.place


class _Local(threading.local):
    """What the hooks know of one thread."""

    inside = False  # an operation that a hook has seen is running: what it does inside is part of it
    sent = 0  # the id of the Python object that a call is sending, 0 where none is known
    uploaded = False  # and whether a copy took it
    writes = 0  # how far the running operator will raise its target's version
    covers: tuple[tuple[Frame, ...], int] = ((), 0)  # waits seen at a line, of which torch will warn too
    waiting: list[Event | tuple[Any, ...]] | None = None


def _nothing() -> None:
    """Nothing to put in place."""
