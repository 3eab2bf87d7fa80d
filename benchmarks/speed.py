"""Processor time and memory of transferlint beside other tools over the same files, in one run:
`python -m benchmarks.speed TREE... --peers DIR`, where DIR/bin has those that are to be measured
(`python -m venv DIR; DIR/bin/pip install torchfix flake8 ruff fixit pylint semgrep`). What is missing is named.
`--compiled PYTHON` is an interpreter that has the compiled wheel (`make wheel` leaves one in `build/empty-compiled`).

The Python files of the trees are copied into a folder without anybody's settings, but for tests, which transferlint
does not read. The tools take turns, round after
round, each with one process where it can be told so; what is given is the median of the rounds. Processor time is user
and system time with that of child processes, as the kernel counts it (wait4), so that other work on the machine matters
little; memory is the largest resident set of any one process. No wall time is measured.

Writes speed.json and speed.md to `benchmarks/results/` (`--output DIR`).
"""

from __future__ import annotations

import argparse
import compileall
import dataclasses
import datetime
import functools
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from transferlint.flow.callgraph.roles import is_test

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).with_name("peers")
RESULTS = Path(__file__).with_name("results")
OURS, AGAIN = "transferlint, cold", "transferlint, nothing changed"
YARDSTICK = "ast.parse"
SETTLED = 2.5  # seconds after which a change of a file shows in its times (transferlint/cache/signatures.py)
# Fixit looks no further up for settings, and transferlint sees one project.
SETTINGS = "[tool.fixit]\nroot = true\n"
PARSING = "import sys, {module}\nfor path in open(sys.argv[1]).read().splitlines():\n"
PARSING += "    data = open(path, 'rb').read()\n    try:\n        {module}.{parse}(data)\n"
PARSING += "    except Exception:\n        pass\n"
# flake8 runs every plugin that is installed, whatever is selected: without this one it is flake8 alone.
PLAIN_FLAKE8 = """
from importlib import metadata
find = metadata.distributions
metadata.distributions = lambda **o: (d for d in find(**o) if (d.metadata["Name"] or "").lower() != "torchfix")
from flake8.main.cli import main
raise SystemExit(main())
"""


@dataclasses.dataclass(frozen=True)
class Tool:
    """A way to run a tool: `command` in the folder of the copied files; `needs` is the program without which it is
    missing, `package` has its version; `before` is called before each round; exit codes up to `most` are no failure."""

    name: str
    command: tuple[str, ...]
    package: str
    needs: str = ""
    before: Callable[[], None] = lambda: None
    most: int = 1


@dataclasses.dataclass(frozen=True)
class Ran:
    """One run: processor time in seconds, memory in MB, and why it counts for nothing ("" where it does)."""

    cpu: float
    memory: float
    fault: str = ""


def tools(peers: Path | None, folder: Path, files: Path, kept: Path, compiled: Path | None) -> Iterator[Tool]:
    """All tools, the yardsticks first. `files` lists the files, `kept` is the folder of transferlint's cache,
    `compiled` an interpreter with the compiled wheel."""
    python = sys.executable
    for module, parse in (("ast", "parse"), ("libcst", "parse_module")):
        script = PARSING.format(module=module, parse=parse)
        yield Tool(f"{module}.{parse}", (python, "-c", script, str(files)), module)
    check = (python, "-m", "transferlint", "check", "-j", "1", "-f", "concise", "--output-file", os.devnull)
    yield Tool(OURS, (*check, "--no-cache", "."), "transferlint")
    second, largest = sorted(folder.rglob("*.py"), key=lambda path: path.stat().st_size)[-2:]
    # Only what goes to standard output is kept, said again, and gone on from.
    again = (python, "-m", "transferlint", "check", "-j", "1", "-f", "concise", ".")
    yield Tool("transferlint, one file changed", again, "transferlint", before=lambda: changed(largest))
    named = (*again[:-1], str(second.relative_to(folder)))
    yield Tool("transferlint, one file named", named, "transferlint", before=lambda: changed(second))
    yield Tool(AGAIN, again, "transferlint", before=functools.partial(warmed, again, folder, kept))
    if compiled is not None:
        cold = (str(compiled), "-I", *check[1:], "--no-cache", ".")  # -I: without PYTHONPATH, where Python's own is
        warm = (str(compiled), "-I", *again[1:])
        yield Tool("transferlint compiled, cold", cold, "transferlint")
        before = functools.partial(warmed, warm, folder, kept)
        yield Tool("transferlint compiled, nothing changed", warm, "transferlint", before=before)
        yield Tool("transferlint compiled, one file changed", warm, "transferlint", before=lambda: changed(largest))
        named = (*warm[:-1], str(second.relative_to(folder)))
        yield Tool("transferlint compiled, one file named", named, "transferlint", before=lambda: changed(second))
    at = peers / "bin" if peers else Path("missing")
    own = str(at / "python")
    ruff = ("check", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "concise", "--quiet")
    yield Tool("ruff, all rules", (str(at / "ruff"), *ruff, "."), "ruff", "ruff")
    semgrep = ("scan", "--config", str(PEERS / "semgrep.yml"), "--metrics", "off", "--disable-version-check")
    semgrep += ("--no-git-ignore", "--jobs", "1", "--quiet")
    yield Tool("semgrep, one rule", (str(at / "semgrep"), *semgrep, "."), "semgrep", "semgrep")
    flake8 = ("--isolated", "--jobs", "1", "--exit-zero")
    yield Tool("flake8", (own, "-c", PLAIN_FLAKE8, *flake8, "."), "flake8", "flake8")
    pylint = ("--disable=all", "--enable=unused-import", "--jobs", "1", "--recursive=y")
    yield Tool("pylint, one check", (own, "-m", "pylint", *pylint, "."), "pylint", "pylint", most=31)
    fixit = ("--quiet", "--rules", "fixit.rules:NoRedundantFString", "lint")
    yield Tool("Fixit, one rule", (str(at / "fixit"), *fixit, "."), "fixit", "fixit")
    torchfix = (own, "-m", "flake8", *flake8, "--select", "TOR", ".")
    yield Tool("TorchFix, its codes in flake8", torchfix, "torchfix", "torchfix")


def changed(path: Path) -> None:
    """Change a file so that nothing that others take from it changes; what was kept before is known to be old."""
    with path.open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    time.sleep(SETTLED)


def warmed(command: tuple[str, ...], folder: Path, kept: Path) -> None:
    """Have a run kept."""
    time.sleep(SETTLED)
    measured(command, folder, kept, 0)


def measured(command: tuple[str, ...], folder: Path, kept: Path, limit: int, most: int = 1) -> Ran:
    """Run a command; `limit` is the processor time that each of its processes may take, 0 for any."""
    environment = {**os.environ, "NO_COLOR": "1", "TRANSFERLINT_CACHE_DIR": str(kept), "PYTHONPATH": str(ROOT)}

    def bounded() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    with tempfile.TemporaryFile() as said:
        quiet = subprocess.DEVNULL
        made = subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=said, preexec_fn=bounded)  # noqa: PLW1509 - there are no threads here
        _, status, used = os.wait4(made.pid, 0)
        made.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode("utf-8", "replace").strip().splitlines()
    fault = ""
    if code in (-signal.SIGXCPU, -signal.SIGKILL) and limit:
        fault = f"stopped after {limit} s"
    elif not 0 <= code <= most:
        fault = f"failed with exit code {code}: {words[-1][:200] if words else 'without a word'}"
    return Ran(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, fault)


def copied(trees: list[Path], folder: Path) -> dict[str, int]:
    """Copy the Python files of the trees but for tests; the lines of each tree, by its name."""
    lines: dict[str, int] = {}
    for tree in trees:
        name = tree.resolve().name
        for path in sorted(tree.rglob("*.py")):
            if not path.is_file() or is_test(str(path.relative_to(tree)), None):
                continue
            to = folder / name / path.relative_to(tree)
            to.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            to.write_bytes(data)
            lines[name] = lines.get(name, 0) + data.count(b"\n")
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    return lines


def version(tool: Tool, peers: Path | None) -> str:
    """The version of a tool's package, where it is installed."""
    if tool.package == "ast":
        return platform.python_version()
    python = str(peers / "bin" / "python") if tool.needs and peers else sys.executable
    script = "import sys; from importlib import metadata; print(metadata.version(sys.argv[1]))"
    made = subprocess.run([python, "-c", script, tool.package], capture_output=True, text=True, check=False)
    return made.stdout.strip()


def measure(
    trees: list[Path],
    peers: Path | None,
    rounds: int,
    limit: int,
    once: int,
    write: Callable[[dict[str, Any]], None],
    compiled: Path | None = None,
) -> None:
    """Everything, and `write` what is known after each run. A tool whose first run takes longer than `once` seconds of
    processor time is not run again."""
    for package in ("transferlint", "rules"):  # as an installer leaves them
        compileall.compile_dir(ROOT / package, quiet=2)
    with tempfile.TemporaryDirectory() as home:
        folder, kept, files = Path(home) / "tree", Path(home) / "kept", Path(home) / "files"
        folder.mkdir()
        lines = copied(trees, folder)
        files.write_text("".join(f"{path}\n" for path in folder.rglob("*.py")), encoding="utf-8")
        every = list(tools(peers, folder, files, kept, compiled))
        found = [tool for tool in every if not tool.needs or (peers and (peers / "bin" / tool.needs).exists())]
        result: dict[str, Any] = {
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores",
            "python": platform.python_version(),
            "load": {"start": [round(one, 1) for one in os.getloadavg()]},
            "lines": lines,
            "missing": [tool.name for tool in every if tool not in found],
            "tools": {tool.name: {"version": version(tool, peers), "runs": []} for tool in found},
        }
        again = next(tool for tool in found if tool.name == AGAIN)
        measured(again.command, folder, kept, 0)  # which fills the cache
        for number in range(rounds):
            for tool in found:
                runs = result["tools"][tool.name]["runs"]
                if number and (runs[0]["fault"] or runs[0]["cpu"] > once):
                    continue
                tool.before()
                ran = measured(tool.command, folder, kept, limit, tool.most)
                runs.append(dataclasses.asdict(ran))
                result["load"]["end"] = [round(one, 1) for one in os.getloadavg()]
                write(result)
                said = f"{number + 1}/{rounds} {tool.name}: {ran.cpu:.2f} s {ran.memory:.0f} MB {ran.fault}"
                print(said, file=sys.stderr)


def median(result: dict[str, Any], name: str, what: str = "cpu") -> float:
    """The median of a tool's runs, 0 where none counts."""
    values = [ran[what] for ran in result["tools"].get(name, {"runs": []})["runs"] if not ran["fault"]]
    return statistics.median(values) if values else 0.0


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    lines = sum(result["lines"].values())
    trees = ", ".join(f"{name.replace('+', '/')} ({count:,})" for name, count in result["lines"].items())
    load = " ".join(map(str, result["load"]["start"])), " ".join(map(str, result["load"]["end"]))
    ours, yardstick = median(result, OURS), median(result, YARDSTICK)
    rows = [
        "<!-- Written by benchmarks/speed.py. -->",
        "# Speed beside other tools\n",
        f"{lines:,} lines of Python, without tests, which transferlint does not read: {trees}. {result['date']}, "
        f"{result['machine']}, Python {result['python']}; load average {load[0]} at the start, {load[1]} at the end.\n",
        "Processor time in seconds, child processes included, one process each where a tool can be told so: the median "
        "of the rounds, with the least and the most. Memory is the largest resident set of one process. Compare "
        "ratios: the seconds are those of a machine that did other work too.\n",
        "| | version | CPU s | from, to | rounds | to transferlint, cold | to `ast.parse` | peak MB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in sorted(result["tools"], key=lambda name: median(result, name)):
        one = result["tools"][name]
        if not one["runs"]:
            rows.append(f"| {name} | {one['version']} | not run | | | | | |")
            continue
        faults = [ran for ran in one["runs"] if ran["fault"]]
        if faults:
            ended = f"more than {faults[0]['cpu']:.0f}" if "stopped" in faults[0]["fault"] else "failed"
            rows.append(f"| {name} | {one['version']} | {ended} | | | | | {faults[0]['memory']:.0f} |")
            continue
        cpu, used = median(result, name), [ran["cpu"] for ran in one["runs"]]
        ratios = " | ".join(f"{cpu / base:.2f}" if base else "" for base in (ours, yardstick))
        spread = f"{min(used):.2f}, {max(used):.2f} | {len(used)}"
        memory = f"{median(result, name, 'memory'):.0f}"
        rows.append(f"| {name} | {one['version']} | {cpu:.2f} | {spread} | {ratios} | {memory} |")
    if result["missing"]:
        rows.append(f"\nNot measured, as they were not installed: {', '.join(result['missing'])}.")
    for name, one in result["tools"].items():
        rows += [f"\n{name}: {ran['fault']}." for ran in one["runs"] if ran["fault"]]
    return "\n".join(rows) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE", help="a folder with Python files")
    parser.add_argument("--peers", type=Path, metavar="DIR", help="an environment with the other tools")
    parser.add_argument("--compiled", type=Path, metavar="PYTHON", help="an interpreter that has the compiled wheel")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument(
        "--limit", type=int, default=600, metavar="S", help="processor time of a process (default: 600)"
    )
    parser.add_argument("--once", type=int, default=60, metavar="S", help="what takes longer runs once (default: 60)")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR", help="where the results are written")
    given = parser.parse_args(arguments)
    for tree in given.trees:
        if not any(tree.rglob("*.py")):
            parser.error(f"{tree}: no Python files")
    given.output.mkdir(parents=True, exist_ok=True)  # now, and not when all is measured

    def write(result: dict[str, Any]) -> None:
        (given.output / "speed.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (given.output / "speed.md").write_text(table(result), encoding="utf-8")

    peers = given.peers and given.peers.absolute()
    compiled = given.compiled and given.compiled.absolute()
    measure(given.trees, peers, given.rounds, given.limit, given.once, write, compiled)


if __name__ == "__main__":
    main()
