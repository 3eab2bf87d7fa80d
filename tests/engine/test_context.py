"""The project around what is checked: its folder and its files."""

from __future__ import annotations

import os

import pytest

from transferlint.settings.loading import Settings
from transferlint.sources import context
from transferlint.sources.discovery import discover
from transferlint.sources.nearest import Nearest

USER = "import lib.model\nlib.model.f()\n"
MODEL = "from lib import base\ndef f(): pass\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    for path, text in {
        "pyproject.toml": "",
        "lib/__init__.py": "",
        "lib/model.py": MODEL,
        "lib/base.py": "class B: pass\n",
        "apps/use_model.py": USER,
        "scripts/other.py": "import os\n",
        "build/lib/model.py": MODEL,
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(context, "_MAX_LOOKED_AT", 0)
    return tmp_path


def around(*paths: str, **settings: object) -> context.Context:
    given = Nearest(Settings(**settings))  # type: ignore[arg-type]
    return context.around(paths, discover(paths, given).targets, given)


def test_the_project_is_the_nearest_folder_with_a_marker(project):
    found = around("lib/model.py")
    assert found.root == str(project)
    assert set(found.others) == {"lib/base.py", "apps/use_model.py"}
    assert set(found.files) == {
        "lib/__init__.py", "lib/base.py", "lib/model.py", "scripts/other.py", "apps/use_model.py",
    }  # fmt: skip


@pytest.mark.parametrize("marker", ["setup.py", "setup.cfg", "transferlint.toml", ".git", "pyproject.toml"])
def test_markers(project, marker):
    (project / "lib" / marker).write_text("")
    found = around("lib/model.py")
    assert found.root == str(project / "lib")
    assert set(found.others) == {"lib/base.py"}


def test_the_root_that_is_given_wins(project):
    (project / "lib" / "setup.py").write_text("")
    assert around("lib/model.py", project_root=str(project)).root == str(project)


def test_without_a_marker_it_is_the_current_folder(project, monkeypatch):
    (project / "pyproject.toml").unlink()
    assert around("lib/model.py", "tests").root == str(project)
    found = around("lib/model.py")
    assert found.root == str(project)
    assert set(found.others) == {"lib/base.py", "apps/use_model.py"}
    assert not found.whole


def test_the_common_folder_where_the_current_one_says_nothing(project, monkeypatch):
    (project / "pyproject.toml").unlink()
    monkeypatch.chdir(project / "scripts")  # it holds none of the files
    assert around("../lib/model.py").root == str(project / "lib")
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(project))  # it holds the projects of many
    assert around("lib/model.py").root == str(project / "lib")
    monkeypatch.setenv("HOME", str(project / "lib"))
    assert around("lib/model.py").root == str(project / "lib")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(context, "MAX_FILES_UNMARKED", 4)  # it holds too much
    found = around("lib/model.py")
    assert (found.root, found.note) == (str(project / "lib"), "")


def test_several_paths_have_one_project(project):
    found = around("lib/model.py", "apps")
    assert set(found.others) == {"lib/base.py"}


def test_tests_are_no_context(project):
    (project / "test_all.py").write_text(USER)
    found = around("lib/model.py")
    assert "test_all.py" not in (*found.files, *found.others)


def test_everything_checked_leaves_no_others(project):
    assert around(".").others == ()


def test_paths_are_named_as_the_given_ones(project):
    found = around(str(project / "lib" / "model.py"))
    assert all(os.path.isabs(path) for path in (*found.files, *found.others))
    assert str(project / "apps" / "use_model.py") in found.others


def test_from_a_folder_below(project, monkeypatch):
    monkeypatch.chdir(project / "apps")
    assert set(around("use_model.py").others) == {"../lib/model.py", "../lib/base.py"}


def test_a_link_to_a_file_is_that_file(project):
    (project / "scripts" / "model.py").symlink_to(project / "lib" / "model.py")
    found = around("lib/model.py")
    assert found.links == {"scripts/model.py": "lib/model.py"}
    assert found.index().find("model.f", "scripts/other.py") == ("lib/model.py", "f")


def test_an_excluded_file_that_is_named_is_checked_and_known(project):
    found = around("build/lib/model.py")
    assert "build/lib/model.py" in found.files


def test_large_files_are_no_context(project):
    (project / "lib" / "base.py").write_text("class B: pass\n" + "#" * context.MAX_BYTES)
    assert "lib/base.py" not in around("lib/model.py").others


def test_a_folder_of_everything_is_no_project(project, monkeypatch):
    monkeypatch.setattr(context, "MAX_FILES", 3)
    found = around("lib/model.py")
    assert found.others == ()
    assert found.files == ("lib/model.py",)
    assert "more than 3 Python files" in found.note


def test_what_is_checked_of_a_folder_of_everything_is_known_to_each_other(project, monkeypatch):
    whole = around(".")
    monkeypatch.setattr(context, "MAX_FILES", 3)
    found = around(".")
    assert not found.note
    assert sorted(found.groups) == sorted(whole.groups)


def test_of_a_project_that_is_not_large_everything_connected_is_asked(project, monkeypatch):
    for path in ("lib/model.py", "lib/base.py", "apps/use_model.py"):  # what names no tensors is not analysed
        (project / path).write_text("import torch\n" + (project / path).read_text())
    (project / "scripts" / "second.py").write_text("import torch\nfrom lib import base\nbase.B()\n")
    (project / "scripts" / "alone.py").write_text("import torch\n")
    assert set(around("lib/model.py").others) == {"lib/base.py", "apps/use_model.py"}
    monkeypatch.setattr(context, "_MAX_LOOKED_AT", 400)
    found = around("lib/model.py")
    assert {"lib/base.py", "apps/use_model.py", "scripts/second.py"} <= set(found.others)
    assert "scripts/alone.py" not in found.others
    assert found.worth is not None
    assert "scripts/alone.py" in found.worth
    assert "scripts/other.py" not in found.worth
    monkeypatch.setattr(context, "MAX_CONNECTED", 2)
    assert set(around("lib/model.py").others) == {"lib/base.py", "apps/use_model.py"}


def test_text_that_is_not_on_disk(project):
    given = Nearest(Settings())
    (target,) = discover(["lib/model.py"], given).targets
    found = context.around(["lib/model.py"], [target], given, {"lib/model.py": b"import scripts.other\n"})
    assert set(found.others) == {"scripts/other.py"}
