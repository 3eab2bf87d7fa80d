"""Modelled times against measured ones: `python -m benchmarks.modelled [-o DIR] [--model FILE]`.

Three programs are recorded, and of each of their sites the median time that an event kept the host is held against
what the model says of the same events. The model knows no queue, so each program also runs with CUDA_LAUNCH_BLOCKING=1,
where the device has nothing left to do when a copy is asked for: that is what the model is about. The aim is a factor
of at most 2 at 90 % of the sites.
"""

from __future__ import annotations

import collections
import contextlib
import io
import json
import os
import runpy
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import device as devices

ROOT = Path(__file__).parents[1]
PROGRAMS = ("replay", "numpy_detours", "transformer")
MODES = {"as it runs": "0", "idle queue": "1"}
WITHIN = 2.0
RUNS = 5


class Times:
    """Collects events by site: what a clock says of each, and what the model does."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._pairs: dict[tuple[str, int, str, str], list[tuple[int, int]]] = collections.defaultdict(list)

    def __call__(self, event: Any) -> None:
        if event.sync or event.direction.value in ("h2d", "d2h"):
            frame = event.frames[event.user] if event.frames else None
            line = (os.path.basename(frame.path), frame.line) if frame is not None else ("", 0)
            key = (*line, event.operation, event.direction.value)
            self._pairs[key].append((event.blocked, self._model.blocked(event)))

    def sites(self) -> list[dict[str, Any]]:
        """Each site with a time: events whose wait is inside a kernel have none of their own."""
        found = []
        for (path, line, operation, way), pairs in self._pairs.items():
            measured, modelled = (statistics.median(column) for column in zip(*pairs, strict=True))
            if measured > 0 and modelled > 0:
                found.append(
                    {
                        "site": f"{path}:{line}",
                        "operation": operation,
                        "direction": way,
                        "count": len(pairs),
                        "measured_ns": measured,
                        "modelled_ns": modelled,
                        "factor": modelled / measured,
                    }
                )
        return found


def recorded(name: str, model: Any) -> list[dict[str, Any]]:
    """The sites of one program, once everything it needs is loaded: it runs once before, and five times recorded."""
    from runtime_check.session import Session

    path = ROOT / "tests" / "runtime_check" / "programs" / f"{name}.py"
    times = Times(model)
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")
        with Session(times, trace=False):
            for _ in range(RUNS):
                runpy.run_path(str(path), run_name="__main__")
    return times.sites()


def inner(model_file: str) -> None:
    """In a process of its own, started with a mode in its environment: the sites of all programs, as JSON."""
    from runtime_check import cost

    device = devices.start()
    model = next(iter(cost.read(model_file).values())) if model_file else cost.default()
    print(json.dumps({"label": model.label, "programs": {name: recorded(name, model) for name in PROGRAMS}}))
    device.leave(0)


def outer(model_file: str) -> dict[str, Any]:
    """Every mode's answer. Raises RuntimeError where a process gave none."""
    found = {}
    for mode, blocking in MODES.items():
        command = [sys.executable, "-m", "benchmarks.modelled", "--inner", "--model", model_file]
        environment = {**os.environ, "CUDA_LAUNCH_BLOCKING": blocking}
        made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        try:
            found[mode] = json.loads(made.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise RuntimeError(f"{mode}: {made.stderr.strip()[-300:]}") from None
    return found


def within(sites: list[dict[str, Any]]) -> float:
    """The share of sites whose modelled time is within the factor of the measured one."""
    good = sum(1 / WITHIN <= site["factor"] <= WITHIN for site in sites)
    return good / len(sites) if sites else 1.0


def table(found: dict[str, Any]) -> str:
    """For people: by program and mode, then the sites that are furthest off."""
    rows = []
    for mode, answer in found.items():
        every = [site for sites in answer["programs"].values() for site in sites]
        for name, sites in (*answer["programs"].items(), ("all", every)):
            middle = statistics.median(site["factor"] for site in sites) if sites else 0
            rows.append([name, mode, len(sites), f"{100 * within(sites):.0f} %", f"{middle:.2f}"])
    head = ["program", "queue", "sites", f"within {WITHIN:.0f}x", "median modelled / measured"]
    lines = [f"Model: {next(iter(found.values()))['label']}", "", devices.markdown(head, rows), ""]
    idle = [site for sites in found["idle queue"]["programs"].values() for site in sites]
    worst = sorted(idle, key=lambda site: max(site["factor"], 1 / site["factor"]), reverse=True)[:8]
    cells = [
        [one["site"], one["operation"], one["direction"], f"{one['measured_ns'] / 1e3:.1f}",
         f"{one['modelled_ns'] / 1e3:.1f}"]
        for one in worst
    ]  # fmt: skip
    head = ["site", "operation", "direction", "measured µs", "modelled µs"]
    return "\n".join([*lines, "Furthest off, on an idle queue:", "", devices.markdown(head, cells)])


def main() -> None:
    """Run, compare, print, write."""
    parser = devices.arguments(__doc__)
    parser.add_argument("--model", default="", help="a model that `benchmarks.costs --model` wrote")
    parser.add_argument("--inner", action="store_true", help="used by itself")
    options = parser.parse_args()
    model = options.model if options.model and Path(options.model).is_file() else ""
    if options.inner:
        inner(model)
        return
    device = devices.start()
    found = outer(model)
    devices.write(device, "modelled", {"modes": found}, table(found), options.output)
    device.leave(0)


if __name__ == "__main__":
    main()
