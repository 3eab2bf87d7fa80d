"""The tutorial of docs/runtime-tutorial.md, done as it says: its files, its commands, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
DOCS = Path(__file__).resolve().parents[2] / "docs"
TUTORIAL = (DOCS / "runtime-tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: title=\"(.*?)\")?\n(.*?)^```$", TUTORIAL, re.M | re.S)


def python(name: str, number: int = 0) -> str:
    """The text that is shown as this file, the first or a later one."""
    return [text for kind, title, text in BLOCKS if kind == "python" and title == name][number]


TEXTS = [text for kind, _, text in BLOCKS if kind == "text"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def test_the_tutorial_prints_what_it_says(tmp_path: Path) -> None:
    from runtime_check.simulate import conditions

    if unmet := conditions.unmet():
        pytest.skip(unmet)
    (tmp_path / "model.py").write_text(python("model.py"))
    (tmp_path / "train.py").write_text(python("train.py"))
    (tmp_path / "test_model.py").write_text(python("test_model.py"))
    counted, refused, failed = TEXTS
    assert run(tmp_path, "train.py").stdout == counted
    (tmp_path / "train.py").write_text(python("train.py") + python("train.py", 1))
    assert run(tmp_path, "train.py").stderr.endswith(refused)
    tested = ("-m", "pytest", "-p", "no:cacheprovider", "--transfers=simulate", "test_model.py")
    with_read = run(tmp_path, *tested)
    assert with_read.returncode == 1
    assert failed in with_read.stdout
    (tmp_path / "model.py").write_text(python("model.py", 1))
    assert run(tmp_path, "train.py").returncode == 0
    assert run(tmp_path, *tested).returncode == 0


def test_the_reference_names_everything() -> None:
    from transferlint import runtime

    reference = (DOCS / "runtime-api.md").read_text(encoding="utf-8")
    missing = [name for name in runtime.__all__ if not re.search(rf"\b{name}\b", reference)]
    assert not missing
