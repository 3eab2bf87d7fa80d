"""Which files of a project no import connects."""

from __future__ import annotations

import os

import pytest

from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.sources.connected import groups
from transferlint.sources.reach import Reach


def found(links: dict[str, str] | None = None, /, **texts: str) -> list[list[str]]:
    """The groups of files by their text; "__" in a name stands for the separator of folders, "INIT" for a package."""
    files = {name.replace("__", os.sep).replace("INIT", "__init__") + ".py": text for name, text in texts.items()}
    sources = {path: text.encode() for path, text in files.items()}
    index = ModuleIndex(files, os.curdir, links)
    packages = [path for path in files if path.endswith("__init__.py")]
    return [sorted(group) for group in groups(files, Reach(sources, index), links or {}, packages)]


def test_what_nothing_connects_is_apart() -> None:
    assert found(a="import torch", b="import torch", c="") == [["a.py"], ["b.py"], ["c.py"]]


def test_users_of_one_file_go_together() -> None:
    assert found(a="import lib", b="from lib import f", lib="", c="") == [["a.py", "b.py", "lib.py"], ["c.py"]]


def test_a_file_between_connects() -> None:
    assert found(a="import b", b="import c", c="", d="import e", e="") == [["a.py", "b.py", "c.py"], ["d.py", "e.py"]]


@pytest.mark.parametrize("text", ["import pkg\np = pkg\np.deep.f()", "from pkg import deep", "import pkg.deep as d"])
def test_a_package_is_one(text: str) -> None:
    files = ["main.py", "pkg/__init__.py", "pkg/deep.py", "pkg/sub/inner.py"]
    given = {"main": text, "pkg__INIT": "", "pkg__deep": "", "pkg__sub__inner": "", "apart": ""}
    assert found(**given) == [files, ["apart.py"]]


def test_packages_within_packages() -> None:
    assert found(a__INIT="", a__b__INIT="", a__b__c="", b="") == [
        ["a/__init__.py", "a/b/__init__.py", "a/b/c.py"],
        ["b.py"],
    ]


def test_a_package_that_passes_names_on_is_connected_with_where_they_come_from() -> None:
    given = {"pkg__INIT": "from lib import f", "lib": "def f(): ...", "apart": ""}
    assert found(**given) == [["lib.py", "pkg/__init__.py"], ["apart.py"]]


def test_a_link_goes_with_what_it_leads_to() -> None:
    assert found({"b.py": "a.py"}, a="", b="", c="") == [["a.py", "b.py"], ["c.py"]]
