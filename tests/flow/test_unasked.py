"""Arms that no known call runs, by what the calls give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.reasons import Cause, Reason

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
    assert found.warmth("seen").amortised == Reason(Cause.OPTION_UNUSED)
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


NORM = """
import torch
from math import inf
from elsewhere import Trainer

{decorator}
def {name}(x, p=2.0):
    p = float(p)
    if p == inf:
        seen
    else:
        other

def train(net, loader):
    for x in loader:
        {call}
"""


def norm(name: str, call: str, decorator: str = "") -> str:
    return NORM.format(name=name, call=call, decorator=decorator)


@pytest.mark.parametrize("name", ["clip_grad_norm_", "_clip_grad_norm", "get_grad_norm", "get_weight_norm"])
def test_an_option_of_what_only_the_source_calls_each_step(look: LookUp, name: str) -> None:
    found = look(norm(name, f"{name}(net.parameters())"))
    assert found.warmth("seen").amortised
    assert found.warmth("other").hot
    assert look(norm(name, f"{name}(net.parameters(), x)")).warmth("seen").hot
    assert look(norm(name, f"{name}(net.parameters(), inf)")).warmth("seen").hot
    assert look(norm(name, f"{name}(net.parameters(), 1) or {name}(net.parameters(), p='inf')")).warmth("seen").hot


@pytest.mark.parametrize("name", ["clip_grad_norm_", "get_grad_norm"])
def test_an_option_of_what_nobody_calls_each_step(look: LookUp, name: str) -> None:
    assert look(norm(name, "net(x)")).warmth("seen").hot


@pytest.mark.parametrize("name", ["focal_loss", "train_step", "forward_features"])
def test_an_option_of_what_is_chosen_by_name_or_called_by_libraries(look: LookUp, name: str) -> None:
    assert look(norm(name, f"{name}(x)")).warmth("seen").hot


def test_an_option_of_what_is_registered(look: LookUp) -> None:
    assert look(norm("get_grad_norm", "get_grad_norm(x)", "@norms.register('grad')")).warmth("seen").hot
    assert look(norm("get_grad_norm", "get_grad_norm(x)", "@torch.no_grad()")).warmth("seen").amortised


METHOD = """
import torch
from elsewhere import Trainer

class Base:
    pass

class Engine({base}):
    def step(self, x):
        self.{name}(x)

    def {name}(self, x, p=2):
        if p == 'max':
            seen
        else:
            other
"""


@pytest.mark.parametrize(
    ("base", "name", "rare"),
    [
        ("Base", "get_grad_norm", True),
        ("object", "get_grad_norm", True),
        ("torch.optim.Optimizer", "get_grad_norm", True),
        ("Trainer", "get_grad_norm", False),
        ("Trainer", "work", True),
        ("Base", "clip_grad_norm_", False),
        ("Base", "forward", False),
    ],
)
def test_an_option_of_a_method_that_a_library_may_call(look: LookUp, base: str, name: str, rare: bool) -> None:
    found = look(METHOD.format(base=base, name=name))
    assert bool(found.warmth("seen").amortised) is rare
    assert found.warmth("other").hot


def test_what_a_caller_of_unknown_calls_is_given_is_not_known(look: LookUp) -> None:
    text = """
class Net:
    def {name}(self, x, p=None):
        self.mix(x, p)

    def mix(self, x, p=None):
        if p:
            seen

def main(net: Net, loader):
    for x in loader:
        net.{name}(x)
"""
    assert look(text.format(name="apply")).warmth("seen").amortised
    assert look(text.format(name="training_step")).warmth("seen").hot


def test_what_stands_behind_an_option_in_the_same_test(look: LookUp) -> None:
    found = look(job("p == 'warn' and x.sum() > 0", "0.0"))
    assert found.warmth("x.sum()", nth=0).amortised
    assert look(job("p == 'warn' or x.sum() > 0", "0.0")).warmth("x.sum()", nth=0).hot
    assert look(job("p != 'warn' and x.sum() > 0", "0.0")).warmth("x.sum()", nth=0).hot


RATIO = """
class Meter:
    def training_step(self, x):
        ratio(x, {given})
        share(x, 0.5)
        share(x, "nan")

def share(x, zero: {kind} = 0.0):
    ratio(x, zero)

def ratio(x, zero=0.0):
    if {test}:
        seen
"""


@pytest.mark.parametrize(
    ("test", "given", "kind", "rare"),
    [
        ("zero == 'warn'", "0.0", "object", True),
        ("zero in ('warn', None)", "0.0", "object", True),
        ("zero == 'nan'", "0.0", "object", False),
        ("zero == 0.5", "0.0", "object", False),
        ("zero == 'warn'", "zero='warn'", "object", False),
        ("zero == 'warn'", "x", "object", False),
        ("not zero", "1.0", "object", True),
        ("not zero", "0.0", "object", False),
    ],
)
def test_an_option_of_which_calls_give_several_values(
    look: LookUp, test: str, given: str, kind: str, rare: bool
) -> None:
    assert bool(look(RATIO.format(test=test, given=given, kind=kind)).warmth("seen").amortised) is rare


ANNOTATED = """
class Meter:
    def training_step(self, x):
        ratio(x)

def share(x, zero: {kind}):
    ratio(x, zero)

def ratio(x, zero=0.0):
    if {test}:
        seen
"""


@pytest.mark.parametrize(
    ("test", "kind", "rare"),
    [
        ("zero == 'warn'", "float", True),
        ("zero in ('warn', 'nan')", "int", True),
        ("zero is None", "float", True),
        ("zero is None", "float = None", False),
        ("zero == 'warn'", "float | str", False),
        ("zero == 'warn'", "object", False),
        ("zero in (1.0, 'nan')", "float", False),
        ("zero == 1", "float", False),
        ("zero > 1", "float", False),
        ("zero", "float", False),
    ],
)
def test_an_option_that_is_annotated_as_a_number(look: LookUp, test: str, kind: str, rare: bool) -> None:
    assert bool(look(ANNOTATED.format(test=test, kind=kind)).warmth("seen").amortised) is rare


@pytest.mark.parametrize(
    ("annotation", "rare"),
    [("Tensor | None", False), ("Optional[Tensor]", False), ("Tensor", True), ("list[int] | None", False)],
)
def test_what_is_handed_on_may_be_none(look: LookUp, annotation: str, rare: bool) -> None:
    """An annotation that admits None is no proof that something is given."""
    found = look(
        f"""
        from typing import Optional
        import torch
        from torch import Tensor
        def _lengths(x, given: {annotation} = None):
            if given is None:
                given = x.sum().item()
            return given
        class Net(torch.nn.Module):
            def forward(self, x, given: {annotation}):
                return _lengths(x, given)
        """
    )
    assert (found.warmth("x.sum().item()").amortised is not None) == rare
