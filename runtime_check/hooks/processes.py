"""Processes that the program starts anew and that record nothing: they are said to be missing.

A forked one keeps the hooks and goes on recording by itself. One that is spawned (DataLoader workers with
`multiprocessing_context="spawn"`, `torch.multiprocessing.spawn`) is a new interpreter; where a run is recorded to a
folder, it is told to record as well (`runtime_check.spawned`). Other programs of Python's that are run (by
`subprocess`) are not: whether they transfer anything is not known.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing import process, spawn
from typing import Any

from runtime_check.hooks.patches import replace


def install(missing: Callable[[str, str], None]) -> Callable[[], None]:
    """Have `missing(which process, why)` called for each that is started; gives what undoes it."""

    def wrap(original: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(original)
        def start(self: Any) -> None:
            original(self)
            method = getattr(self, "_start_method", None) or _default()
            if method != "fork" and not (method == "spawn" and getattr(spawn.get_command_line, "records", False)):
                role = "DataLoader worker" if _loads(self) else "process"
                missing(f"{role} {self.pid}", f"started by {method}, it is a new interpreter, in which nothing records")

        return start

    def wrap_command(original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(self: Any, args: Any, *more: Any, **named: Any) -> None:
            original(self, args, *more, **named)
            words = _words(args)
            if _is_python(words) and not (torchs and sys._getframe(1).f_code.co_filename.startswith(torchs)):
                why = "it is a program of its own, in which nothing records what it may transfer"
                missing(f"process {self.pid} (`{' '.join(words)[:60]}`)", why)

        return __init__

    torch = getattr(sys.modules.get("torch"), "__file__", None)
    torchs = os.path.join(os.path.dirname(torch), "") if torch else ""  # its compiler's workers
    undone = [replace(process.BaseProcess, "start", wrap), replace(subprocess.Popen, "__init__", wrap_command)]

    def undo() -> None:
        for one in undone:
            one()

    return undo


def _words(args: Any) -> list[str]:
    """The words of a command as `subprocess` takes it."""
    if isinstance(args, (str, bytes, os.PathLike)):
        return os.fsdecode(args).split()
    return [os.fsdecode(word) for word in args]


def _is_python(words: Sequence[str]) -> bool:
    """Whether a command runs Python, also by way of `env` or one of torch's launchers."""
    names = [os.path.basename(word) for word in words[:3]]
    return any(re.fullmatch(r"python[\d.]*|torchrun|accelerate|deepspeed", name) for name in names)


def _default() -> str:
    import multiprocessing

    return str(multiprocessing.get_start_method())


def _loads(started: Any) -> bool:
    target = getattr(started, "_target", None)
    return str(getattr(target, "__module__", "")).startswith("torch.utils.data")
