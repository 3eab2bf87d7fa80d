"""A group of which few files changed is found to hold what a check finds that keeps nothing, and most of it stands."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path
from typing import Any

import pytest
from keystrokes import EDITED, FILES, typed

from transferlint import registry
from transferlint.cache import bases, places
from transferlint.engine import steps, updates
from transferlint.engine.checking import Result, check_paths, check_stdin, plan_for
from transferlint.flow.incremental.traces import Unforeseen
from transferlint.flow.placement import placement
from transferlint.flow.placement.placement import FilePlacement
from transferlint.model import Safety
from transferlint.settings.loading import Settings

PACKS = registry.load()
counts = pytest.mark.skipif(
    not placement.__file__.endswith(".py"), reason="what is compiled calls its methods without looking them up"
)


class _Nobody:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@dataclasses.dataclass
class Project:
    """A project in the current folder. `updated` has, for each update since `checked` was called last, how many files
    were looked at again, or what it was given up for; `placed` the functions that were placed."""

    where: str
    updated: list[int | type]
    placed: list[tuple[str, str]]

    def checked(self, *paths: str) -> Result:
        """What a run finds: as one does that keeps nothing."""
        self.updated.clear()
        self.placed.clear()
        found = self.run(self.where, *paths)
        placed = list(self.placed)
        assert found == self.run("", *paths)
        self.placed[:] = placed
        return found

    def run(self, where: str, *paths: str, select: tuple[str, ...] | None = None) -> Result:
        settings = Settings(jobs=1, select=select)
        plan = plan_for(settings, PACKS, write=False, cache=where)
        found = check_paths(paths or (".",), settings, plan, _Nobody())
        return dataclasses.replace(found, seen={})


HELPING = """import torch


def value(x):
    return x


def other(x):
    return torch.relu(x)
"""
ASKING = """import torch

from lib.helping import value


def main(model, loader):
    for batch in loader:
        value(model(batch.cuda()))


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2).cuda(), [])
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    work = tmp_path / "work"
    (work / "lib").mkdir(parents=True)
    for name, text in FILES.items():
        (work / name).write_text(text)
    monkeypatch.chdir(work)
    monkeypatch.setattr(updates, "FEWEST", 2)
    updated: list[int | type] = []
    placed: list[tuple[str, str]] = []
    real, place = updates._updated, FilePlacement._placed

    def noted(*given: Any) -> Any:
        try:
            found = real(*given)
        except BaseException as error:
            updated.append(type(error))
            raise
        updated.append(len(found.outcomes))
        return found

    def counted(self: FilePlacement, index: int) -> Any:
        placed.append((self.key, self.program.functions[index].qualname))
        return place(self, index)

    monkeypatch.setattr(updates, "_updated", noted)
    monkeypatch.setattr(FilePlacement, "_placed", counted)
    return Project(places.folder({places.VARIABLE: str(tmp_path / "kept")}), updated, placed)


@pytest.mark.parametrize("few", [0, 3])  # changes after which all is written down anew
@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_while_files_are_edited_is_what_a_check_finds_that_keeps_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch, seed: int, few: int
) -> None:
    """Two files are edited in turn; between, something small is changed in any of them."""
    monkeypatch.setattr(updates, "FEW", few)
    drawn = random.Random(seed)
    names = drawn.sample(EDITED, 2)
    first, second = (typed(drawn, name, 6) for name in names)
    project.checked()
    for texts in zip(first, second, strict=False):
        name, text = drawn.choice(list(zip(names, texts, strict=True)))
        other = drawn.choice(EDITED)
        for path, new in ((name, text), (other, small(drawn, Path(other).read_text()))):
            Path(path).write_text(new)
            project.checked()
            assert {one for one in project.updated if isinstance(one, type)} <= {Unforeseen, steps.Beyond}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_in_some_files_is_what_is_found_in_them_where_all_are_checked(
    project: Project, seed: int
) -> None:
    """Whichever files are checked, in runs that go on from each other, as commits name them."""
    drawn = random.Random(seed)
    if seed % 2:
        project.checked()
    for _ in range(6):
        some = drawn.sample(EDITED, drawn.randrange(1, 3))
        for name in some:
            Path(name).write_text(small(drawn, Path(name).read_text()))
        found = project.checked(*some)
        every = project.run("").findings
        assert set(found.findings) == {one for one in every if one.site.path in some}


def test_whom_other_rules_looked_at_does_not_count(project: Project) -> None:
    """What was written down by a run of one rule says nothing of whom the others look at."""
    project.run(project.where, select=("TL401",))
    project.checked()
    path = Path("lib/reading.py")
    path.write_text("# why\n" + FILES["lib/reading.py"])  # findings of another file say where it reads
    project.checked()
    assert isinstance(project.updated[0], int)


@pytest.mark.parametrize("seed", range(3))
def test_text_from_standard_input_is_checked_as_if_it_stood_in_its_file(project: Project, seed: int) -> None:
    drawn = random.Random(seed)
    project.checked()
    settings = Settings(jobs=1)
    for _ in range(4):
        name = drawn.choice(EDITED)
        data = small(drawn, FILES[name]).encode()
        found = [
            check_stdin(name, data, settings, plan_for(settings, PACKS, write=False, cache=where))
            for where in (project.where, "")
        ]
        assert dataclasses.replace(found[0][0], seen={}) == dataclasses.replace(found[1][0], seen={})
    assert any(isinstance(one, int) for one in project.updated)
    assert all(Path(name).read_text() == FILES[name] for name in EDITED)


@counts
def test_another_file_costs_no_more_than_it(project: Project) -> None:
    project.checked("lib/training.py")
    every = set(project.placed)
    project.checked("lib/reading.py")
    assert project.updated == [1]
    assert 0 < len(set(project.placed)) < len(every) / 2
    project.checked("lib/training.py")
    assert project.placed == []


def test_a_file_costs_no_more_than_it_where_another_was_edited_before(project: Project) -> None:
    """As commits come: the file of the last one is not as it was written down, and only looked up now."""
    project.checked()
    for name in ("lib/training.py", "lib/reading.py"):
        Path(name).write_text(FILES[name] + "# why\n")
        project.checked(name)
        assert project.updated == [1]


def test_small_changes_cost_few_files(project: Project) -> None:
    drawn = random.Random(1)
    project.checked()
    updates = []
    for _ in range(12):
        name = drawn.choice(EDITED)
        Path(name).write_text(small(drawn, FILES[name]))
        project.checked()
        updates += project.updated
        Path(name).write_text(FILES[name])
        project.checked()
    assert sum(isinstance(one, int) for one in updates) >= 2


def test_small_changes_one_after_the_other_are_found_as_by_a_check_that_keeps_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes on from what was written down after the one before."""
    monkeypatch.setattr(updates, "FEW", 0)
    made = []
    for seed in range(4):
        drawn = random.Random(seed)
        for name in EDITED:
            Path(name).write_text(FILES[name])
        project.checked()
        for _ in range(6):
            name = drawn.choice(EDITED)
            Path(name).write_text(small(drawn, Path(name).read_text()))
            project.checked()
            made += project.updated
    assert sum(isinstance(one, int) for one in made) >= 6


@counts
def test_what_was_written_down_anew_is_changed_no_more(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "FEW", 0)
    project.checked()
    first, second = Path("lib/training.py"), Path("lib/reading.py")
    first.write_text(FILES["lib/training.py"].replace("total = 0.0", "count = 2\n        total = 1.0 * count"))
    project.checked()
    assert isinstance(project.updated[0], int)
    assert ("lib/training.py", "Trainer.run") in project.placed
    counted: list[int] = []
    real = updates._updated
    monkeypatch.setattr(updates, "_updated", lambda *given: counted.append(len(given[3])) or real(*given))
    second.write_text("# why\n" + FILES["lib/reading.py"])
    project.checked()
    assert counted == [1]
    assert isinstance(project.updated[0], int)


def test_what_another_run_wrote_meanwhile_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.checked()
    (base,) = Path(project.where, "bases").iterdir()
    known = bases.read(project.where, base.name)
    assert known is not None
    base.write_bytes(b"of another run")
    known.renew(project.where, known.head, {})
    assert base.read_bytes() == b"of another run"
    assert [one.name for one in base.parent.iterdir()] == [base.name]


def small(drawn: random.Random, text: str) -> str:
    """A number, a comment or a device that is another one."""
    numbers = [found for found in re.finditer(r"\b[0-9]\b|'cuda'|\"cuda\"|\.item\(\)", text)]
    if not numbers or drawn.random() < 0.2:
        return "# why\n" + text
    found = drawn.choice(numbers)
    new = {"'": "'cpu'", '"': '"cpu"', ".": ".cpu()"}.get(found[0][0], str(drawn.randrange(10)))
    return text[: found.start()] + new + text[found.end() :]


@counts
def test_a_change_that_others_do_not_see_costs_its_own_file(project: Project) -> None:
    project.checked()
    every = set(project.placed)
    path = Path("lib/training.py")
    path.write_text(FILES["lib/training.py"].replace("total = 0.0", "total = 1.0"))
    project.checked()
    assert isinstance(project.updated[0], int)
    assert ("lib/training.py", "Trainer.run") in project.placed
    assert len(set(project.placed)) < len(every) / 2 + 8
    project.checked()
    assert project.updated == []  # nothing changed since
    assert project.placed == []


def test_a_defect_of_ours_is_told_and_costs_time_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> Any:
        raise RecursionError("too deep")

    project.checked()
    path = Path("lib/training.py")
    path.write_text(FILES["lib/training.py"].replace("total = 0.0", "total = 1.0"))
    monkeypatch.setattr(updates, "_updated", broken)
    made = project.run(project.where)
    assert [one for one in made.notes if "internal error" in one and "RecursionError: too deep" in one], made.notes
    assert made.findings == project.run("").findings


@counts
def test_what_calls_a_function_that_gives_something_else_is_placed_again(project: Project) -> None:
    layers = FILES["lib/layers.py"].replace('self.last = moved(x, "cuda")', "self.last = x.cuda()")
    Path("lib/layers.py").write_text(layers)
    project.checked()
    path = Path("lib/reading.py")
    path.write_text(FILES["lib/reading.py"].replace("return x.to(device)", 'return x.to(device).to("cpu")'))
    project.checked()
    assert isinstance(project.updated[0], int)
    assert ("lib/training.py", "Trainer.step") in project.placed


def test_what_a_function_uploads_into_its_argument_is_seen_by_its_callers(project: Project) -> None:
    helper = "def send(batch):\n    for key in batch:\n        batch[key] = batch[key]{}\n"
    Path("lib/sending.py").write_text(helper.format(""))
    Path("lib/epoch.py").write_text(
        "from lib.sending import send\n\n\ndef run(loader, model):\n    for batch in loader:\n        send(batch)\n"
        "        print(batch['x'].sum().item())\n"
    )
    before = project.checked()
    Path("lib/sending.py").write_text(helper.format(".cuda()"))
    after = project.checked()
    told = [{(one.site.path, one.site.line) for one in run.findings} for run in (before, after)]
    assert ("lib/epoch.py", 7) in told[1] - told[0]


def test_lines_of_another_file_that_a_finding_names_are_those_of_now(project: Project) -> None:
    project.checked()
    path = Path("lib/reading.py")
    path.write_text("# why\n" + FILES["lib/reading.py"])
    project.checked()
    assert isinstance(project.updated[0], int)
    assert project.updated[0] > 1  # the findings for calls of `value` say where it reads


def test_of_the_files_that_look_into_one_those_that_saw_what_changed_are_looked_at_again(project: Project) -> None:
    path = Path("lib/helping.py")
    path.write_text(HELPING)
    Path("lib/asking.py").write_text(ASKING)
    project.checked()
    path.write_text(HELPING.replace("return torch.relu(x)", "y = torch.relu(x)\n    return y"))
    project.checked()
    assert project.updated == [1]
    path.write_text(HELPING.replace("def value(x):", "def value(x, more):"))  # a call lacks one now
    project.checked()
    assert project.updated != [1]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"", lambda data: b"\0" * len(data)])
def test_what_was_damaged_is_written_anew(project: Project, damage: Any) -> None:
    project.checked()
    bases = list(Path(project.where, "bases").iterdir())
    assert bases
    for base in bases:
        base.write_bytes(damage(base.read_bytes()))
    path = Path("lib/training.py")
    path.write_text(FILES["lib/training.py"] + "\n# why\n")
    project.checked()
    assert project.updated == []
    path.write_text(FILES["lib/training.py"] + "\n# why not\n")
    project.checked()
    assert isinstance(project.updated[0], int)


@counts
def test_what_is_given_from_the_device_still_is_looked_at_no_further(project: Project) -> None:
    """A result that was on the device where the program is given one, and now is on it for certain, is handed on."""
    text = MADE + "\n\nWHERE = 'cuda'\n"  # the program speaks of an accelerator as it is
    Path("lib/handing.py").write_text(HANDING)
    Path("lib/made.py").write_text(text)
    project.checked()
    every = set(project.placed)
    Path("lib/made.py").write_text(text.replace("return x", "return x.cuda()"))
    project.checked()
    assert isinstance(project.updated[0], int)
    assert len(set(project.placed)) < len(every)


@counts
@pytest.mark.parametrize("default", ["4", "2.5", "True"])
def test_a_default_costs_those_that_see_how_the_function_is_declared(project: Project, default: str) -> None:
    project.checked()
    every = set(project.placed)
    text = FILES["lib/reading.py"].replace("depth=3", f"depth={default}")
    Path("lib/reading.py").write_text(text)
    project.checked()
    assert isinstance(project.updated[0], int)
    assert ("lib/training.py", "Trainer.run") in project.placed
    assert len(set(project.placed)) < len(every)
    Path("lib/reading.py").write_text(text.replace('device="cpu"', 'device="cuda"'))
    project.checked()


@pytest.mark.parametrize("given", ["", "plain(torch.ones(3).cuda())", "plain(torch.ones(3))", "plain(unknown())"])
def test_a_parameter_that_is_found_to_be_a_tensor_is_looked_at_by_what_callers_give(
    project: Project, given: str
) -> None:
    text = "def plain(x):\n    return x\n"
    Path("lib/plain.py").write_text("import torch\n" + text)
    Path("lib/giving.py").write_text(f"import torch\nfrom lib.plain import plain\nprint({given or 'plain'})\n")
    project.checked()
    Path("lib/plain.py").write_text("import torch\n" + text.replace("return x", "return x.cpu()"))
    project.checked()
    assert given or isinstance(project.updated[0], int)
    Path("lib/giving.py").write_text("import torch\nfrom lib.plain import plain\nprint(plain(torch.zeros(1)))\n")
    project.checked()


@pytest.mark.parametrize("taken", ["x", "x: torch.Tensor", "x=None", "x: list"])
@pytest.mark.parametrize("made", ["x.cuda()", "x.cpu()", "[x.cuda()]", "None", "x.item()"])
def test_what_is_given_otherwise_tells_whom_it_is_given(project: Project, taken: str, made: str) -> None:
    Path("lib/handing.py").write_text(HANDING.replace("x: torch.Tensor", taken))
    Path("lib/made.py").write_text(MADE)
    project.checked()
    Path("lib/made.py").write_text(MADE.replace("return x", f"return {made}"))
    project.checked()
    Path("lib/made.py").write_text(MADE)
    project.checked()


MADE = "import torch\n\n\ndef made(x: torch.Tensor, device):\n    x = x.to(device)\n    return x\n"
HANDING = """import torch
from lib.made import made


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, device):
        return self.inner(made(x, device))

    def inner(self, x: torch.Tensor):
        if x is None:
            return 0
        return handed(x) + x.sum().item()


class Other(Net):
    def inner(self, x: torch.Tensor):
        return handed(x).cpu()


def handed(x: torch.Tensor):
    for one in range(10):
        print(x.sum().item())
    return x * 2


def run(loader, net: Net, device):
    for x in loader:
        y = made(x, device)
        net(handed(y), device)
"""


def test_what_is_no_longer_there_is_told_to_those_that_need_what_needs_it(project: Project) -> None:
    """An edit of `main.py` is applied only where all that it imports, in the end, is there."""
    Path("lib/kept.py").write_text("import torch\n\n\ndef kept(x):\n    return x.cuda()\n")
    Path("lib/middle.py").write_text("import torch\nfrom lib.kept import kept\n\n\ndef go(x):\n    return kept(x)\n")
    Path("main.py").write_text(
        "import torch\nfrom torch import nn\nfrom lib.middle import go\n\n\ndef train(net, loader):\n    total = 0.0\n"
        "    for x in loader:\n        total += net(go(x.cuda())).mean().item()\n    return total\n\n\n"
        'if __name__ == "__main__":\n    train(nn.Linear(2, 2).cuda(), open("x"))\n'
    )

    def applied() -> list[Safety]:
        return [one.fix.safety for one in project.checked().findings if one.site.path == "main.py" and one.fix]

    assert applied() == [Safety.UNSAFE]
    text = Path("lib/kept.py").read_text()
    Path("lib/kept.py").write_text(text.replace("def kept", "def gone"))
    assert applied() == [Safety.DISPLAY]
    Path("lib/kept.py").write_text(text)
    assert applied() == [Safety.UNSAFE]
    Path("lib/kept.py").rename("lib/gone.py")
    assert applied() == [Safety.DISPLAY]


@pytest.mark.parametrize("device", ["a", "b"])
def test_a_result_of_which_two_fields_changed_places_is_seen_by_its_callers(project: Project, device: str) -> None:
    text = "import torch\n\n\ndef made():\n    return {{'{}': torch.ones(3), '{}': torch.ones(3, device='cuda')}}\n"
    Path("lib/making.py").write_text(text.format(*("ba" if device == "a" else "ab")))
    Path("lib/epoch.py").write_text(
        "from lib.making import made\n\n\ndef run(loader):\n    for batch in loader:\n"
        "        print(made()['b'].sum().item())\n\n\nif __name__ == '__main__':\n    run([])\n"
    )
    project.checked()
    Path("lib/making.py").write_text(text.format(*("ab" if device == "a" else "ba")))
    told = {(one.site.path, one.site.line) for one in project.checked().findings}
    assert (("lib/epoch.py", 6) in told) == (device == "a")
