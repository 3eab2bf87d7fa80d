"""The line that called backward, kept for autograd's own threads, where no line of the program's stands on the stack.

Torch hands its thread-local state on to those threads, and in it what was stashed there (at::ThreadLocalState), so
that each works for the right call, also when several run at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace


def install(observer: Observer) -> Callable[[], None]:
    """Wrap the one function through which `backward` and `grad` run the engine; gives what undoes it."""
    import torch

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        compiling = torch.compiler.is_compiling

        @functools.wraps(original)
        def run_backward(*args: Any, **kwargs: Any) -> Any:
            if compiling():
                return original(*args, **kwargs)
            work = observer.enter_work()
            try:
                return original(*args, **kwargs)
            finally:
                observer.leave_work(work)

        return run_backward

    engine = "_engine_run_backward"
    if hasattr(torch.autograd, engine):
        return replace(torch.autograd, engine, wrap)
    undone = [replace(torch.autograd, name, wrap) for name in ("backward", "grad")]

    def undo() -> None:
        for one in undone:
            one()

    return undo
