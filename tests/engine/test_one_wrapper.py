"""Calls of a function of another file: what it reads and gives back counts at each call, what it keeps is told of where
it is read."""

from __future__ import annotations

import pytest

from proving import all_rules
from transferlint.engine import checking
from transferlint.engine.pipeline import Plan
from transferlint.model import Part
from transferlint.settings import selection
from transferlint.settings.loading import Settings

WRAPPERS = """
import gc

import torch


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


def tidy():
    gc.collect()
    torch.cuda.empty_cache()


def tidy_if(asked):
    if asked:
        torch.cuda.synchronize()
"""
LOOP = """
from wrappers import tidy, tidy_if


def train(model, loader, device):
    for x in loader:
        model(x.to(device)).sum().backward()
        tidy()
        tidy_if(x.dim() > 2)
    tidy()
"""
USER = """
import torch
from wrappers import Part, number


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        self.part = Part.made(x.amin(1))

    def training_step(self, x: torch.Tensor):
        self.other = Part.made(x.amax(1))

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

    def run(path: str = "user.py", user: str = USER, code: str = "TL101") -> list[tuple[int, list[int]]]:
        (tmp_path / "user.py").write_text(user)
        plan = Plan(rules=selection.choose(all_rules(), (code,), (), ()))
        found = checking.check_paths((path,), Settings(), plan, Unheard()).findings
        return [(one.site.line, [e.site.line for e in one.evidence if e.part is Part.SAME]) for one in found]

    return run


def test_what_is_given_back_counts_at_each_call(check):
    assert check() == [(14, []), (17, [])]


def test_what_is_kept_is_told_of_where_it_is_read(check):
    assert check("wrappers.py") == [(12, [])]


def test_what_only_waits_is_told_of_where_it_is_called(check):
    assert check(user=LOOP, code="TL306") == [(8, [])]
    assert check("wrappers.py", LOOP, "TL306") == [(28, [])]  # behind a condition on what it is given: told of itself
