"""Settings from files: where they are found, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from transferlint.files import gitignore
from transferlint.model import Confidence
from transferlint.settings import loading
from transferlint.settings.loading import Settings, SettingsError
from transferlint.sources import nearest


def test_nearest_file_with_our_table(tmp_path: Path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.transferlint]\nfix = true\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.ruff]\n")
    assert nearest.find(str(inner)) == str(tmp_path / "pyproject.toml")
    (tmp_path / "a" / "transferlint.toml").write_text("")
    assert nearest.find(str(inner)) == str(tmp_path / "a" / "transferlint.toml")


def test_every_key_is_read(tmp_path: Path):
    path = tmp_path / "transferlint.toml"
    path.write_text(
        'select = ["TL1"]\nextend-select = ["TL404"]\nignore = ["TL105"]\nmin-confidence = "possible"\n'
        'exclude = ["x"]\nextend-exclude = ["y"]\nforce-exclude = true\nrespect-gitignore = false\n'
        'test-paths = ["spec/**"]\noutput-format = "json"\nfix = true\nunsafe-fixes = true\njobs = 3\n'
        'context = "file"\n'
        '[per-file-ignores]\n"a/*.py" = ["TL101"]\n'
    )
    assert loading.read(str(path)) == Settings(
        select=("TL1",),
        extend_select=("TL404",),
        ignore=("TL105",),
        per_file_ignores=(("a/*.py", ("TL101",)),),
        min_confidence=Confidence.POSSIBLE,
        exclude=("x",),
        extend_exclude=("y",),
        force_exclude=True,
        respect_gitignore=False,
        test_paths=("spec/**",),
        output_format="json",
        fix=True,
        unsafe_fixes=True,
        jobs=3,
        context="file",
        root=str(tmp_path),
        source=str(path),
    )
    assert set(loading.as_table(Settings())) == {*loading.KEYS, "root", "source"} - {"extend"}


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("extend_select", "did you mean `extend-select`?"),
        ("min-confidense", "did you mean `min-confidence`?"),
        ("zzz", "known are select, "),
    ],
)
def test_unknown_key(key, hint):
    with pytest.raises(SettingsError, match="unknown key") as caught:
        loading.from_table({key: 1}, "here", Settings())
    assert str(caught.value).startswith(f"here: unknown key `{key}`; {hint}")


def test_what_a_file_is_checked_with():
    assert Settings().context == "project"
    with pytest.raises(SettingsError, match="`context` must be one of file, project"):
        loading.from_table({"context": "world"}, "here", Settings())


def test_inline():
    assert loading.inline('ignore = ["TL1"]', Settings()).ignore == ("TL1",)
    with pytest.raises(SettingsError, match="neither a file nor TOML"):
        loading.inline("no such thing", Settings())


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[tool", b"tool = 3\n[tool.transferlint]\n"])
def test_unreadable_content(tmp_path: Path, content):
    path = tmp_path / "pyproject.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        loading.read(str(path))
    assert "\n" not in str(caught.value)


def test_a_table_that_is_none(tmp_path: Path):
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool]\ntransferlint = 3\n")
    with pytest.raises(SettingsError, match="must be a table"):
        loading.read(str(path))
    path.write_text("tool = 3\n")
    assert nearest.find(str(tmp_path)) != str(path)


def test_common_folder(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "c.py").write_text("")
    assert nearest.common_folder(["a/b", "a/c.py"]) == str(tmp_path / "a")
    assert nearest.common_folder([]) == str(tmp_path)


HARMFUL = "*a" * 12 + "*b"


@pytest.mark.parametrize("key", ["exclude", "extend-exclude", "per-file-ignores"])
def test_patterns_that_take_forever_are_refused(key):
    value = {HARMFUL: ["TL1"]} if key == "per-file-ignores" else [HARMFUL]
    with pytest.raises(SettingsError, match="patterns with at most 4 wildcards each"):
        loading.from_table({key: value}, "here", Settings())
    fine = "**/**/**/**/**/*.pyc"
    loading.from_table({key: {fine: []} if key == "per-file-ignores" else [fine]}, "here", Settings())


def test_patterns_of_git_that_take_forever_are_left_out(tmp_path: Path):
    assert len(gitignore.compiled([HARMFUL, "*.pyc", "*/**/**/**/**/*.pyo"])) == 2
    assert gitignore.compiled(["*/**/**/**/**/*.pyo"]).match_file("a/b/c.pyo")
