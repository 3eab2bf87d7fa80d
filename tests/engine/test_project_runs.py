"""Checking files with their project: two steps, several processes, the same answers as one."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from transferlint.engine import checking, steps
from transferlint.engine.checking import Result
from transferlint.engine.pipeline import Plan
from transferlint.model import Confidence, Edit, Finding, Fix, Safety, Site
from transferlint.rule import Rule
from transferlint.settings.loading import Settings
from transferlint.sources import context


def _words(facts: Any) -> Iterator[Finding]:
    """Reports every name `bad`, by the program, so that offsets of frozen nodes are what is shown."""
    for function in facts.functions:
        for reg in range(len(function.code)):
            if function.has_text(reg) and function.text(reg) == "bad":
                start, end = function.span(reg)
                fix = Fix("write good", Safety.SAFE, (Edit(start, end, "good"),))
                yield Finding("", "", function.site(reg), "bad is bad", fix=fix, confidence=Confidence.CERTAIN)
    if "kill_second_step" in facts.text:
        os._exit(9)
    if "fail_second_step" in facts.text:
        raise ZeroDivisionError("no luck")


RULE = Rule("TST101", "bad-name", "finds bad", "repeated", True, Safety.SAFE, "0.1.0", (), _words, "")
PLAN = Plan(rules=(RULE,))


class Heard:
    def __init__(self) -> None:
        self.total = 0
        self.done = 0

    def begin(self, total: int) -> None:
        self.total += total

    def advance(self, count: int) -> None:
        self.done += count


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    for number in range(8):
        text = f"import torch\nfrom m{(number + 1) % 8} import f\n\n\ndef g(x):\n    # ä\n    return f(x, bad)\n"
        (tmp_path / f"m{number}.py").write_text(text)
    return tmp_path


def run(*paths: str, plan: Plan = PLAN, **settings: Any) -> Result:
    heard = Heard()
    result = checking.check_paths(paths, Settings(**settings), plan, heard)
    assert heard.done == heard.total
    return result


def where(result: Result) -> list[tuple[str, int, int, int]]:
    return [(f.site.path, f.site.line, f.site.column, f.site.end_column) for f in result.findings]


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_target_is_checked_in_order(project, jobs):
    result = run(".", jobs=jobs)
    assert where(result) == [(f"m{number}.py", 7, 17, 20) for number in range(8)]
    assert result.files == 8
    assert not result.troubles


def test_context_is_not_reported(project):
    assert where(run("m3.py")) == [("m3.py", 7, 17, 20)]


def test_a_file_alone_is_the_same_file(project):
    together = {finding for finding in run(".", jobs=2).findings if finding.site.path == "m3.py"}
    assert set(run("m3.py").findings) == together
    assert set(run("m5.py", "m3.py", jobs=2).findings) >= together


def test_context_file_looks_at_nothing_else(project, monkeypatch):
    monkeypatch.setattr(context, "around", None)
    assert len(run(".", context="file").findings) == 8


def test_what_is_broken_elsewhere_is_not_said(project):
    (project / "m4.py").write_text("import torch\nx = (\n")
    assert where(run("m3.py")) == [("m3.py", 7, 17, 20)]
    (found,) = run("m4.py").findings
    assert (found.code, found.site.path) == ("TL001", "m4.py")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_rule_that_fails_is_a_trouble_of_its_file(project, jobs):
    (project / "m4.py").write_text("import torch\nfail_second_step\n")
    result = run(".", jobs=jobs)
    assert [str(trouble) for trouble in result.troubles] == [
        "internal error in TST101 on m4.py: ZeroDivisionError: no luck; please report"
    ]
    assert len(result.findings) == 7


def test_a_worker_that_dies_in_the_second_step(project):
    (project / "m4.py").write_text("import torch\nkill_second_step\n")
    result = run(".", jobs=2)
    assert [str(trouble) for trouble in result.troubles] == [
        "internal error: the worker that checked m4.py died; please report"
    ]
    assert len(result.findings) == 7


def test_a_worker_that_dies_in_the_first_step(project, monkeypatch):
    before = steps.prepare

    def prepare(target: Any, *others: Any) -> Any:
        if target.path == "m4.py":
            os._exit(9)
        return before(target, *others)

    monkeypatch.setattr(steps, "prepare", prepare)
    result = run(".", jobs=2)
    assert [str(trouble) for trouble in result.troubles] == [
        "internal error: the worker that checked m4.py died; please report"
    ]
    assert len(result.findings) == 7
    assert not run("m3.py", jobs=2).troubles


@pytest.mark.parametrize("jobs", [1, 2])
def test_fixing_checks_the_changed_text(project, jobs):
    result = run(".", plan=dataclasses.replace(PLAN, fix=True), jobs=jobs)
    assert len(result.fixed) == 8
    assert not result.findings
    assert all("f(x, good)" in (project / f"m{number}.py").read_text() for number in range(8))


def test_fixing_keeps_bytes_that_are_not_text(project):
    (project / "m3.py").write_bytes("# coding: latin-1\r\nx = bad  # é\r\n".encode("latin-1"))
    run("m3.py", plan=dataclasses.replace(PLAN, fix=True))
    assert (project / "m3.py").read_bytes() == "# coding: latin-1\r\nx = good  # é\r\n".encode("latin-1")


def test_suppressions_hold(project):
    (project / "m3.py").write_text("import torch\nx = bad  # transferlint: ignore[TST101] why not\ny = bad\n")
    assert where(run(".", jobs=2))[3] == ("m3.py", 3, 5, 8)


def test_standard_input_stands_in_its_project(project):
    result, outcome = checking.check_stdin("m3.py", b"import torch\nx = bad\n", Settings(), PLAN)
    assert where(result) == [("m3.py", 2, 5, 8)]
    assert outcome.path == "m3.py"
    fixing = dataclasses.replace(PLAN, fix=True)
    _, outcome = checking.check_stdin("m3.py", b"import torch\nx = bad\n", Settings(), fixing)
    assert outcome.data == b"import torch\nx = good\n"
    assert "bad" in (project / "m3.py").read_text()


@pytest.mark.parametrize("name", ["-", "new/file.py", "notes.txt"])
def test_standard_input_may_stand_nowhere(project, name):
    result, _ = checking.check_stdin(name, b"import torch\nx = bad\n", Settings(), PLAN)
    assert where(result) == [(name, 2, 5, 8)]


def test_a_project_that_cannot_be_put_together(project, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(steps, "linked", broken)
    result = run(".", jobs=2)
    assert len(result.findings) == 8
    (trouble,) = result.troubles
    assert trouble.message.startswith(f"internal error in the project on {project}: ZeroDivisionError")


def test_why_there_is_no_context_is_said(project, monkeypatch):
    monkeypatch.setattr(context, "MAX_FILES", 2)
    result = run("m3.py")
    assert len(result.findings) == 1
    assert re.search("more than 2 Python files", result.notes[0])


def test_a_project_of_nothing(project):
    (project / "empty").mkdir()
    assert run("empty").files == 0
    (project / "plain.py").write_text("x = 1\n")
    assert run("plain.py") == Result((), (), (), 1, {})


def test_sites_are_those_of_the_text(project):
    (project / "m3.py").write_text("import torch\r\n'ü𝄞'; x = bad\r\n")
    (finding,) = run("m3.py").findings
    assert finding.site == Site("m3.py", 2, 11, 2, 14)
