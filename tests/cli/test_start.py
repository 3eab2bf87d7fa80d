"""What a small run does before and beside its analysis, in units that the machine has no part in: modules that are
imported, pieces of Python and patterns that are compiled, functions that are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOT = "import torch\n\n\ndef train(loader, model):\n    for x in loader:\n        print(model(x.cuda()).item())\n"
MOVED = "import torch\n\n\ndef move(x):\n    return x.cuda()\n"
COUNTED = """
import sys
counts = {"compiled": 0, "calls": 0}
def audited(event, arguments):
    counts["compiled"] += event == "compile"
def called(frame, event, argument):
    counts["calls"] += event == "call"
sys.addaudithook(audited)
before = set(sys.modules)
import re, threading
import transferlint.cache.signatures as s
s.SLACK = -10**18  # nothing is too new to be trusted
compiler = sys.modules.get("re._compiler") or sys.modules["sre_compile"]
made = compiler.compile
patterns = []
compiler.compile = lambda *given: patterns.append(given) or made(*given)
threading.setprofile(called)
sys.setprofile(called)
from transferlint.cli import main
code = main(sys.argv[1:])
sys.setprofile(None)
threading.setprofile(None)
new = set(sys.modules) - before
import json
counts["modules"] = len(new)
counts["ours"] = sum(name.partition(".")[0].startswith("transferlint") for name in new)
counts["patterns"] = len(patterns)
print(json.dumps([counts, sorted(new)]), file=sys.stderr)
"""


def counted(folder: Path, *arguments: str, text: str = "") -> tuple[dict[str, int], set[str]]:
    """What a run in a process of its own takes, and the modules that it imports; the second time, so that all is
    compiled to bytecode and kept that a run leaves for the next."""
    environment = {**os.environ, "TRANSFERLINT_CACHE_DIR": str(folder / "kept")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", COUNTED, *arguments]
    made = subprocess.run(
        command, cwd=folder / "work", env=environment, input=text, capture_output=True, text=True, check=True
    )
    counts, modules = json.loads(made.stderr.splitlines()[-1])
    return counts, set(modules)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a project `work` of some files that use each other, which was checked before."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "moving.py").write_text(MOVED)
    for number in range(12):
        (work / f"train{number}.py").write_text(f"from moving import move\n{HOT}\n\ndef one(x):\n    return move(x)\n")
    return tmp_path


# Measured on Python 3.11, with a fifth more: other versions of it and of click do some things in other ways. Who makes
# a path lighter lowers its bounds. `calls` of Python functions, `compiled` pieces of source (of the files that are
# checked too), regular expressions (`patterns`), and modules of `ours`.
BOUNDS = {
    "version": {"calls": 480, "compiled": 2, "patterns": 8, "ours": 6},
    "unchanged": {"calls": 2_900, "compiled": 2, "patterns": 8, "ours": 11},
    "snippet": {"calls": 132_000, "compiled": 112, "patterns": 82, "ours": 301},
    "changed": {"calls": 176_000, "compiled": 180, "patterns": 132, "ours": 318},
}
# What these paths have no use for: fixes that are shown, the formats of other reports, what errors are worded with.
IDLE = {
    "configparser", "difflib", "email", "importlib.metadata", "json", "libcst", "rich", "shutil", "tempfile",
    "transferlint.suppressions.baseline", "transferlint.fixes.rounds", "transferlint.fixes.layout_worth",
    "transferlint.reporters.text", "transferlint_rules.fixes.recreating", "transferlint_rules.fixes.hoisting",
}  # fmt: skip


def beyond(counts: dict[str, int], path: str) -> dict[str, int]:
    """What is more than the path may take."""
    return {name: counts[name] for name, most in BOUNDS[path].items() if counts[name] > most}


def test_the_version(project: Path) -> None:
    for _ in range(2):  # the first compiles what no run before has
        counts, _ = counted(project, "--version")
    assert beyond(counts, "version") == {}


def test_a_snippet_on_standard_input(project: Path) -> None:
    for _ in range(2):
        counts, modules = counted(project, "check", "--output-format=concise", "-", text=HOT)
    assert beyond(counts, "snippet") == {}
    assert modules & {*IDLE, "transferlint.fixes.line_length", "transferlint.engine.updates"} == set()


def test_a_file_that_is_as_it_was(project: Path) -> None:
    for _ in range(2):
        counts, _ = counted(project, "check", "--output-format=concise", "train1.py")
    assert beyond(counts, "unchanged") == {}


@pytest.mark.parametrize("path", ["train1.py", "."])
def test_a_file_that_changed(project: Path, path: str) -> None:
    changed = project / "work" / "train1.py"
    for _ in range(3):
        counts, modules = counted(project, "check", "--output-format=concise", path)
        changed.write_text(changed.read_text() + "\n")
    assert beyond(counts, "changed") == {}
    assert modules & IDLE == set()
