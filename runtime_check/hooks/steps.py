"""The end of a training step: torch calls this after every optimizer's `step`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def install(step: Callable[[object], None]) -> Callable[[], None]:
    """Have `step(id of the optimizer)` called after each; gives what undoes it."""
    import torch
    from torch.optim import optimizer

    compiling = torch.compiler.is_compiling

    def stepped(one: Any, args: Any, kwargs: Any) -> None:
        if not compiling():
            step(id(one))

    handle = optimizer.register_optimizer_step_post_hook(stepped)

    def undo() -> None:
        handle.remove()

    return undo
