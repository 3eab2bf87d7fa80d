"""Random edits of a project: what they make of a file, and that the cache changes nothing of what is said."""

from __future__ import annotations

import ast
import importlib
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "train.py"


@pytest.fixture
def edits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.edits")


@pytest.mark.parametrize("seed", range(20))
def test_an_edit_changes_one_statement_of_a_function(edits: Any, seed: int) -> None:
    text = EXAMPLE.read_text()
    made = edits.edited(text, random.Random(seed), seed)
    assert made is not None
    assert made != text
    functions = {one.name for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef)}
    assert {one.name for one in ast.walk(ast.parse(made)) if isinstance(one, ast.FunctionDef)} == functions


def test_a_file_without_functions_is_left_alone(edits: Any) -> None:
    assert edits.edited("x = 1\n", random.Random(0), 0) is None
    assert edits.edited("def f():\n    'nothing'\n", random.Random(0), 0) is None


def test_the_cache_changes_nothing_of_what_is_said() -> None:
    command = [sys.executable, "benchmarks/edits.py", "examples", "--edits", "3", "--seed", "5"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "examples: 3 edits" in made.stdout
    assert made.stdout.endswith("0 edits after which the two differ\n")
