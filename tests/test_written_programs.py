"""How the programs that were written for a measurement are held against what is told of them."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TOOL = [sys.executable, "-m", "transferlint"]
TRAINED = """\
import torch


def train(model, loader, optimizer, device):
    model.to(device)  # QUIET: once
    total = 0.0
    for x in loader:
        loss = model(x.to(device)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()  # {}
        print(loss)
        labels = torch.tensor(len(x))  # {}
    return total
"""


@pytest.fixture
def written_programs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.written_programs")


def test_marks_are_held_against_what_is_told(written_programs: ModuleType) -> None:
    files = {"lib/train.py": TRAINED.format("HIT: item_loop", "HIT: h2d_small_loop")}
    found = written_programs.measure("a", {"p01": files}, TOOL)
    assert (found.found, found.marked) == ({"item_loop": 1}, {"item_loop": 1, "h2d_small_loop": 1})
    assert found.missed == ["a/p01/lib/train.py:13 h2d_small_loop"]
    assert (found.quiet, found.wrong, found.unmarked) == (1, [], 1)


def test_what_is_fine_and_told_is_wrong(written_programs: ModuleType) -> None:
    files = {"train.py": TRAINED.format("QUIET: wanted", "HIT: h2d_small_loop")}
    assert written_programs.measure("a", {"p01": files}, TOOL).wrong == ["a/p01/train.py:11 TL101"]


def test_every_program_has_mistakes_and_lines_that_are_fine(written_programs: ModuleType) -> None:
    marks: dict[tuple[str, str], list[str]] = {}
    for line in written_programs.DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        compile(row["text"], row["path"], "exec")
        marks.setdefault((row["set"], row["program"]), []).extend(re.findall(r"# (HIT|QUIET)\b", row["text"]))
    assert len(marks) > 200
    assert all({"HIT", "QUIET"} <= set(found) for found in marks.values())
