"""Which files a path stands for, in which order, under which names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from transferlint.settings.loading import Settings
from transferlint.sources.discovery import discover, walk
from transferlint.sources.nearest import Nearest


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def _found(*paths: str, **settings: object) -> list[str]:
    found = discover(paths, Nearest(Settings(**settings)))  # type: ignore[arg-type]
    assert not found.troubles
    return [target.path for target in found.targets]


def test_order_names_and_endings(tree):
    _make(tree, "b.py", "a/z.py", "a/b/c.py", "a/stub.pyi", "a/notes.txt", "c/d.py", "script")
    assert _found(".") == ["b.py", "a/z.py", "a/b/c.py", "c/d.py"]
    assert _found("./a/") == ["a/z.py", "a/b/c.py"]
    assert _found(str(tree / "a")) == [f"{tree}/a/z.py", f"{tree}/a/b/c.py"]
    os.chdir("c")
    assert _found("../a") == ["../a/z.py", "../a/b/c.py"]
    assert _found("../script", "../a/stub.pyi") == ["../script"]


def test_a_file_counts_once(tree):
    _make(tree, "a/b.py")
    (tree / "link.py").symlink_to("a/b.py")
    (tree / "folder").symlink_to("a", target_is_directory=True)
    assert _found("a/b.py", "a", ".", "a/../a/b.py") == ["a/b.py"]
    assert _found("folder") == ["folder/b.py"]


def test_default_excludes_hold_below_what_is_named(tree):
    _make(tree, "a.py", ".venv/b.py", "x/build/c.py", "node_modules/d.py", "x/site-packages/e.py", "__pycache__/f.py")
    assert _found(".") == ["a.py"]
    assert _found(".venv", "x/build/c.py") == [".venv/b.py", "x/build/c.py"]
    assert _found(".venv", "x/build/c.py", force_exclude=True) == []


def test_tests_are_passed_over_however_they_are_named(tree):
    _make(tree, "a.py", "test_a.py", "tests/b.py", "x/tests/conftest.py", "benchmarks/c.py", "latest.py")
    assert _found(".") == ["a.py", "latest.py"]
    assert _found("test_a.py", "a.py", "x/tests/conftest.py") == ["a.py"]
    found = discover(("tests", "test_a.py"), Nearest(Settings()))
    assert found.targets == ()
    assert found.note == "nothing but tests in tests, test_a.py, which are not checked (setting `test-paths`)"
    assert [one.path for one in walk(".", Nearest(Settings()))] == ["a.py", "latest.py"]


def test_which_files_are_tests_is_a_setting(tree):
    _make(tree, "a.py", "test_a.py", "spec/b.py")
    assert _found(".", test_paths=()) == ["a.py", "test_a.py", "spec/b.py"]
    assert _found(".", test_paths=("spec/**",)) == ["a.py", "test_a.py"]


def test_exclude_patterns(tree):
    _make(tree, "a.py", "gen/b.py", "src/gen/c.py", "src/d_pb2.py", "venv/e.py")
    assert _found(".", extend_exclude=("/gen", "*_pb2.py")) == ["a.py", "src/gen/c.py"]
    assert _found(".", exclude=("gen",)) == ["a.py", "src/d_pb2.py", "venv/e.py"]
    assert _found("gen", extend_exclude=("gen",), force_exclude=True) == []


def test_patterns_are_relative_to_the_root(tree):
    _make(tree, "pkg/gen/a.py", "pkg/b.py")
    os.chdir("pkg")
    assert _found(".", extend_exclude=("/pkg/gen",), root=str(tree)) == ["b.py"]


def test_gitignore(tree):
    (tree / ".git" / "info").mkdir(parents=True)
    (tree / ".git" / "info" / "exclude").write_text("secret.py\n")
    (tree / ".gitignore").write_text("*_gen.py\n/out/\n!keep_gen.py\n# comment\n")
    _make(tree, "a.py", "a_gen.py", "keep_gen.py", "out/b.py", "sub/out/c.py", "secret.py", "sub/d.py", "sub/e_gen.py")
    (tree / "sub" / ".gitignore").write_text("d.py\n!e_gen.py\n")
    assert _found(".") == ["a.py", "keep_gen.py", "sub/e_gen.py", "sub/out/c.py"]
    assert _found("sub") == ["sub/e_gen.py", "sub/out/c.py"]
    assert _found("out") == ["out/b.py"], "what is named is wanted"
    assert _found("a_gen.py") == ["a_gen.py"]
    assert "a_gen.py" in _found(".", respect_gitignore=False)


def test_gitignore_of_a_linked_work_tree(tree):
    (tree / "main" / ".git" / "worktrees" / "w").mkdir(parents=True)
    (tree / "main" / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n")
    (tree / "main" / ".git" / "info").mkdir()
    (tree / "main" / ".git" / "info" / "exclude").write_text("hidden.py\n")
    _make(tree, "work/hidden.py", "work/a.py")
    (tree / "work" / ".git").write_text(f"gitdir: {tree}/main/.git/worktrees/w\n")
    assert _found("work") == ["work/a.py"]


def test_gitignore_counts_only_in_a_repository(tree):
    (tree / ".gitignore").write_text("a.py\n")
    _make(tree, "a.py")
    if any((above / ".git").exists() for above in tree.parents):
        pytest.skip("the temporary folder stands in a repository")
    assert _found(".") == ["a.py"]


def test_links_in_a_circle(tree):
    _make(tree, "a/b.py")
    (tree / "a" / "up").symlink_to("..", target_is_directory=True)
    assert _found(".") == ["a/b.py"]
    assert _found("a/up") == ["a/up/a/b.py"]


def test_unreadable_folder(tree, monkeypatch):
    _make(tree, "a.py", "b/c.py", "d/e.py")
    real = os.scandir

    def refuse(path):
        if str(path).endswith("b"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = discover(["."], Nearest(Settings()))
    assert [target.path for target in found.targets] == ["a.py", "d/e.py"]
    assert [str(trouble) for trouble in found.troubles] == ["b: cannot be read: permission denied"]
