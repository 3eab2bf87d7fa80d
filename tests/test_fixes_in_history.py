"""How mistakes that maintainers removed are looked for in the commit before."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOOL = [sys.executable, "-m", "transferlint", "check", "--output-format", "json", "--no-cache"]
BEFORE = """\
from .moving import to_device


def train(model, loader, optimizer):
    total = 0.0
    for x in loader:
        loss = model(to_device(x)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.fixes_in_history")


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """A folder with one project of two commits, the second of which takes a read away."""
    project = tmp_path / "owner+name" / "repo"
    (project / "lib").mkdir(parents=True)
    (project / "lib" / "__init__.py").write_text("")
    (project / "lib" / "moving.py").write_text("def to_device(x):\n    return x.to('cuda')\n")
    (project / "lib" / "train.py").write_text(BEFORE)
    _git(project, "init", "-q")
    _commit(project)
    (project / "lib" / "train.py").write_text(BEFORE.replace("loss.item()", "loss.detach()"))
    _commit(project)
    return tmp_path


def _git(project: Path, *arguments: str) -> str:
    command = ["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _commit(project: Path) -> None:
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "a change")


def _row(projects: Path, **other: Any) -> dict[str, Any]:
    project = projects / "owner+name" / "repo"
    commits = {"fix_commit": _git(project, "rev-parse", "HEAD"), "parent": _git(project, "rev-parse", "HEAD~1")}
    row = {"repo": "owner/name", "path": "lib/train.py", "before_lines": [10], "after_clean": True, "kind": "item_loop"}
    return {**row, **commits, "note": "a read of each step", **other}


def test_what_stands_in_the_commit_before_and_not_after(history: ModuleType, projects: Path) -> None:
    found = history.measure([_row(projects)], projects, TOOL)
    assert (found.rows, found.found, found.missed) == ({"item_loop": 1}, {"item_loop": 1}, [])
    assert (found.gone, found.silent, found.findings, found.lines) == (1, 1, 1, 11)


def test_what_is_missed_is_named(history: ModuleType, projects: Path) -> None:
    row = _row(projects, before_lines=[5], kind="print_log")
    found = history.measure([row], projects, TOOL)
    assert (found.found.total(), found.gone) == (0, 0)
    assert found.missed == [f"owner/name@{row['parent'][:10]} lib/train.py:[5] a read of each step"]


def test_a_project_that_is_not_there_is_left_out(history: ModuleType, projects: Path) -> None:
    found = history.measure([_row(projects), _row(projects, repo="owner/other")], projects, TOOL)
    assert (found.rows.total(), found.absent) == (1, 1)


def test_the_two_halves_are_of_other_projects(history: ModuleType) -> None:
    read, unread = ({row["repo"] for row in history.rows(path)} for path in history.HALVES.values())
    assert len(read) > 40
    assert len(unread) > 40
    assert read.isdisjoint(unread)
