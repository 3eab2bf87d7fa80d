"""Where compiled code calls the host: the data of each call goes down, and what a callback gives goes up again.

What runs is a function that the program gave while it was traced, so the place is that of the tracing: the program's
line that asked for the call. The call itself comes from a thread of JAX's.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.frames import Place
from runtime_check.hooks.patches import replace
from runtime_check.jax_hooks.memory import HOST
from runtime_check.jax_hooks.tap import Tap
from transferlint.model import Direction

_CALLS = (
    ("jax.debug", "callback", "jax.debug.callback"),
    ("jax", "pure_callback", "jax.pure_callback"),
    ("jax._src.callback", "io_callback", "jax.experimental.io_callback"),
    ("jax.experimental", "io_callback", "jax.experimental.io_callback"),
)
_PRINT = "jax.debug.print"


class Called:
    """A callback that tells of its calls. Two are equal where the callbacks are and the places: JAX compiles an
    operation anew for another callback."""

    def __init__(self, tap: Tap, callback: Callable[..., Any], place: Place, operation: str) -> None:
        functools.update_wrapper(self, callback, updated=())
        self._tap = tap
        self._callback = callback
        self._place = place
        self._operation = operation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tap = self._tap
        tell(tap, self._place, self._operation, Direction.D2H, (args, kwargs))
        before, tap.local.inside = tap.local.inside, True  # what it is given lies on the host
        try:
            result = self._callback(*args, **kwargs)
        finally:
            tap.local.inside = before
        if result is not None:
            tell(tap, self._place, self._operation, Direction.H2D, result)
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Called) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self._callback, self._operation, self._place.frames[:1]


class Format(str):
    """A format of `jax.debug.print` with the place of the call."""

    place: Place


def tell(tap: Tap, place: Place, operation: str, way: Direction, data: Any) -> None:
    """An event for what one call moves one way."""
    leaves = sys.modules["jax"].tree_util.tree_leaves(data)
    size = sum(int(getattr(leaf, "nbytes", 0)) for leaf in leaves)
    event = tap.at(place, way, size, False, next(iter(tap.platforms), HOST), operation)
    event.started, event.timed = time.perf_counter_ns(), False
    if threading.current_thread() is not threading.main_thread():
        event.thread = "callback"
    tap.finish(event)


def install(tap: Tap) -> Callable[[], None]:
    """Wrap what takes callbacks; gives what undoes it."""
    undone = []
    for module, name, operation in _CALLS:
        owner = sys.modules.get(module)
        if owner is not None:
            undone.append(replace(owner, name, functools.partial(_giving, tap, operation)))
    try:
        debugging: Any = importlib.import_module("jax._src.debugging")
    except ImportError:
        debugging = None
    if hasattr(debugging, "_format_print_callback"):
        undone.append(replace(sys.modules["jax.debug"], "print", functools.partial(_printing, tap)))
        undone.append(replace(debugging, "_format_print_callback", functools.partial(_printed, tap)))

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _giving(tap: Tap, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def give(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        place = tap.place()
        if isinstance(callback, Called) or not place.frames:
            return original(callback, *args, **kwargs)
        return original(Called(tap, callback, place, operation), *args, **kwargs)

    return give


def _printing(tap: Tap, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def debug_print(fmt: str, *args: Any, **kwargs: Any) -> Any:
        place = tap.place()
        if place.frames:
            fmt = Format(fmt)
            fmt.place = place
        return original(fmt, *args, **kwargs)

    return debug_print


def _printed(tap: Tap, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def print_callback(fmt: str, *args: Any, **kwargs: Any) -> Any:
        if isinstance(fmt, Format):
            tell(tap, fmt.place, _PRINT, Direction.D2H, (args, kwargs))
        before, tap.local.inside = tap.local.inside, True
        try:
            return original(fmt, *args, **kwargs)
        finally:
            tap.local.inside = before

    return print_callback
