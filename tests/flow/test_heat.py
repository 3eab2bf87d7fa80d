"""How often a function runs: its callers, and what is assumed where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.model import Level
from transferlint.reasons import Cause, Reason

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


@pytest.mark.parametrize("other", ["get = lambda: seen", "def get():\n        seen"])
def test_each_of_the_functions_of_one_name_may_be_called(look: LookUp, other: str) -> None:
    source = f"""
if fast:
    def get():
        first
else:
    {other}
for step in range(1000):
    get()
"""
    found = look(source)
    assert found.warmth("first").hot
    assert found.warmth("seen").hot


@pytest.mark.parametrize(
    ("table", "call"),
    [
        ("TABLE = {'a': first, 'b': second}", "TABLE[kind](x)"),
        ("TABLE = dict\nTABLE = {'a': first, 'b': lambda x: second(x)}", "TABLE.get(kind)(x)"),
        ("TABLE = [first, second]", "TABLE[0](x)"),
    ],
)
def test_what_a_table_of_functions_may_call(look: LookUp, table: str, call: str) -> None:
    source = f"""
def first(x):
    seen

def second(x):
    also

{table}

def run(loader, kind):
    for x in loader:
        {call}
"""
    found = look(source)
    assert found.warmth("seen").hot
    assert found.warmth("also").hot


@pytest.mark.parametrize("table", ["self.steps = {'a': self._first, 'b': self._second}", "pass"])
def test_what_a_table_of_methods_may_call(look: LookUp, table: str) -> None:
    source = f"""
class Runner:
    def __init__(self):
        {table}

    def training_step(self, x, kind):
        self.steps[kind](x)

    def _first(self, x):
        seen

    def _second(self, x):
        also
"""
    found = look(source)
    assert found.warmth("seen").hot is (table != "pass")
    assert found.warmth("also").hot is (table != "pass")


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


@pytest.mark.parametrize(("base", "hot"), [("", True), ("(nn.Module)", False), ("(Dataset)", False)])
def test_the_constructor_of_what_is_made_for_every_step(look: LookUp, base: str, hot: bool) -> None:
    source = f"""
import torch.nn as nn
from torch.utils.data import Dataset

class Scorer{base}:
    def __init__(self, x):
        seen

class Decoder(nn.Module):
    def forward(self, x):
        return Scorer(x)
"""
    assert look(source).warmth("seen").hot is hot


def test_the_constructor_of_what_is_made_once(look: LookUp) -> None:
    source = "class A:\n    def __init__(self, x):\n        seen\ndef main(x):\n    return A(x)\n"
    assert look(source).warmth("seen").cold


@pytest.mark.parametrize(
    "write",
    [
        "np.save(name, x)",
        "torch.save(x, name)",
        "soundfile.write(name, x, 16000)",
        "cv2.imwrite(name, x)",
        "audio_io.save(name, x, 16000)",
    ],
)
def test_a_loop_that_writes_a_file_in_every_turn_is_as_slow_as_that(look: LookUp, write: str) -> None:
    head = "import cv2, soundfile, torch\nimport numpy as np\nfrom speech import audio_io\n"
    head += "\ndef main(loader, name):\n    for x in loader:\n"
    assert look(f"{head}        seen\n        with name:\n            {write}\n").warmth("seen").amortised
    assert look(f"{head}        seen\n        if x > 3:\n            {write}\n").warmth("seen").hot


@pytest.mark.parametrize("warn", ["logger.warning('no')", "warnings.warn('no')"])
def test_an_arm_that_warns_is_an_error_path(look: LookUp, warn: str) -> None:
    head = "class Net:\n    def forward(self, x):\n        if x > 1:\n"
    text = f"{head}            {warn}\n            seen\n        after\n"
    assert look(text).warmth("seen").amortised == Reason(Cause.ERROR)
    assert look(text).warmth("after").hot


@pytest.mark.parametrize(("before", "rare"), [("return self.a", True), ("x = 3", False)])
def test_what_warns_once_the_rest_has_left(look: LookUp, before: str, rare: bool) -> None:
    head = f"class Net:\n    def forward(self, x):\n        if self.ready:\n            {before}\n"
    text = f"{head}        logger.warning('slow')\n        seen\n        return x\n"
    assert bool(look(text).warmth("seen").amortised) is rare
    branches = text.replace("        seen", "        if x:\n            x = 1\n        seen")
    assert look(branches).warmth("seen").hot


@pytest.mark.parametrize(
    ("base", "method", "test", "rare"),
    [
        ("(nn.Module)", "forward", "loss.item() > 1.0", True),
        ("(nn.Module)", "forward", "self.talks", False),
        ("(nn.Module)", "training_step", "loss.item() > 1.0", False),
        ("", "forward", "loss.item() > 1.0", False),
    ],
)
def test_what_a_forward_pass_prints_is_an_exception(
    look: LookUp, base: str, method: str, test: str, rare: bool
) -> None:
    head = f"from torch import nn\nclass Net{base}:\n    def {method}(self, loss):\n        if {test}:\n"
    found = look(f"{head}            print('out of range')\n            seen\n        after\n")
    assert bool(found.warmth("seen").amortised) is rare
    assert found.warmth("after").hot


def test_a_name_does_not_decide_against_a_call_or_a_loop_that_is_seen(look: LookUp) -> None:
    found = look(
        """
        import torch
        from torch.utils.data import DataLoader

        class Net(torch.nn.Module):
            def get_weights(self, x):
                return self.w * x.sum().item()

            def load_tables(self, x):
                return x.mean().item()

            def forward(self, x):
                return x @ self.get_weights(x)

        def test(model, data, device):
            for x in DataLoader(data):
                print(model(x.to(device)).max().item())

        def save(model, x):
            return model(x).min().item()
        """
    )
    assert found.warmth("x.sum().item()").hot
    assert found.warmth("model(x.to(device)).max().item()").hot
    assert found.warmth("x.mean().item()").cold
    assert found.warmth("model(x).min().item()").cold


def test_a_loop_over_epochs_whose_body_is_the_step_runs_for_every_step(look: LookUp) -> None:
    found = look(
        """
        def full_batch(model, x, optimizer, epochs):
            for epoch in range(epochs):
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                print(loss.item())

        def in_batches(model, batches, optimizer, epochs):
            for epoch in range(epochs):
                for x in batches:
                    loss = model(x).mean()
                    loss.backward()
                    optimizer.step()
                print(loss.max().item())
        """
    )
    assert found.warmth("loss.item()").level == Level.PER_STEP
    assert found.warmth("loss.max().item()").level == Level.PER_EPOCH


def test_a_call_of_a_method_that_few_classes_have_tells_how_often_it_runs(look: LookUp) -> None:
    found = look(
        """
        class Meter:
            def observe_loss(self, x):
                self.total += x.item()

            def keys(self, x):
                return x.max().item()

        def train_step(model, meter, x):
            meter.observe_loss(model(x))
            meter.keys(model(x))
        """
    )
    assert found.warmth("x.item()").hot
    assert not found.warmth("x.item()").weak
    assert not found.warmth("x.max().item()").hot
