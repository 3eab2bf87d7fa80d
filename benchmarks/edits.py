"""Edits projects at random, and compares what `check` says with its cache and without it.

    python benchmarks/edits.py TREE... [--edits 12] [--seed 1]

Each TREE is the source of one project; a copy is edited. An edit puts a statement into a function of a file, or takes
one out; of three edits two go into files that were edited lately, as in work at a desk. After each the copy is checked
with the cache and with `--no-cache`, in one process each: told are the processor time of both, start included, and how
many findings or errors only one of the two has. Exit code 1 where there are any.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

CHECK = (sys.executable, "-m", "transferlint", "check", ".", "-f", "json", "-j", "1", "--exit-zero")
SETTLED = 2.1  # seconds: what changed within two of a run is read again (transferlint/cache/signatures.py)
RECENT = 3  # files
LEAST = 1500  # bytes
_ADDED = ("_added = {n}", "# added {n}", "print({n})", "_added = [{n}]", "pass")


def edited(text: str, chance: random.Random, number: int) -> str | None:
    """The text of a file with one statement more or less in a function; None where there is none to choose, or where
    the result is no Python."""
    lines = text.split("\n")
    places = [made for made in _statements(ast.parse(text)) if not lines[made.lineno - 1][: made.col_offset].strip()]
    if not places:
        return None
    chosen = chance.choice(places)
    at, indent = chosen.lineno - 1, lines[chosen.lineno - 1][: chosen.col_offset]
    if isinstance(chosen, ast.Assign | ast.Expr) and chance.random() < 0.3:
        lines[at : chosen.end_lineno] = [indent + "pass"]
    else:
        lines.insert(at, indent + chance.choice(_ADDED).format(n=number))
    made = "\n".join(lines)
    try:
        compile(made, "<edited>", "exec")
    except SyntaxError:
        return None
    return made


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of functions, but for their docstrings and what has decorators."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [one for part in function.body[1:] for one in ast.walk(part) if isinstance(one, ast.stmt)]
            yield from (one for one in inner if not getattr(one, "decorator_list", ()))


def checked(folder: Path, cache: Path, *options: str) -> tuple[set[str], float]:
    """What a check of a folder says, a text each finding or error, and the seconds of the processor that it took."""
    before = _spent()
    made = subprocess.run(
        [*CHECK, *options], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )  # fmt: skip
    report = json.loads(made.stdout)
    told = {json.dumps(one, sort_keys=True) for one in (*report["findings"], *report["errors"])}
    return told, _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(tree: Path, edits: int, seed: int) -> Iterator[tuple[str, float, float, int]]:
    """For each edit of a copy of a tree: the file, the seconds with the cache and without, and how many findings or
    errors only one of the two has."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = Path(scratch, "tree"), Path(scratch, "cache")
        shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        files = [path for path in sorted(folder.rglob("*.py")) if path.stat().st_size >= LEAST]
        recent: list[Path] = []
        checked(folder, cache)
        time.sleep(SETTLED)
        checked(folder, cache)
        done, tries = 0, 0
        while files and done < edits and tries < 20 * edits:
            tries += 1
            path = chance.choice(recent[-RECENT:] if recent and tries % 3 else files)
            try:
                text = edited(path.read_text(encoding="utf-8"), chance, tries)
            except (SyntaxError, UnicodeDecodeError):
                continue
            if text is None:
                continue
            path.write_text(text, encoding="utf-8")
            recent += [path] if path not in recent else []
            time.sleep(SETTLED)
            told, kept = checked(folder, cache)
            anew, fresh = checked(folder, cache, "--no-cache")
            done += 1
            yield path.relative_to(folder).as_posix(), kept, fresh, len(told ^ anew)


def main() -> int:
    """Measure the trees of the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    options.add_argument("--edits", type=int, default=12, help="edits of each tree")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    differing = 0
    for tree in given.trees:
        rows = []
        for path, kept, fresh, differ in measured(tree, given.edits, given.seed):
            rows.append((kept, fresh))
            differing += bool(differ)
            print(f"{tree.name} {path}: {kept:.2f} s, without a cache {fresh:.2f} s, {differ} different", flush=True)
        if rows:
            kept, fresh = (statistics.median(column) for column in zip(*rows, strict=True))
            print(f"{tree.name}: {len(rows)} edits, median {kept:.2f} s, without a cache {fresh:.2f} s")
    print(f"{differing} edits after which the two differ")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
