"""Whether both front ends give the same: `python benchmarks/equal.py TREE...` (or `make equal TREE=...`).

Every `*.py` below the trees is read by Python's own parser and by LibCST's. What the analysis gets of either must be
the same, instruction by instruction and offset by offset, and so must be the lines that a suppression comment on each
line would cover. Then `check` runs over each tree with one front end and with the other (`--programs-only` leaves that
out): the findings must be the same. Printed: what differs, and how much was compared. Exit code 1 where something
differs.

What only one of the parsers reads cannot be compared, and is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transferlint import late
from transferlint.engine import workers
from transferlint.syntax import front_end
from transferlint.syntax.front_end import Parts
from transferlint.syntax.program import Const, Function
from transferlint.syntax.source import Source, SourceError, read

SHOWN = 20


@dataclasses.dataclass
class Tally:
    """How many files and lines were the same, and the differences, each a line with the file's name."""

    files: int = 0
    lines: int = 0
    only_ast: list[str] = dataclasses.field(default_factory=list)
    only_libcst: list[str] = dataclasses.field(default_factory=list)
    neither: int = 0
    different: list[str] = dataclasses.field(default_factory=list)


def differences(source: Source) -> list[str] | str:
    """What differs between the two front ends; where only one can read the source its name, where none can, ""."""
    made = {}
    for name, reader in ((front_end.AST, front_end.by_ast), (front_end.LIBCST, front_end.by_libcst)):
        with contextlib.suppress(SourceError):
            made[name] = reader(source)
    if len(made) < 2:
        return "".join(made)
    (by_ast, lines), (by_libcst, reference_lines) = made.values()
    found = list(_of_parts(by_libcst, by_ast))
    if lines().entries != reference_lines().entries:
        found.append(f"lines of statements: {_first(reference_lines().entries, lines().entries)}")
    return found


def _of_parts(reference: Parts, other: Parts) -> Iterator[str]:
    names = ("suppressions", "lines", "comments", "parentheses")
    for name, one, two in zip(names, reference[1:], other[1:], strict=True):
        if one != two:
            yield f"{name}: {_first(one, two)}"
    functions = reference[0].functions
    if len(functions) != len(other[0].functions):
        yield f"functions: {len(functions)}, {len(other[0].functions)}"
    for function, twin in zip(functions, other[0].functions, strict=False):
        yield from _of_functions(function, twin)


def _of_functions(function: Function, twin: Function) -> Iterator[str]:
    for name in (one for one in late.fields(Function) if not one.startswith("_")):
        one, two = getattr(function, name), getattr(twin, name)
        if one != two:
            both = isinstance(one, list) and isinstance(two, list)
            yield f"{function.qualname}, {name}: {_first(one, two) if both else f'{one}, {two}'}"
    for constant, its_twin in zip(function.code, twin.code, strict=False):
        both = isinstance(constant, Const) and isinstance(its_twin, Const)
        if both and type(constant.value) is not type(its_twin.value):  # 1, 1.0 and True are equal
            yield f"{function.qualname}, code: {constant}, {its_twin}"


def _first(one: Sequence[Any], two: Sequence[Any]) -> str:
    pairs = enumerate(zip(one, two, strict=False))
    where = next((f"[{i}] {a}, {b}" for i, (a, b) in pairs if a != b), "")
    return where or f"{len(one)}, {len(two)} of them"


def compared(paths: Iterator[Path]) -> Tally:
    """All files, one after the other."""
    tally = Tally()
    for path in paths:
        try:
            source = read(path)
        except SourceError:
            continue
        found = differences(source)
        if isinstance(found, list):
            tally.files += 1
            tally.lines += source.text.count("\n")
            tally.different += [f"{path}: {line}" for line in found]
        elif found:
            (tally.only_ast if found == front_end.AST else tally.only_libcst).append(str(path))
        else:
            tally.neither += 1
    return tally


def findings(tree: Path, name: str) -> list[Any]:
    """The findings of `check` with one front end."""
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "--no-respect-gitignore"]
    command += ["--select", "ALL", "--ignore", "TL001", "--front-end", name, "-f", "json", str(tree)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode not in (0, 1):
        print(f"{tree}: check --front-end {name} exits {made.returncode}: {made.stderr.strip()[:300]}")
    return list(json.loads(made.stdout)["findings"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--programs-only", action="store_true", help="do not run `check`")
    asked = parser.parse_args(arguments)
    failed = False
    for tree in asked.trees:
        files = iter([tree] if tree.is_file() else sorted(tree.rglob("*.py")))
        tally = workers.deep(lambda files=files: compared(files))
        for line in tally.different[:SHOWN]:
            print(line)
        print(
            f"{tree}: {tally.files} files, {tally.lines} lines, {len(tally.different)} differences; "
            f"{len(tally.only_ast)} only by ast, {len(tally.only_libcst)} only by LibCST, {tally.neither} by neither"
        )
        for path in (*tally.only_ast[:SHOWN], *tally.only_libcst[:SHOWN]):
            print(f"  {path}")
        failed |= bool(tally.different)
        if not asked.programs_only:
            one, two = (findings(tree, name) for name in (front_end.AST, front_end.LIBCST))
            print(f"{tree}: {len(two)} findings, {'the same' if one == two else f'not the same: {_first(two, one)}'}")
            failed |= one != two
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
