"""Python objects that carry device data: what `item`, `tolist` and `float` return, and what goes back in by them.

The read itself is seen by the kernel override, before the object exists; its event waits for the object. Numbers of
which Python keeps one copy (bools, small integers) say nothing by their identity, and are left out.
"""

from __future__ import annotations

import collections
import functools
import time
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace
from runtime_check.provenance import VALUES
from transferlint.model import Direction

_READS = ("item", "tolist", "__float__", "__int__", "__complex__", "__index__")
_SENDS = ("tensor", "as_tensor", "asarray", "scalar_tensor", "full", "full_like")
_METHOD_SENDS = ("new_tensor", "new_full", "fill_")


def install(observer: Observer) -> Callable[[], None]:
    """Wrap them; gives what undoes it."""
    import torch
    from torch.utils import _device

    _device._device_constructors()  # a set of the functions themselves, which torch keeps: it must hold the originals
    returned = Returned()
    wraps: list[tuple[Any, str, Callable[..., Any]]] = []
    wraps += [(torch.Tensor, name, functools.partial(_reading, observer, returned)) for name in _READS]
    wraps += [(torch, name, functools.partial(_sending, observer, returned)) for name in _SENDS]
    wraps += [(torch.Tensor, name, functools.partial(_sending, observer, returned)) for name in _METHOD_SENDS]
    undone = [replace(*one) for one in wraps]

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


class Returned:
    """The objects that reads returned last, kept alive so that their ids stay theirs."""

    def __init__(self) -> None:
        self._kept: collections.deque[object] = collections.deque(maxlen=VALUES)
        self._ids: dict[int, int] = {}  # how many times an object is kept

    def keep(self, value: object) -> int:
        """The id of a value that a read returned; 0 where identity says nothing of it."""
        if isinstance(value, bool) or (isinstance(value, int) and -6 < value < 257):
            return 0
        if len(self._kept) == VALUES:
            self._drop(id(self._kept[0]))
        self._kept.append(value)
        self._ids[id(value)] = self._ids.get(id(value), 0) + 1
        return id(value)

    def among(self, values: Any) -> int:
        """The id of the first of these that a read returned, or that is in a list of these; 0 where there is none."""
        for value in values:
            kind = type(value)
            if kind is float or kind is int or kind is complex or kind is list or kind is tuple:
                if id(value) in self._ids:
                    return id(value)
                if (kind is list or kind is tuple) and len(value) <= 64:
                    found = self.among(value)
                    if found:
                        return found
        return 0

    def _drop(self, key: int) -> None:
        left = self._ids.get(key, 0) - 1
        if left > 0:
            self._ids[key] = left
        else:
            self._ids.pop(key, None)


def _reading(observer: Observer, returned: Returned, original: Callable[..., Any]) -> Callable[..., Any]:
    compiling = _compiling()

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling() or self.is_cpu or not observer.hold():
            return original(self, *args, **kwargs)
        value: Any = None
        try:
            value = original(self, *args, **kwargs)
            return value
        finally:
            observer.release(0 if value is None else returned.keep(value))

    return read


def _sending(observer: Observer, returned: Returned, original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    compiling = _compiling()
    local = observer.local
    method = getattr(original, "__objclass__", None) is not None
    name = f"{'torch.Tensor' if method else 'torch'}.{original.__name__}"

    @functools.wraps(original)
    def send(*args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(*args, **kwargs)
        mine = local.mine
        if mine.sent:
            return original(*args, **kwargs)
        sent = returned.among(args) or (returned.among(kwargs.values()) if kwargs else 0)
        if not sent:
            return original(*args, **kwargs)
        mine.sent = sent
        mine.uploaded = False
        try:
            result = original(*args, **kwargs)
        finally:
            mine.sent = 0
        if isinstance(result, torch.Tensor) and not result.is_cpu and not mine.uploaded:
            event = observer.begin(mine, Direction.NONE, name, 0, False)  # went with the kernel's arguments
            if event is not None:
                event.started, event.value = time.perf_counter_ns(), sent
                observer.finish(mine, event)
        return result

    return send


def _compiling() -> Callable[[], bool]:
    import torch

    found: Callable[[], bool] = torch.compiler.is_compiling
    return found
