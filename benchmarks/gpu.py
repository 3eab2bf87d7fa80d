"""Everything that needs a GPU, by one command: `python -m benchmarks.gpu [--short] [--parts NAME ...] [-o DIR]`.

Runs the GPU tests, the conformance of the knowledge tables, and the benchmarks, each in a process of its own and with a
time limit of its own; one that fails or takes too long costs the others nothing. After each, two files in the output
folder ($OUT, or build/gpu) are written anew: `gpu.md`, the summary, and `gpu.tar.gz`, all results and logs. See
docs/gpu.md. Without a GPU it is a dry run on the simulated device, which shows that everything works.

`--publish FILE` unpacks a `gpu.tar.gz` of a GPU into benchmarks/results/, and makes its model the simulator's.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MODEL = "measured_costs.json"  # one model, which is put among those of runtime_check/device_models.json
_MINUTE = 60.0
_LEAST = 15.0  # seconds without which a part is not begun


@dataclasses.dataclass(frozen=True)
class Part:
    """One part: its command ({out} is the folder of its results, {seconds} what it may take to begin nothing new), its
    limits in seconds, full and short, and what makes one line of the JSON that it leaves."""

    name: str
    command: Sequence[str]
    full: float
    short: float
    headline: Callable[[Mapping[str, Any]], str] | None = None
    options: Sequence[str] = ("--short",)


def _of_conformance(found: Mapping[str, Any]) -> str:
    counts = "; ".join(f"{key}: {number}" for key, number in found["counts"].items())
    return f"{counts}; recorder unlike driver: {found['unlike']}"


def _of_costs(found: Mapping[str, Any]) -> str:
    model = found["model"]
    if model is None:
        return f"no model: {found['problem']}"
    lines = {name: model[name] for name in ("h2d_pinned", "h2d_pageable", "d2h_pinned", "d2h_pageable")}
    return "; ".join(
        f"{name} {line['latency'] / 1e3:.1f} µs, {line['bandwidth']:.1f} GB/s" for name, line in lines.items()
    )


def _of_kineto(found: Mapping[str, Any]) -> str:
    made = sum(row["driver"] for row in found["programs"])
    agreed = sum(row["same"] + row["inside kernels"] for row in found["programs"])
    return f"{agreed} of {made} copies agree by line and bytes (aim 99 %); failed: {len(found['failed'])}"


def _of_training(found: Mapping[str, Any]) -> str:
    large = found["models"][-1]["ways"]
    return "large: " + "; ".join(f"{name} {large[name]['ratio']:.3f}x" for name in ("guard", "trace", "torch.profiler"))


def _of_modelled(found: Mapping[str, Any]) -> str:
    parts = []
    for mode, answer in found["modes"].items():
        sites = [site for one in answer["programs"].values() for site in one]
        parts.append(f"{mode}: {sum(0.5 <= site['factor'] <= 2 for site in sites)} of {len(sites)} sites within 2x")
    return "; ".join(parts)


def _of_fixes(found: Mapping[str, Any]) -> str:
    gain = [row["code"] for row in found["rules"] if row["step_ns"]["low"] > 1 or not row["step_ns"]["after"]]
    failed = ", ".join(found["failed"]) or "none"
    return f"{len(gain)} of {len(found['rules'])} gain beyond the spread; failed: {failed}"


def _of_verify(found: Mapping[str, Any]) -> str:
    step = found["step"] or found["whole"]
    times = f"{step['ratio']:.2f}x ({step['least']:.2f} to {step['most']:.2f})" if step else "no times"
    return f"{found['fixed']} fixes, {times}, outputs {'the same' if found['same'] else 'DIFFER'}"


def _bench(name: str, full: float, short: float, headline: Callable[[Mapping[str, Any]], str], *more: str) -> Part:
    return Part(name, ("-m", f"benchmarks.{name}", "-o", "{out}", *more), full, short, headline)


PARTS = (
    _bench("costs", 90, 40, _of_costs, "--model", "{out}/../" + MODEL),
    Part("tests", ("-m", "pytest", "-m", "gpu", "tests/runtime_check/gpu", "-v", "-p", "no:cacheprovider"), 300, 180,
         None, ()),
    Part("conformance", ("-m", "runtime_check.conformance", "-o", "{out}", "--seconds", "{seconds}"), 180, 120,
         _of_conformance, ()),
    _bench("kineto", 150, 60, _of_kineto, "--seconds", "{seconds}"),
    _bench("training", 120, 60, _of_training),
    _bench("modelled", 90, 60, _of_modelled, "--model", "{out}/../" + MODEL),
    _bench("fixes", 300, 120, _of_fixes, "--seconds", "{seconds}"),
    Part("verify", ("-m", "transferlint", "verify", "--fixed", "--unsafe-fixes", "--root", "examples", "-o", "{out}",
                    "examples/train.py"), 150, 80, _of_verify, ("--rounds", "2")),
)  # fmt: skip


def main() -> int:
    """Prepare, run the parts, print a line for each. 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="less of everything, within ten minutes")
    parser.add_argument("--parts", nargs="+", choices=[part.name for part in PARTS], metavar="NAME", help="only these")
    parser.add_argument("--minutes", type=float, default=0, help="in all; default 9 with --short, 18 without")
    parser.add_argument("--wheels", type=Path, default=ROOT / ".whl", help="folder of wheels of what is missing")
    parser.add_argument("-o", "--output", type=Path, default=Path(os.environ.get("OUT") or ROOT / "build" / "gpu"))
    parser.add_argument("--publish", type=Path, metavar="FILE", help="take a gpu.tar.gz, and run nothing")
    options = parser.parse_args()
    if options.publish:
        return publish(options.publish)
    end = time.monotonic() + _MINUTE * (options.minutes or (9 if options.short else 18))
    output = options.output.resolve()
    work = output / "results" if not os.environ.get("OUT") else Path(f"/tmp/gpu-results-{os.getpid()}")
    work.mkdir(parents=True, exist_ok=True)
    environment = prepare(work.parent / f"{work.name}-site", options.wheels)
    lines = [f"# GPU run, {'short' if options.short else 'full'}", "", about(environment), ""]
    lines += ["| part | ended | seconds | what came out |", "| --- | --- | --- | --- |"]
    failed = False
    print(lines[2], flush=True)
    for part in PARTS:
        if options.parts and part.name not in options.parts:
            continue
        row, good = run(part, work, environment, options.short, end)
        failed |= not good
        print(row, flush=True)
        lines.append(row)
        collect(output, work, lines)
    print(f"summary: {output / 'gpu.md'}; everything: {output / 'gpu.tar.gz'}")
    return int(failed)


def run(part: Part, work: Path, environment: Mapping[str, str], short: bool, end: float) -> tuple[str, bool]:
    """One part; its row of the summary, and whether it ended well."""
    limit = min(part.short if short else part.full, end - time.monotonic())
    if limit < _LEAST:
        return f"| {part.name} | not begun | | no time was left |", False
    out = work / part.name
    out.mkdir(exist_ok=True)
    words = [word.replace("{out}", str(out)).replace("{seconds}", f"{0.85 * limit:.0f}") for word in part.command]
    if short and part.options:  # before a program's name, as its own come after
        words[2:2] = list(part.options) if part.name != "verify" else []
        if part.name == "verify":
            words[3:3] = list(part.options)
    started = time.monotonic()
    with open(out / "log.txt", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=dict(environment), stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            ended = f"exit code {process.wait(timeout=limit)}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            ended = f"stopped after {limit:.0f} s"
    said = headline(part, out)
    return f"| {part.name} | {ended} | {time.monotonic() - started:.0f} | {said} |", process.returncode == 0


def headline(part: Part, out: Path) -> str:
    """What came out, in a line: of the JSON that the part left, else the last line of its log."""
    name = "fixed" if part.name == "verify" else part.name
    try:
        found = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
        if part.headline is not None:
            return part.headline(found)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    lines = (out / "log.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " ".join(lines[-1].split())[:200].replace("|", "/") if lines else "it said nothing"


def collect(output: Path, work: Path, lines: Sequence[str]) -> None:
    """The summary and the archive, each put in place whole."""
    output.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    (work / "gpu.md").write_text(text, encoding="utf-8")
    beside = output / "gpu.new"
    beside.write_text(text, encoding="utf-8")
    beside.replace(output / "gpu.md")
    with tarfile.open(beside, "w:gz") as archive:
        archive.add(work, arcname="results")
    beside.replace(output / "gpu.tar.gz")


def prepare(site: Path, wheels: Path) -> dict[str, str]:
    """The environment of the parts: this checkout can be imported, with its entry points, and what it needs. What is
    missing is installed from the wheels, and nothing is fetched."""
    site.mkdir(parents=True, exist_ok=True)
    needed = ("libcst", "click", "rich", "pathspec", "platformdirs", "jinja2")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    found = sorted(str(path) for path in wheels.glob("*.whl")) if wheels.is_dir() else []
    if missing and found:
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile", "--upgrade"]
        subprocess.run([*command, "--target", str(site), *found], check=False)
    still = [name for name in missing if not (site / name).exists()]
    if still:
        print(f"missing, and not in {wheels}: {', '.join(still)}; what needs them will fail", flush=True)
    if not importlib.metadata.entry_points(group="transferlint.rules"):
        _install_in_place(site)
    paths = [str(ROOT), str(site), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}


def _install_in_place(site: Path) -> None:
    """What an editable installation leaves: the rule pack under its name, and the entry points of pyproject.toml."""
    import tomllib  # 3.11

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pack = site / "transferlint_rules"
    if not pack.exists():
        pack.symlink_to(ROOT / "rules")
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    info = site / f"transferlint-{project['version']}.dist-info"
    info.mkdir(exist_ok=True)
    lines: list[str] = []
    for group, table in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in table.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    text = f"Metadata-Version: 2.1\nName: transferlint\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


def about(environment: Mapping[str, str]) -> str:
    """What the run is of, in a line: asked of another process, so that this one holds no device."""
    code = (
        "from benchmarks import device; d = device.start(); "
        "print('; '.join(f'{k}: {v}' for k, v in d.about.items()), flush=True); d.leave(0)"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False
    )
    said = made.stdout.strip() or (made.stderr.strip().splitlines() or ["no device"])[-1]
    return f"DRY RUN, no measurement; {said}" if "Simulated" in said else said


def publish(archive: Path) -> int:
    """Take the results of a GPU's run into the repository: tables, data, and the model."""
    taken = 0
    with tarfile.open(archive) as packed:
        texts = {
            name: file.read() for name in packed.getnames() if name.endswith((".json", ".md"))
            if (file := packed.extractfile(name)) is not None
        }  # fmt: skip
    if any(b"DRY RUN" in text for name, text in texts.items() if name.endswith("gpu.md")):
        print(f"{archive}: of a dry run; nothing was taken")
        return 1
    RESULTS.mkdir(exist_ok=True)
    for name, text in texts.items():
        if Path(name).name == MODEL:
            from runtime_check import cost

            for fields in json.loads(text).values():
                cost.write(ROOT / "runtime_check" / cost.MODELS.name, cost.from_data(fields))
        else:
            parts = Path(name)
            (RESULTS / (f"verify_{parts.name}" if parts.parent.name == "verify" else parts.name)).write_bytes(text)
        taken += 1
    print(f"{taken} files taken into {RESULTS.relative_to(ROOT)}/ and runtime_check/device_models.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
