"""Fixing whole trees: what cannot be written is a line, and all others go on; nothing is ever half written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interrupts import interruptible

from transferlint import registry
from transferlint.engine import checking, steps, workers
from transferlint.engine.plan import Plan
from transferlint.fixes import rounds
from transferlint.model import Safety
from transferlint.settings.loading import Settings

BAD = """\
import torch


def f(x: torch.Tensor):
    for _ in range(9):
        y = torch.zeros(3).to(x.device)
        x = x + y
    return x
"""
GOOD = BAD.replace("torch.zeros(3).to(x.device)", "torch.zeros(3, device=x.device)")


class Silent:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(BAD)
    return tmp_path


def run(**changes: object) -> checking.Result:
    settings = Settings(**{"fix": True, "jobs": 1, **changes})  # type: ignore[arg-type]
    return checking.check_paths(["."], settings, checking.plan_for(settings, registry.load()), Silent())


def texts(tree: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(tree.glob("*.py"))}


@pytest.mark.parametrize("context", ["file", "project"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_file_is_fixed(tree, context, jobs):
    result = run(context=context, jobs=jobs)
    assert set(texts(tree).values()) == {GOOD}
    assert (len(result.fixed), result.changed, result.findings, result.troubles) == (3, 3, (), ())


@pytest.mark.parametrize("context", ["file", "project"])
def test_a_read_only_file_is_said_and_the_others_are_fixed(tree, context):
    (tree / "b.py").chmod(0o444)
    result = run(context=context)
    assert texts(tree) == {"a.py": GOOD, "b.py": BAD, "c.py": GOOD}
    assert [str(trouble) for trouble in result.troubles] == ["b.py: not written: the file is read-only"]
    assert [finding.site.path for finding in result.findings] == ["b.py"]
    assert (len(result.fixed), result.changed) == (2, 2)


@pytest.mark.parametrize("context", ["file", "project"])
def test_a_file_that_changed_meanwhile_keeps_what_was_saved(tree, monkeypatch, context):
    edited = BAD + "# saved by an editor\n"
    real = rounds.fix_text

    def fix_text(path, *rest, **named):
        if path == "b.py":
            (tree / "b.py").write_text(edited)
        return real(path, *rest, **named)

    monkeypatch.setattr(rounds, "fix_text", fix_text)
    result = run(context=context)
    assert texts(tree) == {"a.py": GOOD, "b.py": edited, "c.py": GOOD}
    assert [str(one) for one in result.troubles] == ["b.py: not written: the file changed while it was checked"]


def test_a_full_disk_is_said_for_each_file(tree, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    result = run()
    monkeypatch.undo()
    assert set(texts(tree).values()) == {BAD}
    assert [str(one) for one in result.troubles] == [
        f"{name}.py: not written: No space left on device" for name in "abc"
    ]
    assert sorted(os.listdir(tree)) == ["a.py", "b.py", "c.py", "pyproject.toml"]
    assert len(result.findings) == 3


def test_a_file_whose_encoding_lacks_a_character_is_said(tree):
    (tree / "b.py").write_bytes(b"# coding: latin-1\n" + BAD.encode())
    settings = Settings(jobs=1)
    plan = checking.plan_for(settings, registry.load(), silence="für 1 €")
    result = checking.check_paths(["."], settings, plan, Silent())
    assert [trouble.path for trouble in result.troubles] == ["b.py"]
    assert "cannot be written" in result.troubles[0].message
    assert "€" in (tree / "a.py").read_text(encoding="utf-8")
    assert [finding.site.path for finding in result.findings] == ["b.py"]


USER = "from made import make\n\n\ndef g(x):\n    for _ in range(9):\n        x = x + make()\n    return x\n" + BAD[13:]


def test_nothing_is_written_on_the_word_of_a_file_that_changed(tree, monkeypatch):
    (tree / "made.py").write_text("import torch\n\n\ndef make():\n    return torch.zeros(3, device='cuda')\n")
    (tree / "b.py").write_text("import torch\n" + USER)
    real = rounds.fix_text

    def fix_text(path, *rest, **named):
        (tree / "made.py").write_text("import torch\n\n\ndef make():\n    return torch.zeros(3)\n")
        return real(path, *rest, **named)

    monkeypatch.setattr(rounds, "fix_text", fix_text)
    result = run()
    assert [str(one) for one in result.troubles] == [
        "b.py: not written: made.py, on which its findings rest, changed while it was checked"
    ]
    after = texts(tree)
    assert (after["a.py"], after["b.py"], after["c.py"]) == (GOOD, "import torch\n" + USER, GOOD)


def test_stdin_and_diff_write_nothing(tree):
    settings = Settings(fix=True, jobs=1)
    packs = registry.load()
    result = checking.check_paths(["."], settings, checking.plan_for(settings, packs, diff=True), Silent())
    assert len(result.diffs) == 3
    _, outcome = checking.check_stdin("a.py", BAD.encode(), settings, checking.plan_for(settings, packs))
    assert outcome.data == GOOD.encode()
    assert set(texts(tree).values()) == {BAD}


def test_a_context_file_is_never_written(tree):
    plan = Plan(registry.load().rules, fix=True)
    prepared = steps.prepare(workers.Job(0, checking.Target("a.py")).target, plan, wanted=False)
    assert prepared.data == b"" or prepared.source is None
    run_settings = Settings(fix=True, jobs=1)
    checking.check_paths(["c.py"], run_settings, checking.plan_for(run_settings, registry.load()), Silent())
    assert texts(tree) == {"a.py": BAD, "b.py": BAD, "c.py": GOOD}


@pytest.mark.parametrize("written", [1, 20, 50])
def test_an_interrupted_run_leaves_every_file_whole(tree, written):
    for number in range(60):
        (tree / f"m{number}.py").write_text(BAD + f"# {number}\n" * 50)
    command = [sys.executable, "-m", "transferlint", "check", ".", "--fix", "-q", "--jobs", "1"]
    process = subprocess.Popen(interruptible(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and sum(text.startswith(GOOD) for text in texts(tree).values()) < written:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)  # of a process that has ended, nobody is told
    _, err = process.communicate(timeout=600)
    assert "Traceback" not in err
    for path in tree.glob("*.py"):
        text = path.read_text()
        rest = text.removeprefix(GOOD if text.startswith(GOOD) else BAD)
        assert rest == (f"# {path.stem[1:]}\n" * 50 if path.stem.startswith("m") else "")
    assert not list(tree.glob(".transferlint-*"))


CALLER = """\
import torch
from helping import penalty


def train(model, loader, device):
    model.to(device)
    for x in loader:
        penalty(model(x.to(device)))
"""
HELPER = """\
import torch


def penalty(out: torch.Tensor):
    shift = torch.zeros(3).to(out.device)
    return (out + shift).sum().item()  # transferlint: ignore[TL101] the scheduler wants it
"""


def test_a_comment_stays_that_silences_what_only_another_file_makes_hot(tree):
    (tree / "train.py").write_text(CALLER)
    (tree / "helping.py").write_text(HELPER)
    alone = Settings(context="file", jobs=1)
    plan = checking.plan_for(alone, registry.load())
    judged = checking.check_paths(["helping.py"], alone, plan, Silent()).findings
    assert "TL002" in {finding.code for finding in judged}, "the file alone does not show what the comment is for"
    assert [finding.fix.safety for finding in judged if finding.fix and finding.code == "TL002"] == [Safety.UNSAFE]
    result = run()
    assert (tree / "helping.py").read_text() == HELPER.replace(
        ".zeros(3).to(out.device)", ".zeros(3, device=out.device)"
    )
    assert "TL002" not in {finding.code for finding in (*result.findings, *result.fixed)}


def test_what_remains_is_what_a_fresh_run_finds(tree):
    (tree / "train.py").write_text(CALLER)
    (tree / "helping.py").write_text(HELPER.replace("  # transferlint: ignore[TL101] the scheduler wants it", ""))
    result = run()
    assert result.changed == 4
    fresh = run(fix=False)
    assert {finding.code for finding in fresh.findings} == {"TL101"}
    assert result.findings == fresh.findings
    assert run().changed == 0


def test_a_comment_that_a_fix_leaves_without_use_goes_in_the_same_run(tree):
    body = BAD.replace(
        "x.device)", "x.device)  # keep\n        y = torch.ones(2).to(x.device)  # transferlint: ignore[TL104] z"
    )
    (tree / "b.py").write_text(body)
    run()
    after = (tree / "b.py").read_text()
    assert "# keep" in after
    assert "ignore[TL104]" not in after
    assert run().changed == 0
