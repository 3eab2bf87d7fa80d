"""The process of one run of `verify --fixed`: as `launch`, and it says how long the program and its steps took, and
which modules came from the project itself and not from the copy that is run."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runtime_check import launch, plan
from runtime_check.plan import Plan, Status

TIME = "time"  # the level of a run that records nothing
ANSWER = "ran.json"
_MOST = 20_000  # steps whose time is kept


class Clock:
    """When steps ended: on the device's own clock where it is CUDA's, as the host may be ahead; else on the host's."""

    def __init__(self) -> None:
        self._marks: dict[object, list[Any]] = {}

    def mark(self, source: object) -> None:
        """A step of `source` (an optimizer) ended."""
        marks = self._marks.setdefault(source, [])
        if len(marks) < _MOST:
            marks.append(_now())

    def steps(self) -> list[int]:
        """Nanoseconds of each step but the first, of the source that had the most."""
        marks = max(self._marks.values(), key=len, default=[])
        if any(isinstance(mark, int) for mark in marks):
            marks = [mark for mark in marks if isinstance(mark, int)]
            return [after - before for before, after in itertools.pairwise(marks)]
        try:
            if marks:
                marks[-1].synchronize()
            return [round(before.elapsed_time(after) * 1e6) for before, after in itertools.pairwise(marks)]
        except Exception:  # the device is in no state to answer: the program has failed on it
            return []


def _now() -> Any:
    torch: Any = sys.modules["torch"]
    if torch.version.cuda is None or not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
        return time.perf_counter_ns()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


class Timed(launch.Process):
    """`launch.Process`, timed; at the level TIME with nothing recorded."""

    def __init__(self, asked: Plan, root: str) -> None:
        super().__init__(asked)
        self._root = os.path.join(os.path.realpath(root), "")
        self._clock = Clock()

    def _record(self, framework: str) -> None:
        if framework != "torch":  # of other frameworks nothing is fixed
            return
        if self._asked.level != TIME:
            super()._record(framework)
            return
        from runtime_check import session
        from runtime_check.hooks import device, steps

        if not device.key():
            self.refuse("torch finds no accelerator any more")
            return
        steps.install(self._clock.mark)
        vars(session.RECORDER)["step"] = lambda: self._clock.mark("")
        self._stop = lambda code: None
        os._exit = self._exit_at_once
        self._status = Status(level=TIME, torch=True)
        plan.write(self._asked.folder, f"status-{self._asked.rank}", self._status)

    def _stop_recording(self, code: int) -> None:
        if self._stop is not None:
            steps = self._clock.steps()
            answer = {
                "steps": steps[self._asked.warmup :],
                "strangers": _strangers(self._root, os.path.join(os.path.realpath(self._asked.root), "")),
            }
            Path(self._asked.folder, ANSWER).write_text(json.dumps(answer), encoding="utf-8")
        super()._stop_recording(code)


def _strangers(root: str, copy: str) -> Sequence[str]:
    """Modules of the project that do not come from its copy."""
    found = []
    for name, module in list(sys.modules.items()):
        path = os.path.realpath(str(getattr(module, "__file__", "") or ""))
        outside = not path.startswith(copy) and "site-packages" not in path
        if path.startswith(root) and outside and name.partition(".")[0] not in ("runtime_check", "transferlint"):
            found.append(name)
    return sorted(found)


def main() -> None:
    """Run the plan in the folder that `sys.argv` names, of a copy of the project that it names."""
    folder, root = sys.argv[1:3]
    process = Timed(plan.read_plan(folder), root)
    launch._die_with_parent()
    atexit.register(process.finish)
    process.run()
