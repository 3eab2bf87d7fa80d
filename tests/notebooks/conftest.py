"""Notebooks as Jupyter writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

Save = Callable[..., Path]

TRAIN = """%%time
model = model.to(device)
for x in loader:
    x = x.to(device)
    %time out = model(x)
    !nvidia-smi \\
        --query-gpu=name
    w = torch.ones(3).to(x.device)
    total = step(model, x).item()"""


@pytest.fixture
def save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Save:
    """Write a notebook of code cells (and, first, one of text) below the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    v4 = nbformat.v4

    def put(name: str, *cells: str, language: str = "python") -> Path:
        made = v4.new_notebook(metadata={"language_info": {"name": language}})
        made.cells = [v4.new_markdown_cell("# Title")]
        for text in cells:
            output = v4.new_output("display_data", {"text/plain": "漢字", "application/json": {"loss": 1e-05}})
            made.cells.append(v4.new_code_cell(text, outputs=[output], execution_count=7))
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(made, path)
        return path

    return put
