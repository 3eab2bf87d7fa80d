"""Waits that the program asks for by name: `torch.cuda.synchronize` and its like are ordinary Python functions."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from runtime_check.hooks import device
from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace
from transferlint.model import Direction

_BARRIER = "torch.distributed.barrier"  # waits for the device under NCCL
# `empty_cache` frees memory with cudaFree, which waits for the device (c10/cuda/CUDACachingAllocator.cpp).
_FUNCTIONS = (
    *("torch.cuda.synchronize", "torch.accelerator.synchronize", "torch.xpu.synchronize", "torch.mps.synchronize"),
    *("torch.cuda.empty_cache", _BARRIER),
)
_METHODS = (
    *("torch.cuda.Stream.synchronize", "torch.cuda.Event.synchronize"),
    *("torch.xpu.Stream.synchronize", "torch.xpu.Event.synchronize"),
    *("torch.Stream.synchronize", "torch.Event.synchronize", "torch.mps.event.Event.synchronize"),
)


def install(observer: Observer) -> Callable[[], None]:
    """Wrap them all, and give what undoes it."""
    import torch

    undone = []
    wrapped = set()  # of a class that has two names, the first is told
    for name in (*_FUNCTIONS, *_METHODS):
        *path, last = name.split(".")[1:]
        owner: Any = torch
        for part in path:
            owner = getattr(owner, part, None)
        if owner is not None and (owner, last) not in wrapped:
            wrapped.add((owner, last))
            undone.append(replace(owner, last, functools.partial(_wrap, observer, name)))

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _wrap(observer: Observer, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    compiling = torch.compiler.is_compiling
    local = observer.local

    @functools.wraps(original)
    def synchronize(*args: Any, **kwargs: Any) -> Any:
        # While a graph is being traced nothing runs, and what reads thread-local state cannot be traced.
        if compiling():
            return original(*args, **kwargs)
        mine = local.mine
        if mine.inside or (name == _BARRIER and not _waits_for_device(*args, **kwargs)):
            return original(*args, **kwargs)
        event = observer.begin(mine, Direction.NONE, name, 0, True)
        if event is None:
            return original(*args, **kwargs)
        mine.inside = True
        try:
            event.started = time.perf_counter_ns()
            result = original(*args, **kwargs)
            event.blocked = time.perf_counter_ns() - event.started
        finally:
            mine.inside = False
        observer.finish(mine, event)
        return result

    return synchronize


def _waits_for_device(group: Any = None, async_op: bool = False, device_ids: Any = None) -> bool:
    """Whether a barrier with these arguments waits for the device: NCCL's does, which gloo stands for where the device
    is simulated (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp barrier)."""
    import torch

    if async_op or not torch.distributed.is_initialized():
        return False
    return device.simulation() is not None or "nccl" in torch.distributed.get_backend(group)
