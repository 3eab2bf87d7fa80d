"""A run of which few files changed since the last goes on from it, and says what a run says that keeps nothing."""

from __future__ import annotations

import contextlib
import io
import os
import random
from pathlib import Path
from typing import Any

import pytest
from keystrokes import EDITED, FILES, typed

from transferlint.cache import places, signatures
from transferlint.cli import main, resumed
from transferlint.engine import updates

FORMS = (["-f", "text"], ["-f", "concise"], ["--color", "--sort", "rule"], ["-f", "json"], ["--statistics"])


class Project:
    """A project in the current folder; `ways` has, for each run, whether it went on from the last."""

    def __init__(self) -> None:
        self.ways: list[bool] = []
        self.time = 10**9
        self.path = "."

    def write(self, name: str, text: str, replace: bool = False) -> None:
        """Write a file, in its place or by another that takes it, at a time of its own."""
        path = Path(name)
        if replace:
            (path.parent / "new").write_text(text)
            (path.parent / "new").replace(path)
        else:
            path.write_text(text)
        self.time += 10**9
        os.utime(path, ns=(self.time, self.time))

    def check(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["check", "-j", "1", *arguments, self.path])
        return code, out.getvalue(), err.getvalue()

    def agrees(self, *arguments: str) -> bool:
        """Whether a run goes on from the last, which says the same as one that keeps nothing, and again."""
        self.ways.clear()
        found = self.check(*arguments)
        ways = list(self.ways)
        assert found == self.check("--no-cache", *arguments)
        assert found == self.check(*arguments)
        return ways == [True]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    work = tmp_path / "work"
    (work / "lib").mkdir(parents=True)
    for name, text in FILES.items():
        (work / name).write_text(text)
    (work / "pyproject.toml").write_text("")
    monkeypatch.chdir(work)
    monkeypatch.setattr(updates, "FEWEST", 2)
    monkeypatch.setattr(signatures, "SLACK", -(10**18))  # nothing is too new to be trusted
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "kept"))
    made = Project()
    go_on = resumed.go_on

    def noted(*given: Any) -> Any:
        code = go_on(*given)
        made.ways.append(code is not None)
        return code

    monkeypatch.setattr(resumed, "go_on", noted)
    return made


@pytest.mark.parametrize("form", FORMS[:3])
def test_a_change_that_others_do_not_see_is_all_that_is_looked_at(project: Project, form: list[str]) -> None:
    project.check(*form)
    text = FILES["lib/training.py"]
    for replace in (False, True):
        project.write("lib/training.py", text.replace("total = 0.0", "total = 1.0"), replace)
        assert project.agrees(*form)
        project.write("lib/training.py", text, replace)
        assert project.agrees(*form)


def test_a_run_that_was_no_first_one_is_gone_on_from(project: Project) -> None:
    project.check("-f", "concise")
    text = FILES["lib/training.py"]
    project.write("lib/training.py", text.replace("total = 0.0", "total = 1.0"))
    project.check("-f", "text")  # knows what was found before from nothing but the results
    project.write("lib/layers.py", "# first\n" + FILES["lib/layers.py"])
    assert project.agrees("-f", "text")
    project.write("lib/training.py", text)
    assert project.agrees("-f", "text")
    project.write("lib/layers.py", FILES["lib/layers.py"])
    assert project.agrees("-f", "text")


def test_a_package_that_names_no_tensor_is_gone_on_with_as_any_file(project: Project) -> None:
    project.write("lib/__init__.py", "VERSION = 1\n")
    project.check()
    project.write("lib/__init__.py", "VERSION = 2\n")
    assert project.agrees()


def test_what_came_went_or_is_imported_otherwise_takes_a_whole_run(project: Project) -> None:
    project.check()
    project.write("lib/more.py", FILES["lib/training.py"])
    assert not project.agrees()
    project.write("lib/layers.py", "import lib.training\n" + FILES["lib/layers.py"])
    assert not project.agrees()
    Path("lib/more.py").unlink()
    assert not project.agrees()
    project.write("lib/layers.py", "x = 1\n")
    assert not project.agrees()
    project.write("lib/layers.py", "import torch\ndef f(:\n")
    assert not project.agrees()
    project.write("pyproject.toml", "[tool.transferlint]\nignore = ['TL101']\n")
    assert not project.agrees()


def test_one_file_is_gone_on_with_while_the_same_files_matter_for_it(project: Project) -> None:
    project.path = "lib/layers.py"
    for number in range(3):
        project.write(f"apart{number}.py", "import torch\n\n\ndef apart():\n    return torch.ones(3)\n")
    project.check()
    project.write("apart1.py", "import torch\n\n\ndef apart():\n    return torch.ones(4)\n")
    assert project.agrees()
    project.write("lib/layers.py", "# why\n" + FILES["lib/layers.py"])
    assert project.agrees()
    project.write("apart1.py", "import torch\nfrom lib.layers import *\n\n\ndef apart():\n    return torch.ones(4)\n")
    assert not project.agrees()


def test_a_program_that_names_tensors_from_now_on_is_asked_about_the_one_file_that_is_checked(project: Project) -> None:
    project.write(
        "lib/counting.py",
        "import torch\n\ntable = torch.ones(3, device='cuda')\ndata = torch.utils.data.DataLoader(range(9))\n"
        "\n\ndef total():\n    return table.sum().item()\n",
    )
    program = "from lib.counting import data, total\n\n{}total()\n"
    project.write("job.py", program.format(""))
    project.path = "lib/counting.py"
    assert "Nothing found" in project.check()[1]
    project.write("job.py", program.format("# on the device\nfor n in data:\n    "))
    assert not project.agrees()
    assert "TL101" in project.check()[1]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_said_while_files_are_edited_is_what_a_run_says_that_keeps_nothing(project: Project, seed: int) -> None:
    drawn = random.Random(seed)
    project.path = drawn.choice((".", ".", "lib", *EDITED))
    names = drawn.sample(EDITED, 2)
    form = drawn.choice(FORMS)
    project.check(*form)
    for texts in zip(*(typed(drawn, name, 5) for name in names), strict=False):
        name, text = drawn.choice(list(zip(names, texts, strict=True)))
        project.write(name, drawn.choice((text, FILES[name], "# why\n" + Path(name).read_text())), drawn.random() < 0.3)
        project.agrees(*drawn.choice((form, form, drawn.choice(FORMS))))


ONE_CALL = """
import torch


class Net(torch.nn.Module):
    def __init__(self, noisy=False):
        super().__init__()
        self.noisy = noisy

    def forward(self, x):
        if self.noisy:
            return x + torch.randn(3).to(x.device)
        return x


net = Net().cuda()


def run(loader):
    for x in loader:
        net(x.cuda())


run([torch.ones(3)])
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("pyproject.toml", "[project]\n"), ("setup.cfg", "[metadata]\n"), ("setup.py", "import setuptools\n")],
)
def test_a_project_that_becomes_a_distribution(project: Project, name: str, text: str) -> None:
    project.write("one_call.py", ONE_CALL)
    for _ in range(2):
        assert not project.check("-f", "concise", "--select", "TL401")[1].count("one_call.py")
    project.write(name, text)
    project.agrees("-f", "concise", "--select", "TL401")
    assert project.check("-f", "concise", "--select", "TL401")[1].count("one_call.py") == 1
