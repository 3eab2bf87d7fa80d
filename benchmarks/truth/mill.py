"""Runs packages, and writes their tables.

    python benchmarks/truth/mill.py [PACKAGE ...] [--only WORKLOAD ...] [--again WORKLOAD ...]

A package's environment is made where it is not there (`environments`), each of its workloads runs in a process of its
own, one at a time, with a time limit, on the simulated accelerator, and what they counted becomes
`data/PACKAGE.jsonl.xz`. Without names, all packages with a workload file whose table is missing. `--only` runs single
workloads, to try them out, and writes no table; `--again` runs single ones, and makes the table of them and of what the
others counted when they last ran.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from truth import described, environments, tables
from truth.described import Described
from truth.marks import BY_ITSELF, OUTSIDE

_WALL = 8  # times the limit: how long a workload may take where others keep the processor busy
_ROOT = Path(__file__).parents[2]
_ASK = """import json, platform, sys
from importlib import metadata
print(json.dumps([platform.python_version(), metadata.version("torch"), metadata.version(sys.argv[1])]))"""


def main() -> int:
    """Run what was asked; 1 where a package gave no table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORKLOAD")
    parser.add_argument("--again", nargs="+", default=[], metavar="WORKLOAD")
    options = parser.parse_args()
    asked = options.packages or [name for name in described.names() if not tables.path_of(name).exists()]
    failed = 0
    for name in asked:
        try:
            _package(described.describe(name), options.only, options.again)
        except (described.Malformed, environments.NotInstalled) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    return failed


def _package(asked: Described, only: Sequence[str], again: Sequence[str]) -> None:
    started = time.monotonic()
    python = environments.ensure(asked.name, asked.package)
    installed = time.monotonic() - started
    raw = python.parent.parent / "raw"
    raw.mkdir(exist_ok=True)
    outcomes, found, kept = [], {}, 0.0
    for workload in only or asked.workloads:
        out = raw / f"{workload}.json"
        began, why = time.monotonic(), ""
        if not again or workload in again or not out.exists():
            out.unlink(missing_ok=True)
            why = _run(asked, workload, python, out)
        seconds = round(time.monotonic() - began, 1)
        if out.exists():
            found[workload] = json.loads(out.read_text(encoding="utf-8"))
            cases = found[workload]["outcomes"]
            kept += cases[0]["seconds"] if again and workload not in again else 0.0
        else:
            cases = [{"case": workload, "outcome": why.partition(":")[0], "why": why, "seconds": seconds}]
        outcomes += [{"workload": workload, **one} for one in cases]
        _say(asked.name, workload, seconds, cases)
    if only:
        return
    header = _header(asked, python, outcomes, found, round(time.monotonic() - started - installed + kept, 1))
    table = merged(header, found, environments.places(python))
    path = tables.write(asked.name, table)
    lines = sum(file.length for file in table.files.values())
    crossed = len({(file.path, one.site[0]) for file in table.files.values() for one in file.crossings})
    print(
        f"{asked.name}: {len(table.files)} files ({lines:,} lines), {crossed} lines crossed; "
        f"{time.monotonic() - started:.0f} s ({installed:.0f} s of it to install); {path.stat().st_size:,} bytes",
        flush=True,
    )


def _say(package: str, workload: str, seconds: float, cases: Sequence[dict[str, Any]]) -> None:
    bad = [one for one in cases if one["outcome"] != "ok"]
    print(f"{package} {workload}: {len(cases) - len(bad)} of {len(cases)} ok, {seconds:.0f} s", flush=True)
    for one in bad:
        print(f"    {one['case']}: {one['outcome']}: {one['why']}", flush=True)


def _run(asked: Described, workload: str, python: Path, out: Path) -> str:
    """Run a workload; why there is nothing to read in `out`, where there is not."""
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "VIRTUAL_ENV")},
        "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "benchmarks")]),
        "TRUTH_PACKAGE": json.dumps({"modules": asked.package.modules, "seconds": asked.package.seconds}),
        **dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "OMP_NUM_THREADS"), "1"),
        **dict.fromkeys(("MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM", "PYTHONDONTWRITEBYTECODE"), "1"),
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "Agg",
        "WANDB_MODE": "disabled",
        "TQDM_DISABLE": "1",
    }
    limit = asked.package.seconds
    command = [str(python), "-m", "truth.worker", asked.name, workload, str(out)]
    with out.with_suffix(".txt").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=out.parent, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout=_WALL * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = -signal.SIGXCPU
    if code == -signal.SIGXCPU:
        return f"time-out: it did not end within {limit} s of the processor"
    if code < 0:
        return f"killed: by {signal.Signals(-code).name}"
    lines = out.with_suffix(".txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"failed: {lines[-1][:300] if lines else f'exit code {code}'}"


def _header(
    asked: Described, python: Path, outcomes: list[Any], found: dict[str, Any], seconds: float
) -> dict[str, Any]:
    requirement = asked.package.requirement.partition("==")[0].partition("[")[0]
    told = subprocess.run([str(python), "-c", _ASK, requirement], capture_output=True, text=True, check=True)
    version, torch, package = json.loads(told.stdout)
    return {
        "package": asked.name,
        "requirement": requirement,
        "package_version": package,
        "modules": list(asked.package.modules),
        "kept_out": asked.package.kept_out,
        "torch": torch,
        "python": version,
        "seconds": seconds,
        "workloads": outcomes,
    }


def merged(header: dict[str, Any], found: dict[str, Any], places: Sequence[Path]) -> tables.Table:
    """One table from what the processes of the workloads counted. Steps that began by themselves do not count in a
    case that marks its own."""
    keys: dict[tuple[str, ...], int] = {}
    steps: list[int] = []
    files: dict[str, tables.File] = {}
    for workload, one in found.items():
        numbers = []
        for section in one["sections"]:
            key = (workload, section["case"] or workload, section["kind"], section["phase"])
            if section["case"] in one["explicit"] and section["kind"].startswith(BY_ITSELF):
                key = (*key[:2], "", OUTSIDE)
            if key not in keys:
                keys[key] = len(steps)
                steps.append(0)
            numbers.append(keys[key])
            steps[keys[key]] += section["steps"] if key[3] != OUTSIDE else 0
        for path, rows in one["files"].items():
            if path not in files:
                files[path] = _file(places, path)
            _add(files[path], rows, numbers)
    sections = [tables.Section(*key, steps[number]) for key, number in keys.items()]
    return tables.Table(header, sections, files)


def _file(places: Sequence[Path], path: str) -> tables.File:
    found = next((place / path for place in places if (place / path).is_file()), None)
    content = b"" if found is None else found.read_bytes()  # none where it was made while it ran
    return tables.File(path, hashlib.sha256(content).hexdigest(), content.count(b"\n"))


def _add(file: tables.File, rows: dict[str, list[list[Any]]], numbers: Sequence[int]) -> None:
    for section, line, count, steps in rows["lines"]:
        _sum(file.lines, (numbers[section], line), (count, steps))
    for section, line, name, count, steps in rows["calls"]:
        _sum(file.calls, (numbers[section], line, name), (count, steps))
    for section, line, device, host in rows["operators"]:
        _sum(file.operators, (numbers[section], line), (device, host))
    for section, line, column, end_line, end_column, kind, yes, no in rows["branches"]:
        file.branches.append(tables.Branch(numbers[section], (line, column, end_line, end_column), kind, yes, no))
    for section, line, column, end_line, end_column, *rest in rows["crossings"]:
        file.crossings.append(tables.Crossing(numbers[section], (line, column, end_line, end_column), *rest))
    file.branches = _summed(file.branches, ("yes", "no"))
    file.crossings = _summed(file.crossings, ("count", "bytes", "blocked", "steps", "repeated", "calls"))


def _sum(rows: dict[Any, tuple[int, int]], key: Any, row: tuple[int, int]) -> None:
    before = rows.get(key, (0, 0))
    rows[key] = (before[0] + row[0], before[1] + row[1])


def _summed(rows: Iterable[Any], numbers: Sequence[str]) -> list[Any]:
    """Rows that differ in numbers only, as one."""
    sums: dict[Any, Any] = {}
    for row in rows:
        key = tuple(value for name, value in dataclasses.asdict(row).items() if name not in numbers)
        known = sums.get(key)
        more = {name: getattr(known, name) + getattr(row, name) for name in numbers} if known is not None else {}
        sums[key] = dataclasses.replace(row, **more)
    return list(sums.values())


if __name__ == "__main__":
    sys.exit(main())
