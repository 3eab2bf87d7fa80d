"""Draws unsafe fixes at random from public projects, for somebody to judge: would a maintainer take this patch?

    python benchmarks/unsafe_fixes.py TREE... --seed 7 [--count 60] [--most 8] [--around 6] [--kept FOLDER]

Each TREE is the extracted source of one project. All fixes that `--unsafe-fixes` adds are collected, and some drawn,
from one project after another in random order, and at most `--most` of one, so that no large one fills the sample.
What is drawn is printed as unified diffs, with `--around` lines before and after, and why the place runs repeatedly.
`--kept` names a folder in which the findings of each project are kept, and read again where they are.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from transferlint.syntax import notebooks

CHECK = (sys.executable, "-m", "transferlint", "check", ".", "-f", "json", "--isolated", "--no-respect-gitignore")


def findings(tree: Path, kept: Path | None) -> list[dict[str, Any]]:
    """What the check finds in a tree, as its JSON gives it."""
    file = kept / f"{tree.name}.json" if kept is not None else None
    if file is None or not file.exists() or not file.stat().st_size:
        made = subprocess.run([*CHECK, "-j", "1"], cwd=tree, capture_output=True, text=True, check=False).stdout
        if file is None:
            return list(json.loads(made)["findings"])
        file.write_text(made)
    return list(json.loads(file.read_text())["findings"])


def unsafe(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with an unsafe fix, in order; one where several findings have the same edits. Without those that reach
    beyond a cell of a notebook, whose edits the JSON does not have."""
    seen: dict[str, dict[str, Any]] = {}
    for one in found:
        if one["fix"] is not None and one["fix"]["safety"] == "unsafe" and one["fix"]["edits"]:
            seen.setdefault(json.dumps([one["path"], one["fix"]["edits"]]), one)
    return sorted(seen.values(), key=lambda one: (one["path"], one["line"], one["column"], one["code"]))


def drawn(
    projects: dict[str, list[dict[str, Any]]], count: int, most: int, seed: int
) -> list[tuple[str, dict[str, Any]]]:
    """So many findings, one of each project in turn."""
    chance = random.Random(seed)
    order = sorted(projects)
    chance.shuffle(order)
    piles = {name: chance.sample(projects[name], min(most, len(projects[name]))) for name in order}
    taken: list[tuple[str, dict[str, Any]]] = []
    while len(taken) < count and any(piles.values()):
        for name in order:
            if piles[name] and len(taken) < count:
                taken.append((name, piles[name].pop()))
    return taken


def applied(finding: dict[str, Any], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The edits of a fix, and of all others that `--fix --unsafe-fixes` applies to its file and that leave it alone."""
    place = finding["path"], finding.get("cell")
    fixes = [one["fix"] for one in found if (one["path"], one.get("cell")) == place and one["fix"] is not None]
    edits: list[dict[str, Any]] = []
    for fix in (finding["fix"], *(one for one in fixes if one["safety"] in ("safe", "unsafe"))):
        more = [edit for edit in fix["edits"] if edit not in edits]
        if not any(one["start"] < edit["end"] and edit["start"] < one["end"] for one in more for edit in edits):
            edits += more
    return sorted(edits, key=lambda edit: (edit["start"], edit["end"]), reverse=True)


def diff(tree: Path, finding: dict[str, Any], found: list[dict[str, Any]], around: int = 6) -> str:
    """What the command changes around a fix, with so many lines before and after: the others beside it too, without
    which half of a change would be judged."""
    path = tree / finding["path"]
    before = path.read_bytes().decode("utf-8-sig", "replace")
    if "cell" in finding:  # of a notebook: edits are given in the text of the cell
        before = dict(notebooks.split(notebooks.to_text(before)))[finding["cell"]]
    after = before
    for edit in applied(finding, found):
        after = after[: edit["start"]] + edit["text"] + after[edit["end"] :]
    lines = (text.splitlines(keepends=True) for text in (before, after))
    text = "".join(difflib.unified_diff(*lines, finding["path"], finding["path"], n=around))
    head, *hunks = re.split(r"(?m)^(?=@@ )", text)
    return head + "".join(hunk for hunk in hunks if _within(hunk, finding["line"]))


def _within(hunk: str, line: int) -> bool:
    start, count = re.findall(r"-(\d+)(?:,(\d+))?", hunk)[0]
    return int(start) <= line < int(start) + int(count or 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--most", type=int, default=8, help="of one project")
    parser.add_argument("--around", type=int, default=6, help="lines of context")
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    trees = {Path(os.path.abspath(tree)).name: Path(os.path.abspath(tree)) for tree in given.trees}
    found = {name: findings(tree, given.kept) for name, tree in trees.items()}
    projects = {name: unsafe(ones) for name, ones in found.items()}
    total = sum(map(len, projects.values()))
    print(f"seed {given.seed}, {total} unsafe fixes in {len(projects)} projects")
    for number, (name, finding) in enumerate(drawn(projects, given.count, given.most, given.seed), 1):
        site = f"{finding['path']}:{finding['line']}"
        print(f"\n=== {number} {name} {finding['code']} {site}: {finding['fix']['title']}\n{finding['message']}")
        print(f"{finding['context'] or 'the module'}: {(finding['heat'] or {}).get('why', '')}")
        print(diff(trees[name], finding, found[name], given.around))


if __name__ == "__main__":
    main()
