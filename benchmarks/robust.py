"""How whole projects are borne: `python benchmarks/robust.py [--limit SECONDS] TREE...`.

A TREE is a folder, or a bare git repository, of which the Python files and settings of HEAD are taken. Each is checked
whole, in one process, without a cache, within a limit of processor time; then a copy is fixed with `--fix`, and again
with `--fix --unsafe-fixes`. Told are processor time for each 1,000 lines, the most memory, internal errors, files that
compiled before a fix and do not after it or lost a comment, files that a second run changes, and how many more
undefined names (F821), unused variables (F841) and unused imports (F401) ruff finds than before.

Rows are kept in a file as they are measured, so that trees can be measured in several goes; the table holds them all.
Exit code 1 where a tree did not end, or something broke.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fixes_at_scale

RESULTS = Path(__file__).with_name("results")
TAKEN = (".py", ".toml", ".cfg")
STEPS = {"safe": ("--fix",), "unsafe": ("--fix", "--unsafe-fixes")}
CODES = ("F821", "F841", "F401")
HEAD = (
    *(
        "project",
        "commit",
        "files",
        "kLOC",
        "CPU s",
        "s/kLOC",
        "MB",
        "findings",
        "errors",
        "fixed by `--fix`",
        "broken",
    ),
    *("by `--unsafe-fixes` too", "broken", "changed again", "more F821 / F841 / F401"),
)


@dataclasses.dataclass(frozen=True)
class Ran:
    """What one run took (seconds of the processor, megabytes) and said; `failed` says in a line why it did not end as
    it should, "" where it did."""

    seconds: float
    megabytes: float
    report: Mapping[str, Any]
    failed: str


def run(tree: Path, limit: int, *options: str) -> Ran:
    """Check a tree in one process within `limit` seconds of the processor."""
    command = [sys.executable, "-m", "transferlint", "check", ".", "--isolated", "--no-cache", "--exit-zero", "-j", "1"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            ["sh", "-c", f'ulimit -t {limit}; exec "$@"', "--", *command, "-f", "json", *options],
            cwd=tree,
            stdout=out,
            stderr=err,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # waited for already
        out.seek(0)
        err.seek(0)
        said = err.read().decode(errors="replace").strip()
        seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Ran(seconds, megabytes, {}, f"did not end within {limit} s of the processor")
        try:
            return Ran(seconds, megabytes, json.loads(out.read()), "")
        except ValueError:
            last = said.splitlines()[-1] if said else "nothing was said"
            return Ran(seconds, megabytes, {}, f"exit code {process.returncode}: {last}"[:200])


def ruff(tree: Path) -> dict[str, int]:
    """How many names ruff takes for undefined or unused."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        ".",
        "--isolated",
        "--no-cache",
        "--no-respect-gitignore",
        "--exit-zero",
    ]
    asked = [*command, "--select", ",".join(CODES), "--output-format", "json"]
    made = subprocess.run(asked, cwd=tree, capture_output=True, text=True, check=True)
    counts = collections.Counter(one["code"] for one in json.loads(made.stdout))
    return {code: counts[code] for code in CODES}


def errors(report: Mapping[str, Any]) -> list[str]:
    """The internal errors of a run."""
    return [one["message"] for one in report.get("errors", ()) if "internal error" in one["message"]]


def measure(name: str, commit: str, tree: Path, limit: int) -> dict[str, Any]:
    """The row of a tree, which is fixed in place."""
    original = fixes_at_scale.states(tree)
    lines = sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py") if path.is_file())
    row: dict[str, Any] = {"name": name, "commit": commit, "files": len(original), "lines": lines}
    checked = run(tree, limit)
    row |= {"seconds": checked.seconds, "megabytes": checked.megabytes, "failed": checked.failed}
    if checked.failed:
        return row
    row |= {
        "findings": len(checked.report["findings"]),
        "errors": errors(checked.report),
        "ruff": [ruff(tree)],
        "steps": {},
    }
    for step, options in STEPS.items():
        before = fixes_at_scale.states(tree)
        fixed = run(tree, 2 * limit, *options)
        after = fixes_at_scale.states(tree)
        again = run(tree, 2 * limit, *options)
        row["failed"] = row["failed"] or fixed.failed or again.failed
        row["ruff"].append(ruff(tree))
        row["errors"] += errors(fixed.report)
        row["steps"][step] = {
            "fixed": sum(fixed.report.get("summary", {}).get("fixed_by_code", {}).values()),
            "files": len(fixes_at_scale.changed(before, after)),
            "broken": fixes_at_scale.broken(original, after),
            "again": fixes_at_scale.changed(after, fixes_at_scale.states(tree)),
        }
    return row


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    thousands = row["lines"] / 1000
    start = [row["name"], row["commit"][:9], f"{row['files']:,}", f"{thousands:.1f}", f"{row['seconds']:.1f}"]
    start += [f"{row['seconds'] / max(thousands, 0.001):.2f}", f"{row['megabytes']:.0f}"]
    if "steps" not in row:
        return [*start, row["failed"], *[""] * (len(HEAD) - len(start) - 1)]
    steps = [
        cell for one in row["steps"].values() for cell in (f"{one['fixed']} in {one['files']}", str(len(one["broken"])))
    ]
    more = " / ".join(f"{row['ruff'][-1][code] - row['ruff'][0][code]:+d}" for code in CODES)
    again = sum(len(one["again"]) for one in row["steps"].values())
    return [*start, str(row["findings"]), str(len(row["errors"])), *steps, str(again), more]


def table(rows: list[Mapping[str, Any]]) -> str:
    """All rows, their sums, and everything that broke."""
    rows = sorted(rows, key=lambda row: str(row["name"]).lower())
    lines = [
        "# What whole projects do to transferlint, and it to them",
        "",
        *(__doc__ or "").strip().splitlines()[2:8],
        "",
    ]
    lines += [f"| {' | '.join(HEAD)} |", "| --- " * len(HEAD) + "|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    total, seconds = sum(row["lines"] for row in rows), sum(row["seconds"] for row in rows)
    ended = [row for row in rows if not row["failed"]]
    broken = {step: sum(len(row["steps"][step]["broken"]) for row in rows if "steps" in row) for step in STEPS}
    slow = [row["name"] for row in rows if row["lines"] >= 20_000 and row["seconds"] > 0.2 * row["lines"] / 1000]
    lines += [
        "",
        f"{len(ended)} of {len(rows)} projects end, {total / 1000:,.0f} kLOC in {seconds:,.0f} s of the processor; "
        f"{broken['safe']} files broken by safe fixes, {broken['unsafe']} by both; above 0.2 s/kLOC, of those over "
        f"20 kLOC: {', '.join(slow) or 'none'}.",
    ]
    found = [f"- {row['name']}: {line}" for row in rows for line in faults(row)]
    return "\n".join([*lines, *(["", "## What went wrong", "", *found] if found else []), ""])


def faults(row: Mapping[str, Any]) -> list[str]:
    """What went wrong with a tree, in a line each."""
    found = [row["failed"]] if row["failed"] else []
    found += row.get("errors", ())
    for step, one in row.get("steps", {}).items():
        found += [f"{' '.join(STEPS[step])}: {line}" for line in one["broken"]]
        found += [f"{' '.join(STEPS[step])}: a second run changes {path}" for path in one["again"]]
    counts = row.get("ruff", ())
    found += [
        f"{' '.join(options)}: {after[code] - before[code]} more {code}"
        for options, before, after in zip(STEPS.values(), counts, counts[1:], strict=False)
        for code in CODES
        if after[code] > before[code]
    ]
    return found


def laid_out(tree: Path, folder: Path) -> tuple[str, Path]:
    """The commit of a tree ("" for none known), and a copy of it that may be changed."""
    copy = folder / "tree"
    bare = tree / "HEAD"
    if bare.is_file() and not (tree / ".git").exists():
        commit = subprocess.run(
            ["git", "-C", tree, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        ).stdout
        _extracted(tree, copy)
        return commit.strip(), copy
    shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return "", copy


def _extracted(bare: Path, folder: Path) -> None:
    """Write the files of HEAD that are wanted; `git archive` ends where any blob is missing, wanted or not."""
    git = ["git", "-C", str(bare)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "--name-only", "HEAD"], capture_output=True, check=True
    ).stdout
    names = [name for name in listed.decode().split("\0") if name.endswith(TAKEN) and "\n" not in name]
    asked = "".join(f"HEAD:{name}\n" for name in names).encode()
    blobs = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
    at = 0
    for name in names:
        end = blobs.index(b"\n", at)
        head, at = blobs[at:end].split(), end + 1
        if head[-1] == b"missing":
            continue
        size = int(head[-1])
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blobs[at : at + size])
        at += size + 1


def main() -> int:
    """Measure the trees that are named on the command line, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE")
    parser.add_argument("--limit", type=int, default=300, help="seconds of the processor for one check")
    parser.add_argument("--rows", type=Path, default=RESULTS / "robust.jsonl", help="where rows are kept")
    parser.add_argument("--markdown", type=Path, default=RESULTS / "robust.md", help="where the table is written")
    options = parser.parse_args()
    rows: dict[str, Mapping[str, Any]] = {}
    if options.rows.exists():
        rows = {row["name"]: row for row in map(json.loads, options.rows.read_text(encoding="utf-8").splitlines())}
    for tree in options.trees:
        name = Path(os.path.abspath(tree)).name.removesuffix(".git").replace("+", "/")
        with tempfile.TemporaryDirectory() as folder:
            commit, copy = laid_out(tree.resolve(), Path(folder))
            rows[name] = measure(name, commit, copy, options.limit)
        print(" | ".join(cells(rows[name])), *faults(rows[name]), sep="\n  ", flush=True)
        options.rows.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
    options.markdown.write_text(table(list(rows.values())), encoding="utf-8")
    return int(any(faults(row) for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
