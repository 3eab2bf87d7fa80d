"""Arms that no known call runs, by what the calls give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LookUp = Callable[..., Any]

JOB = """
import math
from functools import partial
import torch

class Net(torch.nn.Module):
    def forward(self, x, flag, **kwargs):
        return {call}

def work(x, p={default}, q=0):
    {before}
    if {test}:
        seen
    after
    return x
"""


def job(test: str, default: str = "None", call: str = "work(x)", before: str = "pass") -> str:
    return JOB.format(test=test, default=default, call=call, before=before)


FAILING = [
    ("p", "None"),
    ("p", "False"),
    ("not p", "True"),
    ("p is not None", "None"),
    ("p is None", "3"),
    ("p == 'sum'", "'mean'"),
    ("p != 'mean'", "'mean'"),
    ("p in ('sum', 'none')", "'mean'"),
    ("p == math.inf", "2"),
    ("p == float_inf or p == inf", "2"),
    ("p > 0", "0"),
    ("p and x.sum() > 0", "False"),
    ("x is not None and p is not None", "None"),
    ("not (p or q)", "True"),
    ("q and p", "True"),
]


@pytest.mark.parametrize(("test", "default"), [one for one in FAILING if "float_inf" not in one[0]])
def test_an_option_that_no_call_gives(look: LookUp, test: str, default: str) -> None:
    found = look(job(test, default))
    assert found.warmth("seen").amortised == "only with an option that no caller gives"
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    ("test", "default"),
    [
        ("p", "True"),
        ("p is None", "None"),
        ("p == 'mean'", "'mean'"),
        ("p == x", "2"),
        ("p or x.any()", "False"),
        ("p > 0", "SETTING"),
        ("p < 'a'", "3"),
        ("p.on", "None"),
        ("x", "None"),
    ],
)
def test_what_the_default_lets_run(look: LookUp, test: str, default: str) -> None:
    assert look(job(test, default)).warmth("seen").hot


@pytest.mark.parametrize(
    "call",
    [
        "work(x, flag)",
        "work(x, p=flag)",
        "work(x, True)",
        "work(x) + work(x, p=True)",
        "work(*x)",
        "work(x, **kwargs)",
        "work(x) + torch.utils.checkpoint.checkpoint(work, x, flag)",
        "work(x) + partial(work, p=True)(x)",
    ],
)
def test_an_option_that_some_call_may_give(look: LookUp, call: str) -> None:
    assert look(job("p", "False", call)).warmth("seen").hot


@pytest.mark.parametrize("call", ["work(x, False)", "work(x, p=None)", "work(x, p=False) + work(x)", "work(x, q=1)"])
def test_an_option_that_calls_give_in_vain(look: LookUp, call: str) -> None:
    assert look(job("p", "False", call)).warmth("seen").amortised


def test_an_option_that_all_calls_give(look: LookUp) -> None:
    assert look(job("p is None", "None", "work(x, torch.ones(3))")).warmth("seen").amortised
    assert look(job("p is None", "None", "work(x, flag)")).warmth("seen").hot


@pytest.mark.parametrize(
    ("before", "rare"),
    [("p = float(p)", True), ("p = x.sum()", False), ("if x:\n        p = 3", False), ("q = 3", True)],
)
def test_an_option_that_is_bound_again(look: LookUp, before: str, rare: bool) -> None:
    assert bool(look(job("p == 3", "2", before=before)).warmth("seen").amortised) is rare


def test_an_option_that_is_bound_within_the_arm_or_a_loop(look: LookUp) -> None:
    text = """
class Net:
    def forward(self, x):
        return work(x)

def work(x, p=None):
    if p is not None:
        early
        p = x
    for row in x:
        if p is not None:
            seen
        p = row
"""
    found = look(text)
    assert found.warmth("early").amortised
    assert found.warmth("seen").hot


def test_an_option_that_is_passed_on(look: LookUp) -> None:
    text = """
class Engine:
    def step(self, x):
        self.check({given})

    def check(self, split=True):
        self._check(split)

    def _check(self, split=True):
        if split:
            split_up
        else:
            seen
"""
    found = look(text.format(given=""))
    assert found.warmth("seen").amortised
    assert found.warmth("split_up").hot
    assert look(text.format(given="x")).warmth("seen").hot


@pytest.mark.parametrize("name", ["forward", "training_step", "__call__"])
def test_what_libraries_call_may_be_given_anything(look: LookUp, name: str) -> None:
    text = f"class Net:\n    def {name}(self, x, p=None):\n        if p:\n            seen\n"
    text += f"def main(net, loader):\n    for x in loader:\n        Net().{name}(x)\n"
    assert look(text).warmth("seen").hot


def test_what_nobody_calls_may_be_given_anything(look: LookUp) -> None:
    text = "import torch\ndef norm(x: torch.Tensor, p=None):\n    y = x.sum()\n    if p:\n        seen\n"
    assert look(text).warmth("seen").hot


def test_what_an_overridden_method_is_given(look: LookUp) -> None:
    text = """
class Base:
    def training_step(self, x):
        self._work(x, {given})

    def _work(self, x, p=None):
        pass

class Own(Base):
    def _work(self, x, p=None):
        if p:
            seen
"""
    assert look(text.format(given="")).warmth("seen").amortised
    assert look(text.format(given="p=x")).warmth("seen").hot
