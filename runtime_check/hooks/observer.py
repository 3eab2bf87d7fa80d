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
from runtime_check.hooks import thread_state
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
        self.ends: Ends | None = None  # describes the memory at both ends of a transfer, while anybody traces
        self.local = _Local()
        self.scoped = 0  # scopes that are open, in whatever thread
        self.working = 0  # calls of backward that have not returned
        self.warned = False  # torch warns of waits
        self.renew: Callable[[], None] = _nothing  # what has to be put in place again now and then
        self._c: Any = torch._C
        self._stash = thread_state.balanced(torch._C._stash_obj_in_tls)
        self._node: Any = torch._C._current_autograd_node
        self._main = threading.main_thread()
        self._threads: dict[int, threading.Thread] = getattr(threading, "_active", {})

    def begin(
        self, mine: Mine, direction: Direction, operation: str, size: int, sync: bool, above: int = 2
    ) -> Event | None:
        """An operation that is about to run, as an event to be completed; None where nobody wants to know. Raises what
        a scope raises. It is called by the hook itself, with what it knows of its thread, and looks no further in than
        the frame `above` it, by default the hook's caller: each frame that is looked at costs as much as all else."""
        work = self.work() if self.working else None
        scopes = self._scopes(work) if self.scoped else ()
        if not scopes and not self.listeners:
            return None
        if self.warned:
            self.renew()
        try:
            frame: FrameType | None = sys._getframe(above)
        except ValueError:  # a thread that is not Python's: the hook is all there is
            frame = None
        place = self.sites.of(frame, NOWHERE if work is None else self._place(work), direction)
        if scopes:
            asked = Asked(direction, operation, size, sync, place)
            for scope in reversed(scopes):
                if scope.before(asked):
                    break
        event = Event(
            direction, operation, size, 0, 0, sync, place.frames, place.user, False, True, False, mine.thread
        )  # by position, which is the fastest
        if place.inside:
            event.inside = place.inside
        if mine.call:
            event.call = mine.call
        if self.working or not mine.thread:
            self._where_of(event, mine)
        return event

    def _scopes(self, work: Work | None) -> tuple[Scope, ...]:
        """The scopes of this thread or task, or of the one that called backward."""
        return SCOPES.get() or (() if work is None else work.scopes)

    def _where_of(self, event: Event, mine: Mine) -> None:
        """Name the thread where it is not known yet, and the node of autograd that runs. A thread of Python's runs none
        but below a call of backward."""
        node = self._node()
        if node is not None:
            event.backward = node.name().rpartition("::")[2]
        if not mine.thread:
            thread = self._threads.get(get_ident())
            if thread is not None:
                event.thread = mine.thread = "MainThread" if thread is self._main else thread.name
            else:  # `threading.current_thread` would enter autograd's threads in its list for good
                event.thread = "native" if node is None else "autograd"

    def finish(self, mine: Mine, event: Event) -> None:
        """It has run, and its event is complete: tell everybody, or keep it for the hook further up that will know the
        value that was returned."""
        if mine.waiting is not None:
            mine.waiting.append(event)
            return
        for listener in self.listeners:
            listener(event)
        if self.scoped:
            for scope in self._scopes(self.work() if self.working else None):
                scope.after(event)

    def cover(self, event: Event) -> None:
        """A hook has seen a wait of which torch will warn too, where it warns."""
        work = self.work()
        if work is not None:
            work.covered += 1
        else:
            mine = self.local.mine
            known, count = mine.covers
            first = event.frames[:1]
            mine.covers = (first, count + 1 if known == first else 1)

    def covered(self) -> bool:
        """Whether the wait that torch warns of here has been seen by another hook; counts it off."""
        work = self.work()
        if work is not None:
            work.covered = max(work.covered - 1, -1)
            if work.covered >= 0:
                return True
            work.covered = 0
            return False
        mine = self.local.mine
        first, count = mine.covers
        if count < 1 or first != self.sites.of(sys._getframe(1)).frames[:1]:
            return False
        mine.covers = (first, count - 1)
        return True

    def step(self, source: object) -> None:
        """A step of the program ended; `source` is what stepped."""
        self.note("step", source)
        for scope in SCOPES.get():
            scope.step(source)

    def note(self, kind: str, *what: object) -> None:
        """Tell those listeners that take such notes ("gone", "missing"), after the events that this thread keeps
        back."""
        waiting = self.local.mine.waiting
        if waiting is not None:
            waiting.append((kind, *what))
            return
        for listener in self.listeners:
            take = getattr(listener, kind, None)
            if take is not None:
                take(*what)

    def hold(self) -> bool:
        """Keep back what this thread tells, until `release`; False where it is kept back already."""
        mine = self.local.mine
        if mine.waiting is not None:
            return False
        mine.waiting = []
        return True

    def release(self, value: int) -> None:
        """Tell what was kept back; each read returned the object with this id (0: none that says anything)."""
        mine = self.local.mine
        waiting, mine.waiting = mine.waiting, None
        for what in waiting or ():
            if isinstance(what, Event):
                what.value = value
                self.finish(mine, what)
            else:
                self.note(*what)

    def enter_work(self) -> Work:
        """Backward is called here: what it does in other threads is done for this place."""
        before = self.work() if self.working else None
        scopes = SCOPES.get() if self.scoped else ()
        self.working += 1
        work = Work(sys._getframe(2), scopes or (before.scopes if before is not None else ()), before)
        self._stash(_WORK, work)
        return work

    def leave_work(self, work: Work) -> None:
        """Backward has returned."""
        work.frame = None
        self._stash(_WORK, work.outer)
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


class Mine:
    """What the hooks know of one thread."""

    __slots__ = ("call", "covers", "inside", "sent", "thread", "uploaded", "waiting", "writes")

    def __init__(self) -> None:
        self.inside = False  # an operation that a hook has seen is running: what it does inside is part of it
        self.sent = 0  # the id of the Python object that a call is sending, 0 where none is known
        self.uploaded = False  # and whether a copy took it
        self.writes = 0  # how far the running call will raise its target's version
        self.covers: tuple[tuple[Frame, ...], int] = ((), 0)  # waits seen at a line, of which torch will warn too
        self.waiting: list[Event | tuple[Any, ...]] | None = None
        self.thread = ""  # its name, when its first event has come; "" for a thread that is not Python's
        self.call = 0  # the number of the call that moves many tensors, and is running; 0 for none


class _Local(threading.local):
    """Hands each thread its own; one look at thread-local state costs as much as ten at an attribute."""

    def __init__(self) -> None:
        self.mine = Mine()


def _nothing() -> None:
    """Nothing to put in place."""
