"""The import graph between runs: whatever changed, the files that matter are those that a first look finds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transferlint.cache import signatures
from transferlint.settings.loading import Settings
from transferlint.sources import context
from transferlint.sources.discovery import Target
from transferlint.sources.nearest import Nearest

MODULES = ("pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/sub/__init__.py", "pkg/sub/c.py", "run.py", "tool.py")
LINES = (
    "from pkg import a", "import pkg.b", "from .sub import *", "from . import a, b", "from pkg.sub.c import work",
    "from pkg.sub import work", "import pkg.sub as s", "from tool import *", "import run", "pkg.sub.c.work()",
    "def work(x): return x", "def other(y): return y", "def step(y): return work(y)", "a.work(1)", "VALUE = 1",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(LINES), max_size=4).map(lambda lines: "".join(line + "\n" for line in lines))
EDITS = st.lists(st.tuples(st.sampled_from(MODULES), st.one_of(st.none(), TEXTS)), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def _nothing_is_too_new(monkeypatch):
    monkeypatch.setattr(signatures, "SLACK", -(10**18))


def around(target: str, cache: str = "", texts: dict[str, bytes] | None = None) -> context.Context:
    return context.around([target], [Target(target)], Nearest(Settings()), texts, cache)


def write(path: str, text: str, at: int) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    Path(path).write_text(text)
    os.utime(path, ns=(at, at))  # a clock that ticks for every edit


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=len(MODULES), max_size=len(MODULES)), EDITS, st.sampled_from(MODULES))
def test_what_is_kept_changes_nothing(texts, edits, target):
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.mkdir(os.path.join(folder, "work"))
            os.chdir(os.path.join(folder, "work"))
            write("pyproject.toml", "", 1)
            for path, text in zip(MODULES, texts, strict=True):
                write(path, text, 1)
            kept = os.path.join(folder, "kept", "0")
            for number, (path, text) in enumerate(((target, None), *edits), start=2):
                if text is not None:
                    write(path, text, number)
                elif path != target and os.path.exists(path):
                    os.unlink(path)
                assert around(target, kept) == around(target)
        finally:
            os.chdir(before)


@pytest.fixture
def project(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(context, "_MAX_LOOKED_AT", 0)
    for path in ("pyproject.toml", "pkg/__init__.py", "pkg/base.py"):
        write(path, "", 1)
    for number in range(30):
        write(f"pkg/user{number}.py", "from pkg import base\nbase.work(1)\n", 1)
    write("pkg/base.py", "def work(x): return x\n", 1)
    return str(tmp_path / "kept" / "0")


def read(monkeypatch) -> list[str]:
    """The files that are read from now on."""
    found: list[str] = []
    real = context._bytes
    monkeypatch.setattr(context, "_bytes", lambda path: found.append(path) or real(path))
    return found


def test_only_what_changed_and_what_is_asked_about_is_read(project, monkeypatch):
    assert len(around("pkg/user1.py", project).others) == 1
    paths = read(monkeypatch)
    around("pkg/user1.py", project)
    assert set(paths) <= {"pkg/user1.py"}
    write("pkg/user2.py", "import pkg.user1\n", 2)
    paths.clear()
    around("pkg/user1.py", project)
    assert set(paths) <= {"pkg/user1.py", "pkg/user2.py", "pkg/__init__.py"}


def test_a_text_that_is_not_on_disk_is_not_kept(project):
    around("pkg/user1.py", project)
    assert around("pkg/user1.py", project, {"pkg/user1.py": b""}).others == ()
    assert around("pkg/user1.py", project).others == ("pkg/base.py",)
    assert around("pkg/new.py", project, {"pkg/new.py": b"from pkg import base\n"}).others == ("pkg/base.py",)


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, None])
def test_a_damaged_row_is_made_again(project, damage):
    first = around("pkg/user1.py", project)
    (row,) = Path(project).glob("graphs/*")
    row.write_bytes(row.read_bytes()[:-1] if damage is None else damage)
    assert around("pkg/user1.py", project) == first


def test_what_changed_lately_is_read_again(project, monkeypatch):
    monkeypatch.setattr(signatures, "SLACK", 2_000_000_000)
    around("pkg/user1.py", project)
    paths = read(monkeypatch)
    around("pkg/user1.py", project)
    assert "pkg/user2.py" in paths
