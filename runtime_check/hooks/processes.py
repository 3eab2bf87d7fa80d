"""Processes that the program starts anew and that record nothing: they are said to be missing.

A forked one keeps the hooks and goes on recording by itself. One that is spawned (DataLoader workers with
`multiprocessing_context="spawn"`, `torch.multiprocessing.spawn`) is a new interpreter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing import process
from typing import Any

from runtime_check.hooks.patches import replace


def install(missing: Callable[[str, str], None]) -> Callable[[], None]:
    """Have `missing(which process, why)` called for each that is started; gives what undoes it."""

    def wrap(original: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(original)
        def start(self: Any) -> None:
            original(self)
            method = getattr(self, "_start_method", None) or _default()
            if method != "fork":
                role = "DataLoader worker" if _loads(self) else "process"
                missing(f"{role} {self.pid}", f"started by {method}, it is a new interpreter, in which nothing records")

        return start

    return replace(process.BaseProcess, "start", wrap)


def _default() -> str:
    import multiprocessing

    return str(multiprocessing.get_start_method())


def _loads(started: Any) -> bool:
    target = getattr(started, "_target", None)
    return str(getattr(target, "__module__", "")).startswith("torch.utils.data")
