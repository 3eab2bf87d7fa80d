"""What fixes are worth: `python -m benchmarks.fixes [-o DIR] [--short] [--only TL101 ...]`.

For each rule from TL1 to TL4 a program of `benchmarks/pairs/` trains a small transformer with the one mistake that the
rule is about, and is run before and after its fix, alternately, in one process: the fix is transferlint's own
(`--fix --unsafe-fixes --select RULE`), or the program `RULE_after.py` where the rule has none for it. Told are the
ratio of the medians of the time per step, with the quartiles of neighbouring runs' ratios, and what crosses per step.

On the simulated device programs are tiny, and what is told is how long the host would be kept, by the model.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import device as devices
from benchmarks.device import ratios

PAIRS = Path(__file__).with_name("pairs")
WARM = 5


@dataclasses.dataclass(frozen=True)
class Pair:
    """The program of a rule, and the fixed one. `found` says how often `check` reports the rule in it, `own` whether
    the fix is transferlint's, `default` whether the rule is on by default."""

    code: str
    about: str
    before: Path
    after: Path
    found: int
    own: bool
    default: bool


def codes() -> list[str]:
    """The rules that have a program."""
    return sorted(path.stem for path in PAIRS.glob("TL[0-9][0-9][0-9].py"))


def pairs(wanted: list[str], folder: Path) -> dict[str, Pair | str]:
    """Make both programs of every rule in a folder; instead of a pair, why there is none."""
    for name in (*wanted, "workload"):
        shutil.copy(PAIRS / f"{name}.py", folder)
    by_default = {(one["path"], one["code"]) for one in _check(folder)["findings"]}
    found = [(one["path"], one["code"]) for one in _check(folder, "--extend-select", "TL4")["findings"]]

    def make(code: str) -> Pair | str:
        name = f"{code}.py"
        place = folder / code
        place.mkdir()
        before, after = place / f"{code}_before.py", place / f"{code}_after.py"
        by_hand = PAIRS / after.name
        if not by_hand.exists():
            shutil.copy(PAIRS / "workload.py", place)
            shutil.copy(folder / name, place)
            try:
                _check(place, "--select", code, "--fix", "--unsafe-fixes")
            except RuntimeError as error:
                return str(error)
            (place / name).rename(after)
        else:
            shutil.copy(by_hand, after)
        shutil.copy(folder / name, before)
        if after.read_bytes() == before.read_bytes():
            return "no fix was applied"
        about = before.read_text(encoding="utf-8").split('"""')[1]
        return Pair(
            code, about, before, after, found.count((name, code)), not by_hand.exists(), (name, code) in by_default
        )

    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return dict(zip(wanted, pool.map(make, wanted), strict=True))


def _check(folder: Path, *options: str) -> dict[str, Any]:
    """The report of `check` on a folder. Raises RuntimeError where there is none."""
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "--no-cache", "--exit-zero", "-f", "json"]
    made = subprocess.run([*command, *options, "."], cwd=folder, capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(made.stdout)
    except ValueError:
        raise RuntimeError(f"{folder.name}: check failed: {made.stderr.strip()[-300:]}") from None
    return report


def load(path: Path) -> Callable[[Iterator[int]], Any]:
    """The function `run` of a program."""
    specification = importlib.util.spec_from_file_location(f"pairs_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    run: Callable[[Iterator[int]], Any] = module.run
    return run


class Steps:
    """The steps that a program is given: some to warm up, then those that are timed."""

    def __init__(self, count: int, warm: int = WARM) -> None:
        self._count, self._warm = count, warm
        self.per_step = 0.0  # nanoseconds, once they are over

    def __iter__(self) -> Iterator[int]:
        import torch

        started = 0
        for number in range(self._warm + self._count):
            if number == self._warm:
                torch.cuda.synchronize()
                started = time.perf_counter_ns()
            yield number
        torch.cuda.synchronize()
        self.per_step = (time.perf_counter_ns() - started) / self._count


@dataclasses.dataclass(frozen=True)
class Crossed:
    """What crosses in a step, and how long it keeps the host by the model, in nanoseconds."""

    h2d: float
    d2h: float
    waits: float
    modelled: float

    @property
    def text(self) -> str:
        return f"{self.h2d:.3g} / {self.d2h:.3g} / {self.waits:.3g}"


def crossing(run: Callable[[Any], Any], count: int) -> Crossed:
    """Record a run; what its steps crossed, less what a run of no steps does."""
    from runtime_check.collect import Collector
    from runtime_check.cost import default
    from runtime_check.session import Session
    from transferlint.model import Direction

    sums = []
    for steps in (1, 1 + count):
        collector = Collector(default())
        with Session(collector, trace=False):
            run(iter(range(steps)))
        sites = [site for site in collector.records() if site.crossed]
        sums.append(
            (
                sum(site.count for site in sites if site.direction is Direction.H2D),
                sum(site.count for site in sites if site.direction is Direction.D2H),
                sum(site.count for site in sites if site.sync),
                sum(site.blocked.total for site in sites),
            )
        )
    return Crossed(*((more - less) / count for less, more in zip(*sums, strict=True)))


def measure(one: Pair, rounds: int, count: int, dry: bool) -> dict[str, Any]:
    """The numbers of one pair."""
    import torch

    programs = {"before": load(one.before), "after": load(one.after)}
    crossed = {name: crossing(run, 4) for name, run in programs.items()}
    results: dict[str, float] = {}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds):
        order = list(programs) if number % 2 else list(programs)[::-1]
        for name in order:
            torch.manual_seed(0)
            steps = Steps(count)
            results[name] = float(torch.as_tensor(programs[name](steps)).detach())
            times[name].append(crossed[name].modelled if dry else steps.per_step)
    before, after = results["before"], results["after"]
    return {
        "code": one.code,
        "about": one.about,
        "default": one.default,
        "found": one.found,
        "fix": "transferlint" if one.own else "by hand",
        "step_ns": ratios(times["before"], times["after"]),
        "crossed": {name: dataclasses.asdict(each) for name, each in crossed.items()},
        "crossing": [crossed["before"].text, crossed["after"].text],
        "results": [before, after],
        "same": abs(before - after) <= 1e-3 * max(abs(before), abs(after), 1e-12),
    }


def table(rows: list[dict[str, Any]], failed: dict[str, str], dry: bool) -> str:
    """For people."""
    from runtime_check.reports.units import duration

    cells = []
    for row in rows:
        step = row["step_ns"]
        gain = f"{step['ratio']:.2f}x ({step['low']:.2f} to {step['high']:.2f})" if step["ratio"] else "all of it"
        cells.append(
            [
                row["code"] + ("" if row["default"] else " (off by default)"),
                row["about"],
                *(duration(step[name]) for name in ("before", "after")),
                gain,
                *row["crossing"],
                row["fix"],
                "same" if row["same"] else "OTHER RESULT",
            ]
        )
    what = "host kept per step, modelled" if dry else "time per step, measured"
    head = ["rule", "program", f"before ({what})", "after", "ratio", "h2d / d2h / waits", "after", "fix", "result"]
    lines = [devices.markdown(head, cells)]
    gains = [row["code"] for row in rows if row["default"] and row["step_ns"]["low"] <= 1.0]
    if gains and not dry:
        lines += ["", f"On by default without a gain beyond the spread: {', '.join(gains)}."]
    lines += [f"\n{code}: not measured: {why}" for code, why in failed.items()]
    return "\n".join(lines)


def main() -> None:
    """Measure every pair, print, write. A pair that fails is told, and the others are measured."""
    parser = devices.arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="RULE")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no program after so long")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    device = devices.start()
    if device.dry:
        os.environ["PAIRS_SMALL"] = "1"
    rounds, count = (2, 3) if device.dry else (5, 15) if options.short else (11, 15)
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as home:
        sys.path.insert(0, str(PAIRS))
        for code, one in pairs(options.only or codes(), Path(home)).items():
            if isinstance(one, str) or time.monotonic() > end:
                failed[code] = one if isinstance(one, str) else "no time was left"
                continue
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    rows.append(measure(one, rounds, count, device.dry))
            except Exception as error:
                failed[code] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    result = {"rules": rows, "failed": failed, "steps": count}
    devices.write(device, "fixes", result, table(rows, failed, device.dry), options.output)
    device.leave(1 if failed else 0)


if __name__ == "__main__":
    main()
