"""Replays commits of a project, and compares what `check` says of each with the cache of the commit before and without.

    python -m benchmarks.commits GIT... [--commits 24] [--most 3]

Each GIT is the git directory of one project. Of its last commits those count that changed Python files, `--most` at
most, and neither added nor removed any, as work at a desk does between two checks. The tree of the parent is checked
with an empty cache, the files of the commit are put into it, and it is checked again, with the cache and with
`--no-cache`: told are the processor time of both, start included, and how many findings or errors only one of the two
has. Exit code 1 where there are any.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.edits import SETTLED, checked


def _git(git: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(git), *arguments], capture_output=True, check=True).stdout


def commits(git: Path, count: int, most: int) -> Iterator[tuple[str, list[str]]]:
    """The newest commits that changed up to so many Python files and added or removed none, with these files."""
    for commit in _git(git, "log", "--no-merges", "--format=%H").decode().split():
        rows = _git(git, "diff-tree", "--root", "--no-commit-id", "--name-status", "-r", commit).decode().splitlines()
        python = [row.split("\t") for row in rows if row.endswith(".py")]
        if python and len(python) <= most and all(row[0] == "M" for row in python):
            yield commit, [row[1] for row in python]
            count -= 1
            if not count:
                return


def measured(git: Path, count: int, most: int) -> Iterator[tuple[str, float, float, int]]:
    """For each commit: its name, the seconds with the cache of its parent and without one, and how many findings or
    errors only one of the two has."""
    for commit, files in commits(git, count, most):
        with tempfile.TemporaryDirectory() as scratch:
            folder, cache = Path(scratch, "tree"), Path(scratch, "cache")
            packed = _git(git, "archive", f"{commit}^", "--", ":(glob)**/*.py")
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(folder, filter="data")
            (folder / "pyproject.toml").touch()
            checked(folder, cache)
            time.sleep(SETTLED)
            for name in files:
                (folder / name).write_bytes(_git(git, "show", f"{commit}:{name}"))
            told, kept = checked(folder, cache)
            anew, fresh = checked(folder, cache, "--no-cache")
            yield commit[:10], kept, fresh, len(told ^ anew)


def main() -> int:
    """Measure the projects of the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("projects", nargs="+", type=Path, metavar="GIT")
    options.add_argument("--commits", type=int, default=24, help="commits of each project")
    options.add_argument("--most", type=int, default=3, help="Python files that a commit changed")
    given = options.parse_args()
    differing = 0
    for git in given.projects:
        rows = []
        for commit, kept, fresh, differ in measured(git, given.commits, given.most):
            rows.append((kept, fresh))
            differing += bool(differ)
            print(f"{commit}: {kept:.2f} s, without a cache {fresh:.2f} s, {differ} different", flush=True)
        if rows:
            kept, fresh = (statistics.median(column) for column in zip(*rows, strict=True))
            few = sum(one < other / 2 for one, other in rows)
            print(
                f"{git}: {len(rows)} commits, median {kept:.2f} s, without a cache {fresh:.2f} s; {few} in half or less"
            )
    print(f"{differing} commits of which the two differ")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
