"""How often a function runs: its callers, and what is assumed where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.model import Level

LookUp = Callable[..., Any]


def test_what_a_hot_place_calls_is_hot(look: LookUp) -> None:
    found = look(
        """
        def main(loader):
            for batch in loader:
                one(batch)

        def one(batch):
            at_one
            two(batch)

        def two(batch):
            at_two
        """
    )
    for name in ("at_one", "at_two"):
        assert found.warmth(name).hot
        assert found.warmth(name).seen
    function, reg = found.find("at_two")
    _, caller, call = function.warmth(reg).caller
    assert found.facts.functions[caller].text(call) == "two(batch)"


def test_what_methods_call(look: LookUp) -> None:
    found = look(
        """
        class Net:
            def forward(self, x):
                return self._inner(x)

            def _inner(self, x):
                seen
                return x
        """
    )
    assert found.warmth("seen").hot


def test_a_private_function_called_only_from_cold_code_is_cold(look: LookUp) -> None:
    found = look(
        """
        class Net:
            def __init__(self, x):
                self._fill(x)

            def _fill(self, x):
                for row in x:
                    seen
        """
    )
    assert found.warmth("seen").cold
    assert not found.warmth("seen").hot


def test_the_hottest_caller_decides(look: LookUp) -> None:
    found = look(
        """
        class Net:
            def __init__(self, x):
                self._fill(x)

            def forward(self, x):
                return self._fill(x)

            def _fill(self, x):
                seen
        """
    )
    assert found.warmth("seen").hot


def test_recursion_ends(look: LookUp) -> None:
    found = look("def f(x):\n    seen\n    return g(x)\ndef g(x):\n    return f(x)\n")
    assert not found.warmth("seen").cold


def test_a_guarded_call_is_rare(look: LookUp) -> None:
    found = look(
        """
        def main(loader):
            for step, batch in enumerate(loader):
                if step % 100 == 0:
                    _report(batch)

        def _report(batch):
            seen
        """
    )
    assert not found.warmth("seen").hot


def test_what_takes_tensors_is_assumed_hot_and_weak(look: LookUp) -> None:
    found = look(
        """
        import torch

        def normalise(x: torch.Tensor):
            y = x.sum()
            return y
        """
    )
    warmth = found.warmth("x.sum()")
    assert warmth.hot
    assert not warmth.seen
    assert warmth.weak
    assert warmth.unsure


def test_a_loop_in_what_nothing_is_known_of_is_hot_but_unsure(look: LookUp) -> None:
    found = look(
        "def prepare_things(rows):\n    for row in rows:\n        seen\n    for batch in rows:\n        stepping\n"
    )
    element, step = found.warmth("seen"), found.warmth("stepping")
    assert element.level == Level.PER_STEP
    assert element.seen
    assert element.weak
    assert element.unsure
    assert not step.weak
    assert not step.unsure


def test_nothing_is_known_of_an_ordinary_function(look: LookUp) -> None:
    warmth = look("def job(name: str):\n    seen\n").warmth("seen")
    assert warmth.level == Level.ONCE
    assert not warmth.hot
    assert not warmth.seen


@pytest.mark.parametrize("name", ["main", "train", "fit", "evaluate", "run"])
def test_what_holds_the_loop_runs_once(look: LookUp, name: str) -> None:
    found = look(
        f"import torch\ndef {name}(x: torch.Tensor, loader):\n    y = x.sum()\n    for batch in loader:\n        seen\n"
    )
    assert found.warmth("x.sum()").level == Level.ONCE
    assert found.warmth("seen").hot


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "def main(loader, x):\n    for _ in loader:\n        x.item()\n",
            "per step, in the loop over `loader` at line 2",
        ),
        ("def main(n):\n    while n:\n        n.item()\n", "per step, in the loop at line 2"),
        ("def forward(x):\n    x.item()\n", "per step (assumed): `forward` runs for every batch"),
        (
            "def main(loader):\n    for x in loader:\n        f(x)\ndef f(x):\n    x.item()\n",
            "per step: called from `main` at line 3",
        ),
    ],
)
def test_heat_in_words(look: LookUp, source: str, words: str) -> None:
    found = look(source)
    (function,) = [f for f in found.facts.functions if f.transfers]
    assert function.finding(function.transfers[0].register, "m").heat.why == words
