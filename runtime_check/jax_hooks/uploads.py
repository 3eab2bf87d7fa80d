"""Where host data goes up: by name (`jax.device_put`), and unnamed, among the arguments of a compiled function.

Every function of `jax.numpy` is a compiled one, or calls some. What it calls in turn, and what is traced and compiled
meanwhile, is part of the call. Of Python's numbers among arguments nothing is told: a few bytes that go with the call;
but for a function that makes an array of one by name (`jax.numpy.asarray`).
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from runtime_check.events import Event
from runtime_check.hooks.patches import replace
from runtime_check.jax_hooks.buffers import call_by_name
from runtime_check.jax_hooks.memory import Serials, memory_of, platform_of, sent_bytes
from runtime_check.jax_hooks.names import CONSTRUCTORS
from runtime_check.jax_hooks.tap import Tap
from transferlint.model import Direction

_PLAIN = (int, float, bool, complex, str, type(None))
_CALL = "jax.jit"  # the call of a function that the program compiled itself


class Arguments:
    """Finds host data among the arguments of a call."""

    def __init__(self, array: type) -> None:
        jax: Any = sys.modules["jax"]
        numpy: Any = sys.modules["numpy"]
        self._array = array
        self._tracer = jax.core.Tracer
        self._leaves: Callable[[Any], list[Any]] = jax.tree_util.tree_leaves
        self._host = (numpy.ndarray, numpy.generic)

    def of(self, values: Iterable[Any]) -> tuple[list[Any], bool]:
        """Host data among values, and whether one of them is being traced, so that nothing runs."""
        found: list[Any] = []
        for value in values:
            kind = type(value)
            if kind is self._array or kind in _PLAIN:
                continue
            if isinstance(value, self._host) or _typed(kind):
                found.append(value)
            elif isinstance(value, self._tracer) or not self._inside(value, found):
                return [], True
        return found, False

    def _inside(self, value: Any, found: list[Any]) -> bool:
        """Look into a container; False where something in it is being traced."""
        try:
            leaves = self._leaves(value)
        except Exception:  # no container that JAX knows: the call itself will say so
            return True
        for leaf in leaves:
            if isinstance(leaf, self._tracer):
                return False
            if isinstance(leaf, self._host):
                found.append(leaf)
        return True


def install(tap: Tap, array: type, pxla: Any, function: type) -> Callable[[], None]:
    """Replace what sends; gives what undoes it. Raises buffers.Layout."""
    arguments, serials = Arguments(array), Serials()
    undone = [call_by_name(function)]
    undone.append(replace(function, "__call__", functools.partial(_calling, tap, arguments, serials)))
    undone.append(replace(pxla, "batched_device_put", functools.partial(_sending, tap, array, serials)))

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _calling(tap: Tap, arguments: Arguments, serials: Serials, original: Callable[..., Any]) -> Callable[..., Any]:
    local = tap.local

    @functools.wraps(original)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if local.inside:
            return original(self, *args, **kwargs)
        sent, traced = arguments.of((*args, *kwargs.values()) if kwargs else args)
        if traced:
            return original(self, *args, **kwargs)
        events = _uploads(tap, serials, sent) if sent else ()
        local.inside = True
        try:
            result = original(self, *args, **kwargs)
        finally:
            local.inside = False
        if events:
            _placed(tap, events, result)
        return result

    return call


def _uploads(tap: Tap, serials: Serials, sent: Iterable[Any]) -> list[Event]:
    """The arguments of one call as events, not told yet."""
    before, number = tap.local.call, tap.local.call or tap.number()
    tap.local.call = number
    found = []
    try:
        for one in sent:  # a comprehension is a frame of its own before Python 3.12
            event = _uploaded(tap, serials, one)
            if event is not None:
                found.append(event)
    finally:
        tap.local.call = before
    return found


def _uploaded(tap: Tap, serials: Serials, value: Any) -> Event | None:
    """An argument as an event, not told yet; None for a single number that the source does not name."""
    size = sent_bytes(value, tap.wide())
    event = tap.begin(Direction.H2D, size, False, "", _CALL, 4)
    if event is None or (not getattr(value, "ndim", 0) and event.operation not in CONSTRUCTORS):
        return None
    event.started = time.perf_counter_ns()
    event.timed = False  # it is part of the call
    if tap.traced:
        event.source = memory_of(serials, value)
    return event


def _placed(tap: Tap, events: Iterable[Event], result: Any) -> None:
    """Tell the uploads of a call, whose result says where it ran."""
    leaves = sys.modules["jax"].tree_util.tree_leaves(result)
    array = next((leaf for leaf in leaves if hasattr(leaf, "devices")), None)
    if array is not None:
        platform_of(tap, array)
    for event in events:
        tap.finish(event)


def _sending(tap: Tap, array: type, serials: Serials, original: Callable[..., Any]) -> Callable[..., Any]:
    local = tap.local

    @functools.wraps(original)
    def batched_device_put(aval: Any, sharding: Any, xs: Any, devices: Any, *args: Any, **kwargs: Any) -> Any:
        if local.inside or not len(xs):
            return original(aval, sharding, xs, devices, *args, **kwargs)
        device = next(iter(devices))
        host = [x for x in xs if not isinstance(x, array)]
        moved = [] if host else [x for x in xs if device not in x.devices()]
        if not host and not moved:
            return original(aval, sharding, xs, devices, *args, **kwargs)
        way = Direction.H2D if host else Direction.D2D
        size = sum(int(getattr(x, "nbytes", 8)) for x in host or moved)
        event = tap.begin(way, size, False, tap.seen_on(device), "jax.device_put")
        if event is None:
            return original(aval, sharding, xs, devices, *args, **kwargs)
        if tap.traced and host:
            event.source = memory_of(serials, host[0])
        local.inside = True
        try:
            event.started = time.perf_counter_ns()
            result = original(aval, sharding, xs, devices, *args, **kwargs)
            if event.timed:
                event.blocked = time.perf_counter_ns() - event.started
        finally:
            local.inside = False
        tap.finish(event)
        return result

    return batched_device_put


def _typed(kind: type) -> bool:
    """Whether it is one of the numbers that JAX makes of Python's (jax/_src/literals.py)."""
    return kind.__module__ == "jax._src.literals"
