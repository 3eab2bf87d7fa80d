"""Which functions had an effect, as the list of candidates for removal counts them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TRAINING = """\
def train(model, loader, device):
    model.to(device)
    for x in loader:
        loss = model(x.to(device)).mean()
        loss.backward()
        print(loss.item())
"""


@pytest.fixture(scope="module")
def effects() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("without_effect")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_what_gave_something_is_not_listed(
    effects: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "train.py").write_text(f"import torch\n\n\n{TRAINING}")
    monkeypatch.setattr(sys, "argv", ["without_effect", str(tmp_path), "--least-calls", "2"])
    effects.main()
    listed, _, idle = capsys.readouterr().out.partition("Never called:")
    names = [line.split()[2] for line in listed.splitlines()[2:] if line]
    assert "hot" not in names  # the read in the loop is told of
    assert any(name.startswith("_") for name in names)
    assert all(int(line.split("|")[2]) >= 2 for line in listed.splitlines()[2:] if line)
    assert "tl105_module_move_in_hot_code.py" in idle
    assert "None" not in listed
