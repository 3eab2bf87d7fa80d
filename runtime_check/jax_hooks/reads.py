"""Where the content of an array is read by way of Python, and where the program waits for one."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.patches import replace
from runtime_check.jax_hooks.memory import platform_of
from runtime_check.jax_hooks.tap import ARRAY, Tap
from transferlint.model import Direction


def install(tap: Tap, array: Any) -> Callable[[], None]:
    """Replace what reads and waits; gives what undoes it."""
    jax: Any = sys.modules["jax"]
    undone = [
        *(replace(jax, name, functools.partial(_numbered, tap)) for name in ("device_get", "device_put")),
        replace(array, "_value", functools.partial(_reading, tap)),
        replace(array, "block_until_ready", functools.partial(_waiting, tap, "jax.Array.block_until_ready")),
        replace(jax, "block_until_ready", functools.partial(_waiting, tap, "jax.block_until_ready")),
    ]

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _numbered(tap: Tap, original: Callable[..., Any]) -> Callable[..., Any]:
    local = tap.local

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if local.call:
            return original(*args, **kwargs)
        local.call = tap.number()
        try:
            return original(*args, **kwargs)
        finally:
            local.call = 0

    return call


def _reading(tap: Tap, original: Any) -> property:
    get: Callable[[Any], Any] = original.fget
    local, known = tap.local, tap.read

    @functools.wraps(get)
    def value(self: Any) -> Any:
        if local.inside or self in known:
            return get(self)
        platform = platform_of(tap, self)
        event = tap.begin(Direction.D2H, self.nbytes, True, platform, ARRAY) if platform else None
        if event is None:
            return get(self)
        local.inside = True
        try:
            event.started = time.perf_counter_ns()
            found = get(self)
            if event.timed:
                event.blocked = time.perf_counter_ns() - event.started
        finally:
            local.inside = False
        known.add(self)
        tap.finish(event)
        return found

    return property(value, doc=original.__doc__)


def _waiting(tap: Tap, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    local = tap.local
    leaves: Callable[[Any], list[Any]] = sys.modules["jax"].tree_util.tree_leaves

    @functools.wraps(original, assigned=("__doc__",))  # a method in C++ has no proper name
    def block_until_ready(x: Any, *args: Any, **kwargs: Any) -> Any:
        if local.inside:
            return original(x, *args, **kwargs)
        platforms = [platform_of(tap, leaf) for leaf in leaves(x) if hasattr(leaf, "devices")]
        platform = next((one for one in platforms if one), "")
        event = tap.begin(Direction.NONE, 0, True, platform, name) if platform else None
        if event is None:
            return original(x, *args, **kwargs)
        local.inside = True
        try:
            event.started = time.perf_counter_ns()
            found = original(x, *args, **kwargs)
            if event.timed:
                event.blocked = time.perf_counter_ns() - event.started
        finally:
            local.inside = False
        tap.finish(event)
        return found

    return block_until_ready
