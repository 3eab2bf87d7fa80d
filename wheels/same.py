"""Whether two installations of transferlint say the same: `python3 wheels/same.py PYTHON OTHER TREE...`, interpreters
that have one each. Of each tree it is asked what is found without a cache, then with one that is filled, then after
changes: one that no other file sees, and one that others may. Exit code 1 where they do not say the same, with the
first line that differs."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

COMMAND = ("-m", "transferlint", "check", "--isolated", "--output-format", "json", ".")
SETTLED = 2.5  # seconds after which a change of a file shows in its times (transferlint/cache/signatures.py)
CHANGED = 3  # files
CHANGES = ((b"# moved down\n", b""), (b"import os\n", b"\n\ndef added(x):\n    return x.cuda().item()\n"))


def said(python: str, tree: Path, kept: Path, *options: str) -> list[str]:
    """What an interpreter's transferlint says of a tree, line by line, with its cache in `kept`. Raises RuntimeError
    where it ends with an error."""
    environment = {**os.environ, "TRANSFERLINT_CACHE_DIR": str(kept)}
    command = (python, *COMMAND, *options)
    ran = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if "internal error" in ran.stderr or ran.returncode not in (0, 1, 2):
        raise RuntimeError(f"{python} ends with {ran.returncode} in {tree}: {ran.stderr.strip()[-2000:]}")
    return ran.stdout.splitlines()


def answers(python: str, tree: Path) -> Iterator[list[str]]:
    """What is said of a tree, of which a copy is changed on the way."""
    with tempfile.TemporaryDirectory() as home:
        copy, kept = Path(home) / "tree", Path(home) / "kept"
        shutil.copytree(tree, copy)
        yield said(python, copy, kept, "--no-cache")
        time.sleep(SETTLED)
        yield said(python, copy, kept)
        largest = sorted(copy.rglob("*.py"), key=lambda path: path.stat().st_size)[-CHANGED:]
        for before, behind in CHANGES:
            for path in largest:
                path.write_bytes(before + path.read_bytes() + behind)
            time.sleep(SETTLED)
            yield said(python, copy, kept)


def difference(python: str, other: str, tree: Path) -> str:
    """The first line on a tree that is not the same, of both; "" where all are."""
    for one, two in zip(answers(python, tree), answers(other, tree), strict=True):
        for left, right in itertools.zip_longest(one, two, fillvalue="(end)"):
            if left != right:
                return f"{tree}: {left.strip()}  <>  {right.strip()}"
    return ""


def main(arguments: list[str]) -> int:
    """The exit code."""
    if len(arguments) < 3:
        print("usage: python3 wheels/same.py PYTHON OTHER TREE...", file=sys.stderr)
        return 2
    python, other, *trees = map(os.path.abspath, arguments)
    try:
        found = [difference(python, other, Path(tree)) for tree in trees]
    except RuntimeError as error:
        found = [str(error)]
    print(*filter(None, found), sep="\n", end="\n" if any(found) else "")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
