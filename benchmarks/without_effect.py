"""Which functions of the analysis and of the rules never had an effect on some projects?

    python benchmarks/without_effect.py PROJECT... [--most N] [--least-calls N]

Each PROJECT is a folder of Python files, checked as `transferlint check --isolated` would, fixes included, under
`sys.setprofile`. A function that gives something is listed where it was called and gave something true (not None,
False, 0 or empty) at most N times in all of them (0 unless told), with its calls and its lines; those that were never
called come last, by file. It is a list of candidates, no verdict: what guards a fix against changing what a program
computes is right to be silent, what is for other frameworks, settings or explanations needs other projects, and
mistakes that somebody notices at once are gone from the newest commit of a project: hold what is taken out against
`fixes_in_history.py`, which checks the commits before.

Ten times as slow as a check. In millions of lines the special cases that were written for one file show here: a rule
of thumb is worth its lines where it has a measured rate (docs/CONTRIBUTING.md).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import threading
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import transferlint
from transferlint import registry

Place = tuple[str, int]  # file and first line, as code objects have them


class Counted:
    """How often each function below some folders was called, and how often it gave something true."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self.calls: Counter[Place] = Counter()
        self.effects: Counter[Place] = Counter()
        self._below = tuple(f"{root}{os.sep}" for root in roots)
        self._counts: dict[CodeType, bool] = {}

    def __call__(self, frame: FrameType, event: str, given: Any) -> None:
        """What `sys.setprofile` calls."""
        if event != "return":
            return
        code = frame.f_code
        counts = self._counts.get(code)
        if counts is None:
            counts = self._counts[code] = code.co_filename.startswith(self._below)
        if counts:
            place = code.co_filename, code.co_firstlineno
            self.calls[place] += 1
            with contextlib.suppress(Exception):  # a value whose truth cannot be asked is no plain answer
                self.effects[place] += bool(given)


def roots() -> tuple[Path, ...]:
    """The folders whose functions are counted: the analysis, and those that hold rules."""
    packs = {Path(rule.detect.__code__.co_filename).parent for rule in registry.load().rules}
    return Path(transferlint.__file__).parent / "flow", *sorted(packs)


def main() -> None:
    """Check, count, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path, metavar="PROJECT")
    parser.add_argument("--most", type=int, default=0, metavar="N", help="effects that count as none")
    parser.add_argument("--least-calls", type=int, default=1, metavar="N", help="calls below which nothing is said")
    given = parser.parse_args()
    counted = Counted(roots())
    for project in given.projects:
        _check(project, counted)
    print("\n".join(table(counted, given.most, given.least_calls)))


def _check(project: Path, counted: Counted) -> None:
    from transferlint.cli import main as command

    before, said = os.getcwd(), io.StringIO()
    os.chdir(project)
    threading.setprofile(counted)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
            command(["check", ".", "--isolated", "--no-cache", "-j", "1", "--output-format", "json"])
    finally:
        threading.setprofile(None)
        os.chdir(before)


def table(counted: Counted, most: int = 0, least: int = 1) -> list[str]:
    """The lines of the two lists."""
    silent, idle = [], defaultdict(list)
    for root in roots():
        for path in sorted(root.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.FunctionDef) or (node.returns and ast.unparse(node.returns) == "None"):
                    continue
                place = str(path), min([node.lineno, *(one.lineno for one in node.decorator_list)])
                lines = (node.end_lineno or node.lineno) - place[1] + 1
                where = f"{root.name}/{path.relative_to(root)}"
                if place not in counted.calls:
                    idle[where].append(f"{node.name} ({lines})")
                elif counted.effects[place] <= most and counted.calls[place] >= least:
                    silent.append(f"| {where}:{place[1]} {node.name} | {counted.calls[place]} | {lines} |")
    return ["| function | calls | lines |", "| --- | ---: | ---: |", *silent, "", "Never called:"] + [
        f"{where}: {', '.join(names)}" for where, names in idle.items()
    ]


if __name__ == "__main__":
    main()
