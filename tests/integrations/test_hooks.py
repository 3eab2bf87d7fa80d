"""The hooks of pre-commit: what it would run, on the files that it would name."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from acting import ROOT

from transferlint.cli import main

BUG = """\
import torch

device = torch.device("cuda")


class Causal(torch.nn.Module):
    def forward(self, x):
        return x @ torch.ones(x.size(1), x.size(1)).to(device)


result = Causal()(torch.arange(9.0, device=device).reshape(1, 3, 3))
"""


def hooks() -> dict[str, Any]:
    read = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return {hook["id"]: hook for hook in read}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFERLINT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "train.py").write_text(BUG)
    (tmp_path / "third_party").mkdir()
    (tmp_path / "third_party" / "theirs.py").write_text(BUG)
    (tmp_path / "transferlint.toml").write_text('exclude = ["third_party/"]\n')
    return tmp_path


def run(name: str, *files: str) -> int:
    """As pre-commit does with `language: python`: the entry point of the package, then the files that changed."""
    hook = hooks()[name]
    assert hook["language"] == "python"
    assert hook["require_serial"]  # all files at once, so that the project is read once
    command, *words = shlex.split(hook["entry"])
    assert command == "transferlint"
    return main([*words, *files])


def test_a_hook_reports_and_leaves_out_what_the_settings_exclude(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("transferlint", "train.py", "third_party/theirs.py") == 1
    said = capsys.readouterr().out
    assert "train.py:8:20 TL401" in said
    assert "theirs.py" not in said
    assert (project / "train.py").read_text() == BUG


def test_the_other_fixes_stops_the_commit_and_passes_then(project: Path) -> None:
    assert run("transferlint-fix", "train.py", "third_party/theirs.py") == 1
    assert "torch.ones(x.size(1), x.size(1), device=device)" in (project / "train.py").read_text()
    assert (project / "third_party" / "theirs.py").read_text() == BUG
    assert run("transferlint-fix", "train.py") == 0


def test_notebooks_are_named_too() -> None:
    assert all(set(hook["types_or"]) == {"python", "jupyter"} for hook in hooks().values())
