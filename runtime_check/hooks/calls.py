"""Calls of torch's that move many tensors in one go: what a line does by one of them, it does once.

`model.to(device)` moves every parameter, `torch.save` downloads each, and what prints a tensor reads its numbers one
by one. Each call gets a number, which is on the events that it makes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from runtime_check.hooks.observer import Observer
from runtime_check.hooks.patches import replace

# Below the names that programs import, so that who has `torch.save` from before is followed as well.
_FUNCTIONS = (
    *("nn.Module._apply", "nn.Module.load_state_dict", "optim.Optimizer.load_state_dict"),
    *("serialization._save", "serialization._legacy_save", "serialization._load", "serialization._legacy_load"),
    "_tensor_str._str",
)


def install(observer: Observer) -> Callable[[], None]:
    """Wrap them; gives what undoes it."""
    import torch

    number = itertools.count(1).__next__
    undone = []
    for name in _FUNCTIONS:
        *path, last = name.split(".")
        owner: Any = torch
        for part in path:
            owner = getattr(owner, part, None)
        if owner is not None:
            undone.append(replace(owner, last, functools.partial(_numbered, observer, number)))

    def undo() -> None:
        for one in reversed(undone):
            one()

    return undo


def _numbered(observer: Observer, number: Callable[[], int], original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    compiling = torch.compiler.is_compiling
    local = observer.local

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(*args, **kwargs)
        mine = local.mine
        if mine.call:  # part of a call further up
            return original(*args, **kwargs)
        mine.call = number()
        try:
            return original(*args, **kwargs)
        finally:
            mine.call = 0

    return call
