"""A short fuzz of every family, always of the same seed; and the fuzzer itself: it finds what is planted, makes it
small, keeps it, and makes the same cases from the same seed."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from fuzz import counting, mutants, projects, reducing
from fuzz.__main__ import Fuzzing
from fuzz.judging import Case, Fault
from fuzz.options import options
from fuzz.programs import program
from fuzz.soup import soup

ROOT = Path(__file__).parents[1]
MET = sorted((ROOT / "tests" / "fuzz" / "met").glob("*.py"))
ROUNDS = {"soup": 12, "mutants": 18, "projects": 3, "options": 12, "tensors": 8}


@pytest.mark.parametrize("family", ROUNDS)
def test_what_must_hold_holds_of_generated_cases(family: str, tmp_path: Path) -> None:
    said = fuzzed(tmp_path, "--only", family, "--rounds", str(ROUNDS[family]), "--seed", "1")
    assert f"{ROUNDS[family]} {family}: nothing failed" in said


def test_what_failed_once_holds(tmp_path: Path) -> None:
    """Programs that earlier runs found and made small, through what judges them now."""
    said = fuzzed(tmp_path, "--only", "mutants", "soup", "tensors", "--met")
    assert sum(map(int, re.findall(r"(\d+) (?:mutants|soup|tensors)\b", said.splitlines()[-1]))) == len(MET)


def fuzzed(tmp_path: Path, *arguments: str) -> str:
    """What a run says in which nothing fails; skips where there is no simulated accelerator."""
    command = [sys.executable, "-m", "fuzz", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    made = subprocess.run(
        [*command, "--keep", str(tmp_path)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if made.returncode == 3:
        pytest.skip(made.stdout.splitlines()[-1])
    assert made.returncode == 0, made.stdout[-6000:] + made.stderr[-3000:]
    return made.stdout


class Planted:
    """A family that takes every call of `item` for a fault."""

    def make(self, chance: random.Random) -> Case:
        return Case({"program.py": program(chance), "other.py": "x = 1\n"})

    def judge(self, case: Case, told: bool) -> list[Fault]:
        found = ".item()" in "".join(case.files.values())
        return [Fault("an item", "there")] if found else []

    def told(self) -> Iterable[str]:
        return ()

    def close(self) -> None:
        """Nothing was begun."""


def test_what_is_planted_is_found_made_small_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fuzzing = Fuzzing({"planted": Planted()}, 7, tmp_path)
    fuzzing.repeat(6)
    said = capsys.readouterr().out
    assert list(fuzzing.failed) == ["an item"]
    label = fuzzing.failed["an item"]
    assert f"make fuzz ROUND={label}" in said
    (folder,) = tmp_path.iterdir()
    assert folder.name == label.replace(":", "-")
    (small,) = folder.glob("*.py")
    assert small.read_text().strip() == "x.item()"
    assert "an item" in (folder / "about.txt").read_text()


def test_an_exception_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Raises(Planted):
        def judge(self, case: Case, told: bool) -> list[Fault]:
            raise KeyError(None)

    fuzzing = Fuzzing({"raises": Raises()}, 7, tmp_path)
    fuzzing.repeat(1)
    assert list(fuzzing.failed) == ["KeyError in test_fuzz.py, judge"]
    assert "KeyError" in capsys.readouterr().out


def test_a_case_is_made_as_small_as_can_be() -> None:
    text = "class A:\n    def f(self, x):\n        if x:\n\n            return g(x + wanted(1), 2)\n        return 3\n"
    small = reducing.reduced(Case({"a.py": text, "b.py": ""}), lambda case: "wanted" in case.files.get("a.py", ""))
    assert small.files == {"a.py": "wanted\n"}


def test_calls_are_counted_and_limited() -> None:
    def work(times: int) -> None:
        for _ in range(times):
            len("")

    assert counting.calls(lambda: work(100), 1000) - counting.calls(lambda: work(10), 1000) == 90
    with pytest.raises(counting.Runaway):
        counting.calls(lambda: work(2000), 1000)


def test_the_same_seed_makes_the_same_cases() -> None:
    for make in (soup, mutants.mutant, program, projects.project, options):
        assert make(random.Random("a")) == make(random.Random("a"))
        assert make(random.Random("a")) != make(random.Random("b"))


def test_most_generated_texts_are_python() -> None:
    made = [random.Random(number) for number in range(60)]
    assert sum(mutants.parses(soup(one)) for one in made) >= 36
    assert all(mutants.parses(program(one)) for one in made)
