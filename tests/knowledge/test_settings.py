"""`[tool.transferlint.knowledge]`: read, shown again, and refused where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from transferlint.knowledge.user import UserKnowledge
from transferlint.settings import loading
from transferlint.settings.loading import Settings, SettingsError


def _read(tmp_path: Path, table: str) -> Settings:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.transferlint.knowledge]\n" + table)
    return loading.read(str(path))


def test_every_key_is_read_and_shown(tmp_path: Path):
    rows = {
        "moves": ["mylib.to_gpu"],
        "reads": ["mylib.ops.*"],
        "syncs": ["*.wait_for_device"],
        "returns-device": ["mylib.noise"],
        "returns-host": ["mylib.load"],
        "hot": ["mylib.Trainer.advance"],
        "cold": ["mylib.tools.*"],
    }
    read = _read(tmp_path, "\n".join(f"{key} = {names}" for key, names in rows.items()))
    assert read.knowledge == UserKnowledge(
        moves=("mylib.to_gpu",),
        reads=("mylib.ops.*",),
        syncs=("*.wait_for_device",),
        returns_device=("mylib.noise",),
        returns_host=("mylib.load",),
        hot=("mylib.Trainer.advance",),
        cold=("mylib.tools.*",),
    )
    assert loading.as_table(read)["knowledge"] == rows
    assert loading.as_table(Settings())["knowledge"] == {}


def test_the_command_line_has_it_too():
    read = loading.inline('knowledge.reads = ["mylib.peek"]', Settings())
    assert read.knowledge == UserKnowledge(reads=("mylib.peek",))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("move = ['a.b']", "unknown key `knowledge.move`; did you mean `knowledge.moves`?"),
        (
            "returns_device = ['a.b']",
            "unknown key `knowledge.returns_device`; did you mean `knowledge.returns-device`?",
        ),
        ("zzz = ['a.b']", "unknown key `knowledge.zzz`; known are moves, reads, "),
        ("moves = 'a.b'", "`knowledge.moves` must be a list of strings, not 'a.b'"),
        ("moves = [1]", "`knowledge.moves` must be a list of strings, not [1]"),
        ("moves = ['a b']", "`knowledge.moves`: 'a b' is no qualified name, nor a pattern of one"),
        ("moves = ['']", "`knowledge.moves`: '' is no qualified name, nor a pattern of one"),
        ("moves = ['a.b']\nreads = ['a.b']", "`knowledge`: 'a.b' stands under both `moves` and `reads`"),
        ("hot = ['a.b']\ncold = ['a.b']", "`knowledge`: 'a.b' stands under both `hot` and `cold`"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, table: str, message: str):
    with pytest.raises(SettingsError) as caught:
        _read(tmp_path, table)
    assert "[tool.transferlint]: " in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_is_asked_for(tmp_path: Path):
    path = tmp_path / "transferlint.toml"
    path.write_text("knowledge = ['a.b']\n")
    with pytest.raises(SettingsError, match="`knowledge` must be a table from what functions do"):
        loading.read(str(path))


def test_one_name_may_be_hot_and_move(tmp_path: Path):
    read = _read(tmp_path, "moves = ['a.b']\nhot = ['a.b']")
    assert read.knowledge == UserKnowledge(moves=("a.b",), hot=("a.b",))
