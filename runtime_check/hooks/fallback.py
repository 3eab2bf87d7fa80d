"""For torch without `torch.library.get_kernel` (before 2.10): the same operators, seen by a dispatch mode.

It sees what Python and autograd dispatch in this thread and in those that start later, and not what operators do
inside (`torch.tensor(list, device=...)`, `x[[0, 1]]`, `print(x)`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from runtime_check.events import STAGED
from runtime_check.hooks import dispatch, overrides
from runtime_check.hooks.observer import Observer
from transferlint.model import Direction


def install(observer: Observer, key: str) -> Callable[[], None]:
    """See copies and reads of the device; gives what undoes it. `key` is the accelerator's, and not needed here."""
    import torch

    aten = torch.ops.aten
    handled = {
        aten.copy_.default: overrides.copying(observer, aten.copy_.default),
        aten._local_scalar_dense.default: overrides.reading(observer, aten._local_scalar_dense.default),
        aten._to_copy.default: _moving(observer, aten._to_copy.default),
    }

    def see(func: Any, args: Any, kwargs: Any) -> Any:
        handler = handled.get(func)
        if handler is None or (args[0].is_cpu and func is aten._local_scalar_dense.default):
            return func(*args, **kwargs)
        return handler(*args, **kwargs)

    return dispatch.enter(see)


def _moving(observer: Observer, original: Any) -> Callable[..., Any]:
    import torch

    local = observer.local

    def to_copy(source: Any, **options: Any) -> Any:
        device = options.get("device")
        mine = local.mine
        if mine.inside or device is None or not source.numel() or _same(source.device, torch.device(device)):
            return original(source, **options)
        upload, between = source.is_cpu, torch.device(device).type == source.device.type
        non_blocking = bool(options.get("non_blocking"))
        dtype = options.get("dtype") or source.dtype
        crossing = source.dtype if upload == non_blocking else dtype
        pinned = source.is_pinned() if upload else non_blocking
        direction = Direction.D2D if between else Direction.H2D if upload else Direction.D2H
        size = source.numel() * int(crossing.itemsize)
        unasked = non_blocking and (pinned or (upload and size <= STAGED))
        event = observer.begin(mine, direction, "aten::copy_", size, not between and not unasked)
        if event is None:
            return original(source, **options)
        event.pinned, event.non_blocking = pinned, non_blocking
        mine.inside = True
        try:
            event.started = time.perf_counter_ns()
            result = original(source, **options)
            event.blocked = time.perf_counter_ns() - event.started
        finally:
            mine.inside = False
        observer.finish(mine, event)
        return result

    return to_copy


def _same(source: Any, target: Any) -> bool:
    """Whether a move stays on its device. One without a number names the current one."""
    import torch

    if source.type != target.type or source == target:
        return bool(source.type == target.type)
    if target.index is None:
        module = getattr(torch, target.type, None)
        current = getattr(module, "current_device", lambda: source.index)
        return bool(current() == source.index)
    return False
