"""What was found is found again without an analysis, as long as nothing changed that it rests on."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from transferlint import registry
from transferlint.cache import places
from transferlint.engine import steps
from transferlint.engine.checking import Result, check_paths, plan_for
from transferlint.settings.loading import Settings

LIB = "import torch\n\n\ndef number(x):\n    return x.item()\n"
TRAIN = "import torch\nfrom lib import number\n\n\ndef train(loader):\n    for x in loader:\n        number(x.cuda())\n"
APART = "import torch, words\n\n\ndef train(loader):\n    for x in loader:\n        print(x.cuda().item())\n"
FIXED = "import torch\n\n\ndef forward(x):\n    return x + torch.zeros(3).cuda()\n"
TEXTS = {"lib.py": LIB, "train.py": TRAIN, "apart.py": APART, "words.py": "WORDS = 1\n", "made.py": FIXED}
EVERY = ["apart.py", "lib.py", "made.py", "train.py"]


class _Nobody:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@dataclasses.dataclass
class Project:
    """A project in the current folder, and the files that were put together since `checked` was called last."""

    where: str
    placed: list[str]

    def checked(self, **given: Any) -> list[str]:
        """The files that a run analyses; it finds what one without a cache finds."""
        self.placed.clear()
        found = self.run(self.where, **given)
        analysed = sorted(self.placed)
        assert dataclasses.replace(found, seen={}) == dataclasses.replace(self.run("", **given), seen={})
        assert found.texts == {path: Path(path).read_text() for path in found.texts}
        return analysed

    def run(self, where: str, paths: tuple[str, ...] = (".",), **given: Any) -> Result:
        settings = Settings(jobs=1, **given)
        plan = plan_for(settings, registry.load(), write=False, cache=where)
        return check_paths(paths, settings, plan, _Nobody())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    for name, text in TEXTS.items():
        (work / name).write_text(text)
    monkeypatch.chdir(work)
    placed: list[str] = []
    linked = steps.linked

    def noted(prepared: list[steps.Prepared], *given: Any) -> Any:
        placed.extend(one.path.removeprefix("./") for one in prepared if one.program is not None)
        return linked(prepared, *given)

    monkeypatch.setattr(steps, "linked", noted)
    return Project(places.folder({places.VARIABLE: str(tmp_path / "kept")}), placed)


def test_nothing_is_analysed_twice(project: Project) -> None:
    assert project.checked() == EVERY
    assert len(list(Path(project.where, "results").iterdir())) == 4  # three groups, and what is not analysed
    assert project.checked() == []


def test_a_notebook_that_says_nothing_of_tensors_but_in_its_output_costs_no_other_file_anything(
    project: Project,
) -> None:
    """It is analysed, as its bytes are worth it, and so has to be in the group of what it imports."""
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "source": "import lib\nlib.number(3)\n"}
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "torch"}]
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("seen.ipynb").write_text(json.dumps(notebook))
    assert project.checked() == sorted([*EVERY, "seen.ipynb"])
    assert project.checked() == []


def test_a_file_that_is_written_anew_with_the_same_text_is_the_same(project: Project) -> None:
    project.checked()
    for number, name in enumerate(TEXTS):
        Path("new").write_text(TEXTS[name])
        os.replace("new", name)
        os.utime(name, (number, number))
    assert project.checked() == []


@pytest.mark.parametrize(
    ("name", "analysed"),
    [("apart.py", ["apart.py"]), ("lib.py", ["lib.py", "train.py"]), ("train.py", ["lib.py", "train.py"])],
)
def test_what_imports_connect_with_a_change_is_analysed(project: Project, name: str, analysed: list[str]) -> None:
    project.checked()
    Path(name).write_text(TEXTS[name].replace(".item()", ".cpu()") + "\n# more\n")
    assert project.checked() == analysed
    assert project.checked() == []
    Path(name).write_text(TEXTS[name])
    assert project.checked() == []


def test_a_file_without_tensors_connects_nothing(project: Project) -> None:
    project.checked()
    Path("words.py").write_text("WORDS = 2\n")
    assert project.checked() == []
    Path("words.py").write_text("import apart, lib\n")
    assert project.checked() == []
    Path("words.py").write_text("import torch, apart, lib\n")
    assert project.checked() == ["apart.py", "lib.py", "train.py", "words.py"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("ruff.toml", "line-length = 40\n"), ("new.py", ""), ("setup.cfg", "[flake8]\nmax-line-length = 70\n")],
)
def test_what_all_files_rest_on(project: Project, name: str, text: str) -> None:
    project.checked()
    Path(name).write_text(text)
    assert project.checked() == EVERY
    os.unlink(name)
    assert project.checked() == []


@pytest.mark.parametrize("given", [{"select": ("TL1",)}, {"ignore": ("TL101",)}, {"test_paths": ("never.py",)}])
def test_other_settings_are_another_key(project: Project, given: dict[str, Any]) -> None:
    project.checked()
    assert project.checked(**given) == EVERY
    assert project.checked(**given) == []
    assert project.checked() == []


def test_files_that_are_named_rest_on_what_is_around_them(project: Project) -> None:
    assert project.checked(paths=("train.py",)) == ["train.py"]
    Path("apart.py").write_text("import torch\n")
    assert project.checked(paths=("train.py",)) == []
    Path("lib.py").write_text(LIB + "\n\nprint(number)\n")
    assert project.checked(paths=("train.py",)) == ["train.py"]


def test_what_is_to_be_changed_is_analysed(project: Project) -> None:
    project.checked()
    project.placed.clear()
    assert project.run(project.where, fix=True).diffs == project.run("", fix=True).diffs
    assert sorted(project.placed) == sorted(EVERY * 2)


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, None])
def test_damaged_results_are_made_again(project: Project, damage: bytes | None) -> None:
    project.checked()
    for entry in Path(project.where, "results").iterdir():
        entry.write_bytes(entry.read_bytes()[:-1] if damage is None else damage)
    assert project.checked() == EVERY
    assert project.checked() == []


def test_a_name_that_no_import_tells_of_is_followed_all_the_same(project: Project) -> None:
    os.makedirs("spread")
    Path("spread/lib.py").write_text(LIB)
    lines = "import torch\nimport spread\n\npart = spread\n\n\ndef train(loader):\n    for x in loader:\n"
    Path("apart.py").write_text(lines + "        part.lib.number(x.cuda())\n")
    assert {"apart.py", "spread/lib.py"} <= set(project.checked())
    assert {"apart.py", "spread/lib.py"} & {one.site.path.removeprefix("./") for one in project.run("").findings}
