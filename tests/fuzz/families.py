"""The families of rounds: how a case is made, and what judges it."""

from __future__ import annotations

import importlib.util
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from fuzz.judging import Case, Fault
from transferlint.engine import workers


class Unavailable(Exception):
    """A family that cannot be run here; one line says why."""


class Family(Protocol):
    """One kind of case. `close` is called once, when all is done; `told` gives lines of what was counted."""

    def make(self, chance: random.Random) -> Case:
        """A case from random choices."""

    def judge(self, case: Case, told: bool) -> list[Fault]:
        """What does not hold of it; `told` says to count it."""

    def told(self) -> Iterable[str]:
        """What was counted."""

    def close(self) -> None:
        """End what was begun."""


class _Plain:
    """A family with a scratch folder that counts nothing, judged with a stack as deep as `check` has."""

    def __init__(
        self, make: Callable[[random.Random], Case], judge: Callable[[Path], Callable[[Case], list[Fault]]]
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self._make = make
        self._judge = judge(self._folder)

    def make(self, chance: random.Random) -> Case:
        return self._make(chance)

    def judge(self, case: Case, told: bool) -> list[Fault]:
        return workers.deep(lambda: self._judge(case))

    def told(self) -> Iterable[str]:
        return ()

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _soup() -> Family:
    from fuzz.properties import Texts, growth
    from fuzz.soup import soup

    return _Plain(lambda chance: Case({"program.py": soup(chance)}, growth(chance)), lambda folder: Texts(folder).judge)


def _mutants() -> Family:
    from fuzz.mutants import mutant
    from fuzz.properties import Texts, growth

    return _Plain(
        lambda chance: Case({"program.py": mutant(chance)}, growth(chance)), lambda folder: Texts(folder).judge
    )


def _projects() -> Family:
    from fuzz.projects import Projects, project

    return _Plain(project, lambda folder: Projects(folder).judge)


def _options() -> Family:
    from fuzz.options import Options, options

    return _Plain(options, lambda folder: Options(folder).judge)


class _Tensors:
    """Tensor programs on the simulated accelerator."""

    def __init__(self) -> None:
        if importlib.util.find_spec("torch") is None:
            raise Unavailable("torch is not installed")
        from fuzz.truth import Truth, scratch, unmet

        if why := unmet():
            raise Unavailable(why)
        self._folder = scratch()
        self._truth = Truth(self._folder)

    def make(self, chance: random.Random) -> Case:
        from fuzz.programs import program

        return Case({"program.py": program(chance)})

    def judge(self, case: Case, told: bool) -> list[Fault]:
        return self._truth.judge(case, told)

    def told(self) -> Iterable[str]:
        from fuzz.truth import table

        return table(self._truth.tallies)

    def close(self) -> None:
        self._truth.close()
        shutil.rmtree(self._folder, ignore_errors=True)


FAMILIES: Mapping[str, Callable[[], Family]] = {
    "soup": _soup,
    "mutants": _mutants,
    "projects": _projects,
    "options": _options,
    "tensors": _Tensors,
}
