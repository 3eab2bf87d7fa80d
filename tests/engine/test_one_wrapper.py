"""Calls of a function of another file that uses itself what it reads: one finding in a file speaks for all of them."""

from __future__ import annotations

import pytest

from proving import all_rules
from transferlint import engine, selection
from transferlint.model import AGAIN
from transferlint.pipeline import Plan
from transferlint.settings import Settings

WRAPPERS = """
class Part:
    @classmethod
    def made(cls, x):
        assert x.dim() == 1
        part = cls()
        read = x.tolist()
        part.first = read[0]
        return part


def number(x):
    return x.max().item()
"""
USER = """
import torch
from wrappers import Part, number


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        self.part = Part.made(x.amin(1))

    def training_step(self, x: torch.Tensor):
        self.other = Part.made(x.amax(1)){comment}

    def validation_step(self, x: torch.Tensor):
        return number(x.amin(1))

    def compute_loss(self, x: torch.Tensor):
        return number(x.amax(1))
"""


class Unheard:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@pytest.fixture
def check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "wrappers.py").write_text(WRAPPERS)

    def run(comment: str = "") -> list[tuple[int, list[int]]]:
        (tmp_path / "user.py").write_text(USER.replace("{comment}", comment))
        plan = Plan(rules=selection.choose(all_rules(), ("TL101",), (), ()))
        found = engine.check_paths(("user.py",), Settings(), plan, Unheard()).findings
        return [(one.site.line, [e.site.line for e in one.evidence if e.message == AGAIN]) for one in found]

    return run


def test_what_keeps_what_it_reads_is_told_of_once(check):
    assert check() == [(8, [11]), (14, []), (17, [])]  # a number that is given back counts at each call


def test_a_call_that_is_suppressed_is_not_spoken_for(check):
    assert check("  # transferlint: ignore[TL101] seldom") == [(8, []), (14, []), (17, [])]
