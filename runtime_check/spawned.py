"""Interpreters that the program starts by multiprocessing's "spawn": they record too, each into a file of its own.

Such a process runs `python -c "from multiprocessing.spawn import spawn_main; ..."`
(multiprocessing/spawn.py: get_command_line). Before that, it is told to record as soon as the program has imported
torch there, so that the program's module, which it imports first of all, runs as in the process that started it.
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable
from multiprocessing import process, spawn
from typing import Any

from runtime_check import launch, plan
from runtime_check.executed import ExecutedLines
from runtime_check.hooks.patches import replace
from runtime_check.line_counts import LineCounts
from runtime_check.plan import Plan


def install(asked: Plan) -> Callable[[], None]:
    """Have what is spawned from here on record as `asked`; gives what undoes it."""
    # What cannot import us runs all the same, and no file of it comes back.
    code = (
        "try:\n from runtime_check.spawned import begin\nexcept ImportError:\n pass\n"
        f"else:\n begin({asked.folder!r}, {asked.rank}, {os.getpid()})"
    )

    def wrap(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
        @functools.wraps(original)
        def get_command_line(**given: Any) -> list[str]:
            words = list(original(**given))
            if "-c" in words[:-1]:  # a frozen program has none
                at = words.index("-c") + 1
                words[at] = f"exec({code!r}); {words[at]}"
            return words

        get_command_line.records = True  # type: ignore[attr-defined]
        return get_command_line

    return replace(spawn, "get_command_line", wrap)


def begin(folder: str, rank: int, parent: int) -> None:
    """In the new interpreter: record as the plan of a rank says, once torch is imported. Never raises."""
    try:
        asked = plan.read_plan(folder, rank)
    except (OSError, ValueError):  # the run is over
        return
    launch.after_import("torch", lambda: _Child(asked, parent).record())


class _Child:
    """This process, and the exit code that it will have."""

    def __init__(self, asked: Plan, parent: int) -> None:
        self._asked = asked
        self._parent = parent
        self._code = 1  # where the program's module raises on its import
        self._stop: Callable[[int], None] | None = None
        self._simulated = False

    def record(self) -> None:
        """Torch has just been imported."""
        from runtime_check import recorder

        try:
            counts = self._count()
            started = recorder.start(self._asked, tuple, counts, self._parent)
        except Exception as error:  # the program goes on without us, and the run says so
            recorder.say_missing(self._asked, self._parent, " ".join(str(error).split()) or type(error).__name__)
            return
        started.ends_at_once()
        self._stop, self._simulated = started.stop, started.simulated
        replace(process.BaseProcess, "_bootstrap", self._with_code)
        atexit.register(self._finish)

    def _count(self) -> LineCounts | None:
        """Counts of lines, where they are wanted: of this process from here on, and of what is compiled from here on
        where that takes other code."""
        if not (self._asked.lines and self._asked.root):
            return None
        counts = LineCounts(self._asked.root)
        ExecutedLines((), counts).start()
        return counts

    def _with_code(self, original: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(original)
        def bootstrap(*args: Any, **kwargs: Any) -> int:
            self._code = original(*args, **kwargs)
            return self._code

        return bootstrap

    def _finish(self) -> None:
        if self._stop is not None:
            self._stop(self._code)
        if self._simulated:
            launch.end(self._code)
