"""Whether two installations of transferlint say the same: `python3 wheels/same.py PYTHON OTHER TREE...`, interpreters
that have one each. Exit code 1 where they do not, with the first line that differs."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

COMMAND = ("-m", "transferlint", "check", "--isolated", "--no-cache", "--output-format", "json", ".")


def said(python: str, tree: str) -> list[str]:
    """What an interpreter's transferlint says of a tree, line by line. Raises RuntimeError where it ends with an
    error."""
    ran = subprocess.run((python, *COMMAND), cwd=tree, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1) or "internal error" in ran.stderr:
        raise RuntimeError(f"{python} ends with {ran.returncode} in {tree}: {ran.stderr.strip()}")
    return ran.stdout.splitlines()


def difference(python: str, other: str, tree: str) -> str:
    """The first line on a tree that is not the same, of both; "" where all are."""
    pairs = itertools.zip_longest(said(python, tree), said(other, tree), fillvalue="(end)")
    return next((f"{tree}: {one.strip()}  <>  {two.strip()}" for one, two in pairs if one != two), "")


def main(arguments: list[str]) -> int:
    """The exit code."""
    if len(arguments) < 3:
        print("usage: python3 wheels/same.py PYTHON OTHER TREE...", file=sys.stderr)
        return 2
    python, other, *trees = map(os.path.abspath, arguments)
    found = [difference(python, other, tree) for tree in trees]
    print(*filter(None, found), sep="\n", end="\n" if any(found) else "")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
