"""Mistakes that maintainers of public projects removed: how many of them does the tool find in the commit before?

    python benchmarks/fixes_in_history.py --git FOLDER [--half read|unread] [--missed] [--command COMMAND]
                                          [--markdown FILE]

Each row of `data/fixes_in_history.jsonl` and `data/fixes_in_history_unread.jsonl.gz` names a commit that took a
transfer or a wait out of code that runs repeatedly: at `parent`, `path` holds it on `before_lines`. The commits were
found in the histories of 230 projects by what their changes look like, and judged by readers who had not seen the tool.
What is missed of the first file is read, and the analysis mended by its principles; of the second, of other projects,
nobody reads what is missed, so that its rate says what the mends are worth elsewhere: it is packed, and its misses are
not printed.

FOLDER holds a clone of each project, bare or not, as `OWNER+NAME` or `OWNER+NAME/repo`; rows whose project is not there
are counted and left out. Of a commit, the Python files and the `pyproject.toml` at its top are written out, and
the command is called on the one file from there. A row is found where a finding stands on a line of it, or names one
of the same file; of those whose mistake is wholly gone after the change, `fixed` counts where the new lines are silent.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import gzip
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
HALVES = {"read": DATA / "fixes_in_history.jsonl", "unread": DATA / "fixes_in_history_unread.jsonl.gz"}
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

Row = dict[str, Any]


@dataclasses.dataclass
class Measured:
    """What was found of the rows of one half."""

    rows: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    found: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    gone: int = 0
    silent: int = 0
    absent: int = 0
    findings: int = 0
    lines: int = 0
    missed: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: Measured) -> None:
        """Add what was found of other rows."""
        self.rows += other.rows
        self.found += other.found
        self.gone, self.silent = self.gone + other.gone, self.silent + other.silent
        self.absent, self.findings = self.absent + other.absent, self.findings + other.findings
        self.lines += other.lines
        self.missed += other.missed

    @property
    def line(self) -> str:
        """One line of the table."""
        rows, found = self.rows.total(), self.found.total()
        return (
            f"{rows} | {found / max(rows, 1):.1%} | {self.silent} of {self.gone}"
            f" | {1000 * self.findings / max(self.lines, 1):.2f}"
        )


def main() -> None:
    """Measure, print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", type=Path, required=True, metavar="FOLDER", help="where the projects are")
    parser.add_argument("--half", choices=sorted(HALVES), help="measure one of the two alone")
    parser.add_argument("--command", default=f"{sys.executable} -m transferlint check --output-format json --no-cache")
    parser.add_argument("--missed", action="store_true", help="print what was missed of what may be read")
    parser.add_argument("--jobs", type=int, default=2, help="commits that are checked at a time")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to a file")
    given = parser.parse_args()
    halves = [given.half] if given.half else sorted(HALVES)
    command = shlex.split(given.command)
    measured = {half: measure(list(rows(HALVES[half])), given.git, command, given.jobs) for half in halves}
    text = "\n".join(_tables(measured))
    print(text)
    if given.missed and "read" in measured:
        print(*(f"missed {line}" for line in measured["read"].missed), sep="\n")
    if given.markdown is not None:
        known = given.markdown.read_text(encoding="utf-8") if given.markdown.exists() else ""
        head = known.partition("| half | rows |")[0]  # what is said of the tables stays
        given.markdown.write_text(f"{head}{text}\n", encoding="utf-8")


def rows(path: Path) -> Iterator[Row]:
    """The rows of one half."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def measure(given: Sequence[Row], projects: Path, command: list[str], jobs: int = 1) -> Measured:
    """Check the file of each row before its change, and after it where the mistake is gone."""
    by_commit: dict[tuple[str, str], list[Row]] = {}
    for row in given:
        by_commit.setdefault((row["repo"], row["parent"]), []).append(row)
    made = Measured()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for one in pool.map(lambda group: _of_commit(group, projects, command), by_commit.values()):
            made.add(one)
    return made


def _of_commit(group: list[Row], projects: Path, command: list[str]) -> Measured:
    """What is found of the rows of one commit."""
    made, name, parent = Measured(), group[0]["repo"], group[0]["parent"]
    project = _project(projects, name)
    if project is None:
        made.absent = len(group)
        return made
    before = _checked(project, parent, {row["path"] for row in group}, command)
    made.findings = sum(len(found) for found, _ in before.values())
    made.lines = sum(lines for _, lines in before.values())
    for row in group:
        hits = [one for one in before[row["path"]][0] if _tells(one, row["path"], set(row["before_lines"]))]
        made.rows[row["kind"]] += 1
        made.found[row["kind"]] += bool(hits)
        if not hits:
            made.missed.append(f"{name}@{parent[:10]} {row['path']}:{row['before_lines']} {row['note']}")
        elif row["after_clean"]:
            made.gone += 1
            made.silent += not _still({one["code"] for one in hits}, row, project, command)
    return made


def _project(folder: Path, name: str) -> Path | None:
    at = folder / name.replace("/", "+", 1)
    return next((one for one in (at / "repo", at) if (one / "HEAD").is_file() or (one / ".git").exists()), None)


def _git(project: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(project), *arguments], capture_output=True, check=True).stdout


def _checked(
    project: Path, commit: str, paths: set[str], command: list[str]
) -> dict[str, tuple[list[dict[str, Any]], int]]:
    """What is found in some files of a commit, and how many lines each has."""
    with tempfile.TemporaryDirectory() as folder:
        listed = (
            _git(project, "ls-tree", "-r", "--name-only", "-z", commit).decode("utf-8", "surrogateescape").split("\0")
        )
        wanted = [path for path in listed if path.endswith(".py") or path == "pyproject.toml"]
        packed = subprocess.run(
            ["git", "-C", str(project), "archive", commit, "--", *wanted], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        found = {}
        for path in sorted(paths):
            said = subprocess.run([*command, path], cwd=folder, capture_output=True, check=False).stdout
            lines = (Path(folder) / path).read_bytes().count(b"\n")
            found[path] = json.loads(said)["findings"] if said.strip() else [], lines
        return found


def _tells(finding: dict[str, Any], path: str, lines: set[int]) -> bool:
    """Whether a finding stands on one of some lines of a file, or names one."""
    places = [finding, *(one for one in finding.get("evidence", ()) if one.get("path") == path)]
    return any(not lines.isdisjoint(range(one["line"], (one.get("end_line") or one["line"]) + 1)) for one in places)


def _still(codes: set[str], row: Row, project: Path, command: list[str]) -> bool:
    """Whether one of the rules tells of a line that the change wrote."""
    try:
        text = _git(project, "diff", "-U0", row["parent"], row["fix_commit"], "--", row["path"]).decode(
            "utf-8", "replace"
        )
        after, _ = _checked(project, row["fix_commit"], {row["path"]}, command)[row["path"]]
    except (subprocess.CalledProcessError, OSError):
        return False  # the change removed the file, or named it otherwise
    new = {int(one[1]) + at for one in _HUNK.finditer(text) for at in range(int(one[2] or 1))}
    return any(one["code"] in codes and one["line"] in new for one in after)


def _tables(measured: dict[str, Measured]) -> Iterator[str]:
    yield "| half | rows | found | silent after the change | findings for 1,000 lines |"
    yield "| --- | --- | --- | --- | --- |"
    yield from (f"| {half} | {one.line} |" for half, one in measured.items())
    absent = sum(one.absent for one in measured.values())
    if absent:
        yield from ("", f"{absent} rows are of projects that are not in the folder, and left out.")
    halves = list(measured)
    yield from ("", f"| mistake | {' | '.join(halves)} |", f"| --- |{' --- |' * len(halves)}")
    for kind in sorted({kind for one in measured.values() for kind in one.rows}):
        cells = (f"{measured[half].found[kind]} of {measured[half].rows[kind]}" for half in halves)
        yield f"| {kind} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
