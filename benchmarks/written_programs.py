"""Programs that were written for this by writers who had not seen the tool: how many of their mistakes does it find?

    python benchmarks/written_programs.py [--command COMMAND] [--set NAME ...] [--missed] [--markdown FILE]

Each of the programs in `data/written_programs.jsonl` imitates a public project in the state before a commit in which a
maintainer removed a transfer or a wait. Its writer marked the lines of the mistake (`# HIT: kind`) and lines that look
alike and are fine (`# QUIET: why`). A marked line counts as found where a finding stands on it or speaks for it, or
where `explain` says that one tells of it. Sets a to d were written first, and the analysis was mended by what they
showed; e, f and g after that, each to see what the mends are worth on programs that nobody had looked at.

A program that nobody runs is no proof: a maintainer may see a line otherwise than its writer did. What real programs
do is measured by benchmarks/truth, and what maintainers changed by the corpus.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "written_programs.jsonl"
_HIT = re.compile(r"# HIT: *(\w+)")
_QUIET = re.compile(r"# QUIET\b")
_TOLD = re.compile(r"^ *verdict .*(explained by|merged into)", re.MULTILINE)

Line = tuple[str, int]  # a file, and a line in it


@dataclasses.dataclass
class Measured:
    """What was found of one set of programs."""

    programs: int = 0
    marked: Counter[str] = dataclasses.field(default_factory=Counter)
    found: Counter[str] = dataclasses.field(default_factory=Counter)
    quiet: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)
    missed: list[str] = dataclasses.field(default_factory=list)
    unmarked: int = 0

    @property
    def row(self) -> str:
        """One line of the table."""
        found, marked = sum(self.found.values()), sum(self.marked.values())
        told = found + len(self.wrong) + self.unmarked
        return (
            f"{self.programs} | {marked} | {found / marked:.0%} | {self.quiet} | {len(self.wrong)} | {self.unmarked}"
            f" | {found / told:.0%}"
        )


def main() -> None:
    """Measure, print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=f"{sys.executable} -m transferlint", help="how the tool is called")
    parser.add_argument("--set", action="append", dest="sets", metavar="NAME", help="measure these sets alone")
    parser.add_argument("--missed", action="store_true", help="print what was missed, and what was told wrongly")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to a file")
    given = parser.parse_args()
    sets: dict[str, dict[str, dict[str, str]]] = {}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        sets.setdefault(row["set"], {}).setdefault(row["program"], {})[row["path"]] = row["text"]
    measured = {
        name: measure(name, programs, shlex.split(given.command))
        for name, programs in sorted(sets.items())
        if given.sets is None or name in given.sets
    }
    text = "\n".join(_tables(measured))
    print(text)
    if given.missed:
        for one in measured.values():
            print(*(f"missed {line}" for line in one.missed), *(f"wrong {line}" for line in one.wrong), sep="\n")
    if given.markdown is not None:
        known = given.markdown.read_text(encoding="utf-8") if given.markdown.exists() else ""
        head = known.partition("| set | programs |")[0]  # what is said of the tables stays
        given.markdown.write_text(f"{head}{text}\n", encoding="utf-8")


def measure(name: str, programs: dict[str, dict[str, str]], command: list[str]) -> Measured:
    """Check each program of a set in a folder of its own, and hold what is told against the marks."""
    found = Measured(len(programs))
    for program, files in sorted(programs.items()):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(text, encoding="utf-8")
            told = dict(_told(folder, command))
            for (path, number), text in _lines(files):
                where = f"{name}/{program}/{path}:{number}"
                if hit := _HIT.search(text):
                    found.marked[hit[1]] += 1
                    if (path, number) in told or _explained(folder, f"{path}:{number}", command):
                        found.found[hit[1]] += 1
                    else:
                        found.missed.append(f"{where} {hit[1]}")
                elif _QUIET.search(text):
                    found.quiet += 1
                    if (path, number) in told:
                        found.wrong.append(f"{where} {told[path, number]}")
                elif (path, number) in told:
                    found.unmarked += 1
    return found


def _lines(files: dict[str, str]) -> Iterator[tuple[Line, str]]:
    for path, text in sorted(files.items()):
        yield from (((path, number), line) for number, line in enumerate(text.splitlines(), 1))


def _told(folder: str, command: list[str]) -> Iterator[tuple[Line, str]]:
    """The lines on which a finding stands, or for which one speaks, each with its code."""
    made = subprocess.run(
        [*command, "check", "--no-cache", "--jobs", "1", "--output-format", "json", "."],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    findings: list[dict[str, Any]] = json.loads(made.stdout)["findings"]
    for one in findings:
        yield from (((one["path"], line), one["code"]) for line in range(one["line"], one["end_line"] + 1))
        yield from (
            ((at["path"], at["line"]), at.get("code", one["code"]))
            for at in one["evidence"]
            if at["part"] in ("same", "beside")
        )


def _explained(folder: str, place: str, command: list[str]) -> bool:
    """Whether another finding tells of a line, as the two are one mistake."""
    made = subprocess.run([*command, "explain", place], cwd=folder, capture_output=True, text=True, check=False)
    return _TOLD.search(made.stdout) is not None


def _tables(measured: dict[str, Measured]) -> Iterator[str]:
    yield "| set | programs | mistakes | found | fine lines | of these told | told, unmarked | of all told, mistakes |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from (f"| {name} | {one.row} |" for name, one in measured.items())
    marked: Counter[str] = sum((one.marked for one in measured.values()), Counter())
    found: Counter[str] = sum((one.found for one in measured.values()), Counter())
    yield from ("", "| mistake | lines | found |", "| --- | --- | --- |")
    yield from (f"| {kind} | {count} | {found[kind]} |" for kind, count in sorted(marked.items()))


if __name__ == "__main__":
    main()
