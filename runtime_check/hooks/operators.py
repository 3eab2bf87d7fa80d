"""Operators that are called by `torch.ops`, as those of other libraries are (`torchvision.ops.nms`): the waits inside.

Torch hands a warning to Python where a call from Python is guarded (HANDLE_TH_ERRORS in torch/csrc/Exceptions.h). Calls
by `torch.ops` are not: what warns in them writes to the standard error, and no filter sees it. So such a call is made
from within one that is guarded: `Tensor.apply_`, which runs a Python function and dispatches nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace


def install(observer: Observer) -> Callable[[], None]:
    """Guard both ways to call an operator, where torch warns of waits; gives what undoes it."""
    if not observer.warned:
        return _nothing
    import torch

    undone = [replace(owner, "__call__", guarding) for owner in (torch._ops.OpOverload, torch._ops.OpOverloadPacket)]

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def guarding(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that calls an operator, such that warnings in it reach Python's `warnings`."""
    import torch

    carrier = torch.zeros(1, device="cpu")
    depth: Callable[[], int] = torch._C._len_torch_function_stack
    compiling = torch.compiler.is_compiling

    @functools.wraps(original)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if compiling() or depth():  # a mode would be told of the guard
            return original(self, *args, **kwargs)
        result: Any = None

        def run(_: float) -> float:
            nonlocal result
            result = original(self, *args, **kwargs)
            return 0.0

        carrier.apply_(run)
        return result

    return call


def _nothing() -> None:
    """Nothing to undo."""
