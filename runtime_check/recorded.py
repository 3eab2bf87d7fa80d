"""`record(folder)`: a part of a program is recorded as `transferlint verify` records the whole of one."""

from __future__ import annotations

import datetime
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from runtime_check import plan

LEVELS = ("auto", "guard", "trace")


class record:
    """A region whose transfers and waits, of all threads, are written to a folder: `with record("run"): train()`, and
    then `transferlint report run`, also as HTML, JSON or a trace.

    `level` is "guard" (line, direction, bytes, time), "trace" (where data came from, too) or "auto": "trace". Times are
    measured, on the simulated accelerator modelled. Files of an earlier run in the folder are removed. With several
    ranks (`RANK` and `WORLD_SIZE` in the environment) each writes its own. Entering raises ValueError for another
    level, RuntimeError where torch finds no accelerator and none is simulated, and OSError for the folder.
    """

    def __init__(self, folder: str | os.PathLike[str] = "transferlint-run", *, level: str = "auto") -> None:
        if level not in LEVELS:
            raise ValueError(f"level={level!r}: one of {', '.join(LEVELS)}")
        self.folder = Path(folder).absolute()
        self._level = level
        self._stop: Callable[[int], None] | None = None

    def __enter__(self) -> record:
        importlib.import_module("torch")  # what is recorded is its doing

        from runtime_check import recorder, simulate

        if self._stop is not None:
            raise RuntimeError(f"{self.folder}: is being recorded to already")
        rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.folder.mkdir(parents=True, exist_ok=True)
        plan.clear(self.folder, rank, ranks)
        simulated = simulate.running() is not None and self._level == "auto"
        asked = plan.Plan(
            program=tuple(sys.argv) or ("",),
            module=False,
            folder=str(self.folder),
            level="simulate" if simulated else "trace" if self._level == "auto" else self._level,
            rank=rank,
            ranks=ranks,
            root=os.getcwd(),
            started=datetime.datetime.now(datetime.timezone.utc).isoformat(),
        )
        try:
            self._stop = recorder.start(asked, tuple).stop
        except recorder.Refused as error:
            raise RuntimeError(f"record({str(self.folder)!r}): {error}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop(0 if kind is None else 1)
