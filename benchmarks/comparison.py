"""transferlint beside other tools, on programs whose transfers are counted by hand:
`python -m benchmarks.comparison --peers DIR`, where DIR/bin has torchfix, semgrep, ruff, and a python with jax
(`python -m venv DIR; DIR/bin/pip install torchfix semgrep ruff jax`).

The programs are `tests/runtime_check/programs/`, in which a comment says of each line what crosses there; they were
written for this project, to test what its run-time half records. A tool is given the programs without these comments.
Counted are, for each tool, the lines on which it says something about transfers: of the lines that make the host wait
three times or more in a run, of those that upload so often, and of those on which nothing crosses. No GPU takes part.
Writes `benchmarks/results/comparison.json`, which docs/comparison.md quotes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "runtime_check" / "programs"
PEERS = Path(__file__).with_name("peers")
RESULT = Path(__file__).with_name("results") / "comparison.json"
OFTEN = 3
MARK = re.compile(r"  # transfers: (.+)$", re.MULTILINE)
ONE = re.compile(r"(?:(h2d|d2h|wait) \d+ B|no-op) x (\d+)( async)?")
# A finding of a general linter counts where its message is about this at all.
ABOUT = re.compile(r"\b(gpu|cuda|device|host|synchroni[sz]\w*|transfers?)\b", re.IGNORECASE)
Line = tuple[str, int]


def truth() -> dict[str, set[Line]]:
    """The lines of the programs: those that wait often, that upload often, and on which something crosses at all."""
    lines: dict[str, set[Line]] = {"waits": set(), "uploads": set(), "crossing": set()}
    for path in sorted(PROGRAMS.glob("*.py")):
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            mark = MARK.search(text)
            if mark is None:
                continue
            at = (path.name, number)
            lines["crossing"].add(at)
            counts = {"waits": 0, "uploads": 0}
            for way, times, _ in ONE.findall(mark[1]):
                counts["uploads" if way == "h2d" else "waits"] += int(times) if way else 0
            for name, count in counts.items():
                if count >= OFTEN:
                    lines[name].add(at)
    return lines


def said(command: list[str], folder: Path) -> tuple[str, float]:
    """What a command prints, and the processor time that it took, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NO_COLOR": "1"}
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not made.stdout.strip():
        raise SystemExit(f"{' '.join(command)}: {made.stderr.strip()[-300:] or 'it said nothing'}")
    return made.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def transferlint(folder: Path, _: Path) -> tuple[set[Line], float]:
    """The sites of findings, and those that a finding says it speaks for too."""
    command = [
        sys.executable,
        "-m",
        "transferlint",
        "check",
        "--isolated",
        "--no-cache",
        "--exit-zero",
        "-f",
        "json",
        ".",
    ]
    text, seconds = said(command, folder)
    found: set[Line] = set()
    for one in json.loads(text)["findings"]:
        found.add((one["path"], one["line"]))
        found |= {(e["path"], e["line"]) for e in one["evidence"] if e["message"] == "and again here"}
    return found, seconds


def explained(folder: Path) -> set[Line]:
    """The lines of which transferlint says why it is silent."""
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "--no-cache", "--exit-zero", "-f", "json"]
    quiet = json.loads(said([*command, "--quiet-sites", "."], folder)[0])["quiet"]
    return {(one["path"], one["line"]) for one in quiet}


def torchfix(folder: Path, peers: Path) -> tuple[set[Line], float]:
    """All rules of TorchFix."""
    text, seconds = said([str(peers / "bin" / "torchfix"), "--select=ALL", "."], folder)
    rows = re.findall(r"^(?:\./)?(\S+\.py):(\d+):\d+: (.+)$", text, re.MULTILINE)
    return {(name, int(line)) for name, line, message in rows if ABOUT.search(message)}, seconds


def ruff(folder: Path, peers: Path) -> tuple[set[Line], float]:
    """All rules of ruff, unstable ones too."""
    command = [str(peers / "bin" / "ruff"), "check", "--isolated", "--no-cache", "--select", "ALL", "--preview"]
    text, seconds = said([*command, "--output-format", "json", "--exit-zero", "."], folder)
    rows = [one for one in json.loads(text) if ABOUT.search(one["message"])]
    return {(Path(one["filename"]).name, one["location"]["row"]) for one in rows}, seconds


def semgrep(folder: Path, peers: Path) -> tuple[set[Line], float]:
    """The patterns of peers/semgrep.yml; semgrep brings none about this."""
    command = [str(peers / "bin" / "semgrep"), "scan", "--config", str(PEERS / "semgrep.yml"), "--metrics", "off"]
    text, seconds = said([*command, "--disable-version-check", "--no-git-ignore", "--json", "."], folder)
    return {(Path(one["path"]).name, one["start"]["line"]) for one in json.loads(text)["results"]}, seconds


def version(command: list[str]) -> str:
    """The number in what `--version` prints."""
    made = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"\d+\.\d+\S*", made.stdout)
    return found[0] if found else ""


def measure(peers: Path) -> dict[str, Any]:
    """Everything, from the tools that are there."""
    lines = truth()
    tools: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for path in PROGRAMS.glob("*.py"):
            text = path.read_text(encoding="utf-8")
            (folder / path.name).write_text(MARK.sub("", text), encoding="utf-8")
        for name, tool in (
            ("transferlint", transferlint),
            ("TorchFix", torchfix),
            ("ruff", ruff),
            ("semgrep", semgrep),
        ):
            found, seconds = tool(folder, peers)
            own = [sys.executable, "-m", "transferlint"]
            tools[name] = {
                "version": version(own if tool is transferlint else [str(peers / "bin" / name.lower())]),
                "waits": len(found & lines["waits"]),
                "uploads": len(found & lines["uploads"]),
                "seldom": len(found & lines["crossing"] - lines["waits"] - lines["uploads"]),
                "nothing": len(found - lines["crossing"]),
                "cpu_s": round(seconds, 1),
            }
            if tool is transferlint:
                tools[name]["explained"] = len((explained(folder) & lines["waits"]) - found)
    return {
        "date": datetime.date.today().isoformat(),
        "python": sys.version.split()[0],
        "programs": len(list(PROGRAMS.glob("*.py"))),
        "lines": {name: len(found) for name, found in lines.items()},
        "tools": tools,
        "guards": [
            json.loads(said([str(python), str(PEERS / "guards.py"), which], ROOT)[0])
            for python, which in ((peers / "bin" / "python", "jax"), (sys.executable, "torch"))
        ],
        "profiler": json.loads(said([sys.executable, str(PEERS / "profiled.py"), str(PROGRAMS / "train.py")], ROOT)[0]),
    }


def tables(result: dict[str, Any]) -> list[str]:
    """What docs/comparison.md quotes: a table of the linters, and one of the guards."""
    lines = result["lines"]
    first = [
        f"| | of {lines['waits']} lines that wait often | of {lines['uploads']} that upload often | "
        "lines that cross seldom | lines where nothing crosses | processor time |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, row in result["tools"].items():
        counts = " | ".join(str(row[kind]) for kind in ("waits", "uploads", "seldom", "nothing"))
        first.append(f"| {name} {row['version']} | {counts} | {row['cpu_s']} s |")
    guards = {name: told for one in result["guards"] for name, told in one["guards"].items()}
    head = ["| | " + " | ".join(f"`{name}`" for name in guards) + " |", "| --- |" + " --- |" * len(guards)]
    names = next(iter(guards.values()))
    rows = [f"| `{name}` | " + " | ".join(told[name] for told in guards.values()) + " |" for name in names]
    return ["\n".join(first), "\n".join([*head, *rows])]


def main() -> None:
    """Measure, write, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, metavar="DIR", help="an environment with the other tools")
    result = measure(parser.parse_args().peers.resolve())
    result["profiler"]["frames"] = [frame.rpartition("/")[2] for frame in result["profiler"]["frames"]]
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print("\n\n".join(tables(result)))


if __name__ == "__main__":
    main()
