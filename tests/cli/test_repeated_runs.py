"""A run that has nothing new to see says again what the last one said; whatever it rests on, a change of it shows."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transferlint.cache import entries, places, runs, signatures
from transferlint.cli import main

HOT = "import torch\n\n\ndef train(loader, model):\n    for x in loader:\n        print(model(x.cuda()).item())\n"


@dataclasses.dataclass
class Project:
    """A project in a current folder, with a cache; time goes by as it is told."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def check(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = main(["check", "-f", "concise", *arguments])
        return code, *self.capsys.readouterr()

    def is_repeated(self, *arguments: str) -> bool:
        """Whether a run is answered without being made; it is made all the same, and says the same."""
        said = runs.known(["check", "-f", "concise", *arguments], os.environ)
        if not isinstance(said, tuple):
            return False
        assert (said[2], said[0], said[1]) == self.check("--no-cache", *arguments)
        return True


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    for name, text in {
        "train.py": HOT,
        "sub/other.py": HOT,
        "pyproject.toml": "[tool.ruff]\nextend = '../shared.toml'\n",
        ".gitignore": "out\n",
    }.items():
        (root / name).write_text(text)
    (root / ".git" / "info").mkdir(parents=True)
    (tmp_path / "shared.toml").write_text("line-length = 100\n")
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(signatures, "SLACK", -(10**18))  # nothing is too new to be trusted
    monkeypatch.chdir(root)
    return Project(root, capsys, monkeypatch)


def test_nothing_changed(project):
    first = project.check(".")
    assert first[0] == 1
    assert "train.py:6:" in first[1]
    project.monkeypatch.setattr("transferlint.engine.checking.check_paths", lambda *_: pytest.fail("checked again"))
    assert project.check(".") == first


@pytest.mark.parametrize("arguments", [["sub"], ["--exit-zero", "."], ["-f", "json", "."], ["--context=file", "."]])
def test_other_arguments_are_another_run(project, arguments):
    project.check(".")
    assert not project.is_repeated(*arguments)
    project.check(*arguments)
    assert project.is_repeated(*arguments)
    assert project.is_repeated(".")


@pytest.mark.parametrize(
    "path",
    [
        "train.py", "sub/new.py", "new/new.py", "pyproject.toml", "sub/pyproject.toml", "transferlint.toml",
        "../transferlint.toml", ".gitignore", "sub/.gitignore", ".git/info/exclude", "../shared.toml", "setup.cfg",
        "sub/.ruff.toml", "sub/.git",
    ],
)  # fmt: skip
def test_what_changed_or_came_shows(project, path):
    project.check(".")
    assert project.is_repeated(".")
    where = project.root / path
    where.parent.mkdir(exist_ok=True)
    where.write_text((where.read_text() if where.exists() else "") + "\n")
    assert not project.is_repeated(".")
    project.check(".")
    assert project.is_repeated(".")


@pytest.mark.parametrize("path", ["train.py", "sub/other.py", "sub", "pyproject.toml", ".gitignore", "../shared.toml"])
def test_what_went_shows(project, path):
    project.check(".")
    where = project.root / path
    where.rename(project.root.parent / "gone")
    assert not project.is_repeated(".")


def test_a_change_that_keeps_size_and_time_shows(project):
    project.check(".")
    path = project.root / "train.py"
    before = path.stat()
    path.write_text(HOT.replace("item", "cuda"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert not project.is_repeated(".")


def test_the_baseline_and_named_settings_count(project):
    (project.root / "known.json").write_text("")
    assert project.check("--baseline", "known.json", "--write-baseline", ".")[0] == 0
    (project.root / "mine.toml").write_text("ignore = []\n")
    arguments = ["--config", "mine.toml", "--baseline", "known.json", "."]
    assert project.check(*arguments)[0] == 0
    assert project.is_repeated(*arguments)
    (project.root / "mine.toml").write_text("ignore = ['TL1']\n")
    assert not project.is_repeated(*arguments)
    project.check(*arguments)
    (project.root / "known.json").write_text((project.root / "known.json").read_text() + " ")
    assert not project.is_repeated(*arguments)


def test_the_file_alone_in_its_project(project):
    (project.root / "lib.py").write_text("import torch\n\n\ndef number(x):\n    return x.item()\n")
    project.check("train.py")
    assert project.is_repeated("train.py")
    (project.root / "lib.py").write_text("import torch\n\n\ndef number(x):\n    return x\n")
    assert not project.is_repeated("train.py")


@pytest.mark.parametrize("variable", ["NO_COLOR", "FORCE_COLOR"])
def test_the_environment_counts(project, variable):
    project.check(".")
    project.monkeypatch.setenv(variable, "1")
    assert not project.is_repeated(".")


def test_a_rule_that_changed_shows(project, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    text = "from transferlint_rules import RULES as OTHERS\nimport dataclasses\nfrom .shared import CODE\n"
    text += "RULE = dataclasses.replace(OTHERS[5], code=CODE, name='own-rule')\n"
    (folder / "own.py").write_text(text)
    (folder / "shared.py").write_text("CODE = 'OWN101'\n")
    arguments = ["--rules", str(folder / "own.py"), "."]
    assert project.check(*arguments)[0] == 1
    assert isinstance(runs.known(["check", "-f", "concise", *arguments], os.environ), tuple)
    (folder / "shared.py").write_text("CODE = 'OWN102'\n")
    assert not isinstance(runs.known(["check", "-f", "concise", *arguments], os.environ), tuple)


@pytest.mark.parametrize(
    "arguments", [["--fix"], ["--diff"], ["--add-ignore", "--reason", "x"], ["-o", "out"], ["--no-cache"], ["no.py"]]
)
def test_what_does_more_than_report_is_not_kept(project, arguments):
    project.check(*arguments, ".")
    assert runs.known(["check", "-f", "concise", *arguments, "."], os.environ) is None


def test_what_changed_while_it_was_checked_is_not_kept(project):
    from transferlint.engine import checking

    checked = checking.check_paths

    def slow(*given):
        result = checked(*given)
        (project.root / "train.py").write_text(HOT + "\n")
        return result

    project.monkeypatch.setattr("transferlint.engine.checking.check_paths", slow)
    project.check(".")
    assert not project.is_repeated(".")


def test_what_changed_lately_is_not_trusted(project):
    project.monkeypatch.undo()
    project.monkeypatch.setenv(places.VARIABLE, str(project.root.parent / "kept"))
    project.monkeypatch.chdir(project.root)
    project.check(".")
    assert not project.is_repeated(".")
    later = time.time_ns() + 3 * signatures.SLACK
    project.monkeypatch.setattr(time, "time_ns", lambda: later)
    project.check(".")
    assert project.is_repeated(".")


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, None])
def test_damaged_rows_are_made_again(project, damage):
    first = project.check(".")
    (row,) = (project.root.parent / "kept").glob("*/runs/*")
    row.write_bytes(row.read_bytes()[:-1] if damage is None else damage)
    assert not project.is_repeated(".")
    assert project.check(".") == first
    assert project.is_repeated(".")


def test_rows_of_a_cache_that_others_can_write_are_not_read(project):
    project.check(".")
    project.monkeypatch.setattr(entries, "read", lambda path: pytest.fail("read"))
    (project.root.parent / "kept").chmod(0o777)
    assert not project.is_repeated(".")
    (project.root.parent / "kept").chmod(0o700)
    os.rename(project.root.parent / "kept", project.root / "kept")
    project.monkeypatch.setenv(places.VARIABLE, str(project.root / "kept"))
    assert not project.is_repeated(".")


def test_a_run_without_news_imports_next_to_nothing(project):
    code = (
        "import sys, transferlint.cache.signatures as s; s.SLACK = -10**18; from transferlint.cli import main;"
        " before = set(sys.modules); main(['check', '.']);"
        " print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}), file=sys.stderr)"
    )
    run = [sys.executable, "-c", code]
    first, second = (subprocess.run(run, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout != ""
    assert {"click", "transferlint_rules"} <= set(first.stderr.split())
    assert set(second.stderr.split()) <= {"transferlint", "hashlib", "_hashlib", "_blake2", "_sha2", "platformdirs"}
