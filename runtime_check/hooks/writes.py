"""Writes into a tensor that is there already, by the calls that programs make: torch raises its target's version when
the copy has run (torch/csrc/autograd/VariableTypeManual.cpp, `copy_`), and whoever describes the target before must
know. A copy that C++ makes into such a tensor is not seen; then a round trip of what is too large for a checksum is
not either.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace

_WRITES = ("copy_", "__setitem__")


def install(observer: Observer) -> Callable[[], None]:
    """Wrap the methods that write; gives what undoes it."""
    import torch

    undone = [replace(torch.Tensor, name, functools.partial(_writing, observer)) for name in _WRITES]

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _writing(observer: Observer, original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    compiling = torch.compiler.is_compiling
    local = observer.local

    @functools.wraps(original)
    def write(*args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(*args, **kwargs)
        mine = local.mine
        mine.writes = 1
        try:
            return original(*args, **kwargs)
        finally:
            mine.writes = 0

    return write
