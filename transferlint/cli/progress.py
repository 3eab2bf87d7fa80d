"""A progress bar on a terminal's stderr, for runs that take longer than a second."""

from __future__ import annotations

import threading
import time
from typing import Any

_PATIENCE = 1.0  # seconds


class NoProgress:
    """Says nothing."""

    def __enter__(self) -> NoProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def begin(self, total: int) -> None:
        """Nothing."""

    def advance(self, count: int) -> None:
        """Nothing."""


class TerminalProgress(NoProgress):
    """A bar that appears after a second (so that short runs never import rich) and leaves no trace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._total = 0
        self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def begin(self, total: int) -> None:
        """So many files will be checked."""
        self._total += total

    def advance(self, count: int) -> None:
        """So many more are done."""
        with self._lock:
            self._done += count
            if self._bar is None and time.monotonic() - self._start > _PATIENCE and self._done < self._total:
                self._show()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("check", total=self._total, completed=self._done)
        self._bar.start()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
