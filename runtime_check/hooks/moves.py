"""Moves that cross nothing: `x.to(device)` of what is there already dispatches no operation and returns `x` itself.

It is told as an event without direction or wait, unless torch moves of its own accord (`clip_grad_norm_`, ...).
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace
from transferlint.model import Direction

_MOVES = ("to", "cuda", "cpu")
# Whose moves are the program's: a module's parameters, a packed sequence's parts.
_ON_BEHALF = (os.path.join("nn", "modules", "module.py"), os.path.join("nn", "utils", "rnn.py"))


def install(observer: Observer) -> Callable[[], None]:
    """Wrap the methods that move; gives what undoes it."""
    import torch

    undone = [replace(torch.Tensor, name, functools.partial(_moving, observer, name)) for name in _MOVES]

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _moving(observer: Observer, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    compiling = torch.compiler.is_compiling
    folder = os.path.join(os.path.dirname(torch.__file__), "")

    @functools.wraps(original)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if result is self and not compiling() and (name != "to" or _names_a_place(args, kwargs)):
            caller = sys._getframe(1).f_code.co_filename
            if caller.startswith(folder) and not caller.endswith(_ON_BEHALF):
                return result
            mine = observer.local.mine
            event = observer.begin(mine, Direction.NONE, f"torch.Tensor.{name}", 0, False)
            if event is not None:
                event.started = time.perf_counter_ns()
                observer.finish(mine, event)
        return result

    return move


def _names_a_place(args: Any, kwargs: Any) -> bool:
    """Whether a call of `to` says where, and not only which type."""
    import torch

    place = args[0] if args else kwargs.get("device", kwargs.get("other"))
    if isinstance(place, torch.Tensor):
        place = place.device
    return isinstance(place, (str, int, torch.device)) and not isinstance(place, bool)
