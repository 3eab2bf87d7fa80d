"""A project, and sessions in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the server needs pygls")

from editing import TRAIN, Editor


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one file with a finding."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "p"\n')
    (folder / "train.py").write_text(TRAIN)
    return folder


Body = Callable[[Editor], Awaitable[Any]]


@pytest.fixture
def edit(project: Path) -> Callable[..., Any]:
    """Runs the body of a test as an editor's session in the project; the session ends in an orderly way, and the server
    has to as well."""

    def run(body: Body, *options: str, folders: tuple[Path, ...] | None = None, ends: bool = True, **can: Any) -> Any:
        async def session() -> Any:
            editor = Editor(project, **can)
            try:
                await editor.start(options, folders, project)
                made = await body(editor)
                if ends:
                    assert await editor.stop() == 0
                return made
            finally:
                editor.kill()

        return asyncio.run(session())

    return run
