"""What fixing makes of whole source trees: `python benchmarks/fixes_at_scale.py TREE...`.

Each tree is copied; the copy is fixed with `--fix`, and then with `--fix --unsafe-fixes`. After each, every file that
compiled before must compile, a second run must change nothing, and no comment may be lost (they are compared as
tokens). With `--import PACKAGE ...` every module of these packages that could be imported before must be importable
after `--fix --unsafe-fixes`. Printed: how many default findings have a fix, how many were
fixed, by rule, and every promise that was broken. Exit code 1 where one was.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import tokenize
import warnings
from pathlib import Path
from typing import Any

import library_imports

STEPS = ((), ("--unsafe-fixes",))


@dataclasses.dataclass(frozen=True)
class State:
    """A file: a hash of its bytes, what Python's compiler says against it ("" for nothing), and its comments."""

    digest: str
    fault: str
    comments: collections.Counter[str]


def state(path: Path) -> State:
    """What is to be compared of a file. Blanks at the end of a comment do not count."""
    data = path.read_bytes()
    fault = ""
    comments: collections.Counter[str] = collections.Counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, str(path), "exec", dont_inherit=True)
        tokens = tokenize.tokenize(io.BytesIO(data).readline)
        comments.update(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        fault = f"{type(error).__name__}: {error}"
    return State(hashlib.sha256(data).hexdigest(), fault, comments)


def states(tree: Path) -> dict[str, State]:
    """Every Python file below a folder, by its path within."""
    files = (path for path in sorted(tree.rglob("*.py")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(tree).as_posix(): state(path) for path in files}


def check(tree: Path, *options: str) -> dict[str, Any]:
    """The JSON report of one run in a tree. Raises RuntimeError where there is none."""
    command = [sys.executable, "-m", "transferlint", "check", ".", "--isolated", "-f", "json", *options]
    made = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(made.stdout)
    except ValueError:
        raise RuntimeError(f"{' '.join(command)}: {made.stderr.strip()[-500:]}") from None
    report["said"] = [line for line in made.stderr.splitlines() if line]
    return report


def broken(before: dict[str, State], after: dict[str, State]) -> list[str]:
    """What fixing must not do and did."""
    found = [f"{path}: is gone" for path in sorted(before.keys() - after.keys())]
    for path in sorted(before.keys() & after.keys()):
        old, new = before[path], after[path]
        if new.fault and not old.fault:
            found.append(f"{path}: does not compile any more: {new.fault}")
        lost = old.comments - new.comments
        if lost and not new.fault:
            found.append(f"{path}: lost {sum(lost.values())} comment(s), first {next(iter(lost))!r}")
    return found


def changed(before: dict[str, State], after: dict[str, State]) -> list[str]:
    """The files that differ."""
    return sorted(path for path in after if path not in before or before[path].digest != after[path].digest)


def share(report: dict[str, Any]) -> tuple[int, int, int, int]:
    """How many findings there are, with a safe fix, with an unsafe one, and with one that is only shown."""
    safeties = collections.Counter((found["fix"] or {}).get("safety", "") for found in report["findings"])
    return len(report["findings"]), safeties["safe"], safeties["unsafe"], safeties["display"]


def compare_imports(
    before: dict[str, str], after: dict[str, str], names: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """How many modules can be imported, and which cannot be any more; `before` and `after` are why not."""
    broken = [f"import {name}: {after[name]}" for name in names if name in after and name not in before]
    why = collections.Counter(reason.partition(":")[0] for reason in before.values())
    rows = {"modules": len(names), "before": len(names) - len(before), "after": len(names) - len(after)}
    return {**rows, "not_before": dict(why)}, broken


def measure(tree: Path, packages: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Fix a tree in place, step by step; the numbers, and the promises that were broken."""
    original = states(tree)
    modules = library_imports.modules(tree, packages)
    unable = library_imports.failures(tree, modules) if modules else {}
    first = check(tree)
    total, safe, unsafe, display = share(first)
    fixable = collections.Counter(one["code"] for one in first["findings"] if one["fix"])
    rows = {code: [number, fixable[code]] for code, number in first["summary"]["by_code"].items()}
    numbers: dict[str, Any] = {"findings": total, "safe": safe, "unsafe": unsafe, "display": display}
    numbers |= {"by_rule": rows, "steps": []}
    faults: list[str] = []
    for options in STEPS:
        name = " ".join(("--fix", *options))
        before = states(tree)
        report = check(tree, "--fix", *options)
        after = states(tree)
        faults += [f"{name}: {line}" for line in broken(original, after)]
        again = check(tree, "--fix", *options)
        faults += [f"{name}, second run: changed {path}" for path in changed(after, states(tree))]
        numbers["steps"].append(
            {
                "options": name,
                "files_changed": len(changed(before, after)),
                "fixed": report["summary"]["fixed_by_code"],
                "remaining": report["summary"]["by_code"],
                "fixed_again": again["summary"]["fixed_by_code"],
                "said": report["said"],
            }
        )
    if modules:
        numbers["imports"], lost = compare_imports(unable, library_imports.failures(tree, modules), modules)
        touched = {path for path in changed(original, states(tree)) if library_imports.dotted(path) in modules}
        numbers["imports"]["changed_and_imported"] = sum(library_imports.dotted(path) not in unable for path in touched)
        faults += lost
    return numbers, faults


def show(name: str, numbers: dict[str, Any], faults: list[str]) -> None:
    """The numbers of one tree for a person."""
    total, safe, unsafe, display = (numbers[key] for key in ("findings", "safe", "unsafe", "display"))
    part = 100 * (safe + unsafe + display) / total if total else 0.0
    print(
        f"{name}: {total} findings, {safe} with a safe fix, {unsafe} with an unsafe one, "
        f"{display} with one that is only shown: {part:.1f} %"
    )
    for code, (number, fixable) in numbers["by_rule"].items():
        print(f"    {code}  {number:>5} found  {fixable:>5} with a fix")
    for step in numbers["steps"]:
        fixed = ", ".join(f"{code} {number}" for code, number in step["fixed"].items()) or "nothing"
        print(f"  {step['options']}: {step['files_changed']} files changed; fixed {fixed}")
        for line in step["said"]:
            print(f"    said: {line}")
    if "imports" in numbers:
        rows = numbers["imports"]
        print(
            f"  imports: {rows['before']} of {rows['modules']} modules before, {rows['after']} after;"
            f" {rows['changed_and_imported']} of them were changed"
        )
    for line in faults:
        print(f"  BROKEN {line}")


def main() -> int:
    """Measure the trees that are named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    parser.add_argument("--keep", type=Path, help="copy into this folder and leave the copies there")
    parser.add_argument(
        "--import", nargs="+", default=[], metavar="PACKAGE", dest="packages", help="import its modules too"
    )
    options = parser.parse_args()
    results: dict[str, Any] = {}
    failed = False
    for tree in options.trees:
        with tempfile.TemporaryDirectory() as scratch:
            copy = (options.keep or Path(scratch)) / tree.resolve().name
            shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            numbers, faults = measure(copy, options.packages)
        show(tree.resolve().name, numbers, faults)
        results[tree.resolve().name] = {**numbers, "broken": faults}
        failed |= bool(faults)
    total = sum(one["findings"] for one in results.values())
    fixable = sum(one["safe"] + one["unsafe"] + one["display"] for one in results.values())
    print(f"all: {fixable} of {total} default findings have a fix: {100 * fixable / max(total, 1):.1f} % (target 60 %)")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
