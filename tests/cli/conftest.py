"""Running the command in a folder of its own, with a pack of two rules that find words, so that these tests stand on
nothing that the analysis knows."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from transferlint import registry
from transferlint.cli import main
from transferlint.model import Confidence, Edit, Evidence, Finding, Fix, Heat, Level, Safety, Site
from transferlint.rule import HEADINGS, Example, Rule

DOC = "\n\n".join(f"{heading}\n{'-' * len(heading)}\nSome words." for heading in HEADINGS)


def _site(path: str, text: str, start: int, end: int) -> Site:
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Site(path, line, column, line, column + end - start)


def _finds(word: str, safety: Safety, confidence: Confidence) -> Callable[[Any], Iterator[Finding]]:
    def detect(facts: Any) -> Iterator[Finding]:
        for found in re.finditer(rf"\b{word}\b", facts.text):
            site = _site(facts.path, facts.text, *found.span())
            fix = Fix("write fine", safety, (Edit(*found.span(), "fine"),))
            heat = Heat(Level.PER_STEP, True, "per step, in the loop over `loader`")
            first = Evidence(dataclasses.replace(site, line=1, end_line=1, column=1, end_column=7), "starts here")
            yield Finding("", "", site, f"{word} is slow", "fine", (first,), heat, confidence, fix, "f", word)

    return detect


def rule(code: str, name: str, detect: Callable[[Any], Iterator[Finding]], **other: Any) -> Rule:
    """A sound rule around a detector."""
    fields: dict[str, Any] = {
        "summary": f"finds {name}",
        "category": "repeated",
        "default": True,
        "fix_safety": Safety.SAFE,
        "since": "0.1.0",
        "examples": (Example("bad", "good"),),
        "doc": DOC,
    }
    return Rule(code=code, name=name, detect=detect, **{**fields, **other})


def _crashes(facts: Any) -> Iterator[Finding]:
    if "crash_the_rule" in facts.text:
        raise ZeroDivisionError("no\nluck")
    yield from ()


def _dies(facts: Any) -> Iterator[Finding]:
    if "kill_the_worker" in facts.text:
        import os

        os._exit(9)
    yield from ()


RULES = (
    rule("TST101", "bad-word", _finds("bad", Safety.SAFE, Confidence.CERTAIN)),
    rule("TST102", "worse-word", _finds("worse", Safety.UNSAFE, Confidence.LIKELY), fix_safety=Safety.UNSAFE),
    rule("TST103", "doubtful-word", _finds("doubtful", Safety.SAFE, Confidence.POSSIBLE)),
    rule("TST201", "quiet-word", _finds("quiet", Safety.SAFE, Confidence.CERTAIN), default=False),
    rule("TL004", "stale-baseline-entry", lambda facts: iter(())),  # the engine finds for it
    rule("TST901", "crashing-rule", _crashes),
    rule("TST902", "deadly-rule", _dies),
)


@dataclasses.dataclass(frozen=True)
class Ran:
    """What a run of the command left."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, without anything in the environment that changes the output."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`run("check", "a.py")`: the command in this process, with the word rules."""
    pack = ModuleType("word_rules")
    pack.RULES = RULES  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "word_rules", pack)
    point = SimpleNamespace(name="words", value="word_rules")
    load = registry.load

    def loaded(
        _: object = None, paths: Sequence[str] = (), points: Sequence[SimpleNamespace] = (point,)
    ) -> registry.Registry:
        return load(points, paths)

    monkeypatch.setattr(registry, "load", loaded)

    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return command


@pytest.fixture
def write(folder: Path) -> Callable[[str, str], Path]:
    """Write a file below the current folder; every text starts with an import of torch, on line 1."""

    def put(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import torch\n" + text, encoding="utf-8")
        return path

    return put
