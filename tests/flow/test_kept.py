"""What outlives a call: arms that fill what is missing, flags that are put out, hooks that remove themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.reasons import Cause, Reason

LookUp = Callable[..., Any]

FORWARD = "class Net:\n    def forward(self, x, n, key, batch):\n"


def arm(test: str, body: str, other: str = "") -> str:
    text = f"{FORWARD}        if {test}:\n            seen\n            {body}\n"
    return text + (f"        else:\n            {other}\n" if other else "") + "        after\n"


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("not hasattr(self, 'grid')", "self.grid = x"),
        ("not hasattr(self, 'grid') or n", "self.grid = x"),
        ("getattr(self, 'grid', None) is None", "self.grid = x"),
        ("key not in self.tables[n]", "self.tables[n][key] = x"),
        ("not (self.longest >= n)", "self.longest = n"),
        ("self.grid.shape[0] != n", "self.grid = x"),
        ("x.device != self.grid.device", "self.grid = x"),
        ("not (self.grid.size(0) == n)", "self.grid = x"),
        ("len(self.grid) < n", "self.grid = x"),
        ("n != self.length", "self.length = n"),
    ],
)
def test_an_arm_that_fills_what_is_missing_is_rare(look: LookUp, test: str, body: str) -> None:
    found = look(arm(test, body))
    assert found.warmth("seen").amortised
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("hasattr(self, 'grid')", "self.grid = x"),
        ("not hasattr(self, 'grid')", "self.other = x"),
        ("not hasattr(x, 'grid')", "self.grid = x"),
        ("key not in batch", "batch[key] = x"),
        ("key not in self.tables[n]", "self.tables[n]['last'] = x"),
        ("key in self.tables[n]", "self.tables[n][key] = x"),
        ("self.grid.shape[0] == n", "self.grid = x"),
        ("self.grid.shape[0] != n", "self.other = x"),
        ("self.made(n) != n", "self.made = x"),
    ],
)
def test_an_arm_that_fills_something_else_is_not(look: LookUp, test: str, body: str) -> None:
    assert look(arm(test, body)).warmth("seen").hot


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("hasattr(self, 'grid')", "self.grid = x"),
        ("self.grid is not None", "self.grid = x"),
        ("self.grid", "self.grid = x"),
        ("n <= self.longest", "self.longest = n"),
        ("key in self.kept", "self.kept[key] = x"),
        ("key in self.tables[n]", "self.tables[n][key] = x"),
    ],
)
def test_the_other_arm_of_what_is_there(look: LookUp, test: str, body: str) -> None:
    other = f"        else:\n            made\n            {body}\n"
    found = look(f"{FORWARD}        if {test}:\n            seen\n{other}")
    assert found.warmth("seen").hot
    assert found.warmth("made").amortised


def test_what_follows_when_it_is_there(look: LookUp) -> None:
    text = f"{FORWARD}        if hasattr(self, 'grid'):\n            return self.grid\n        seen\n"
    assert look(f"{text}        self.grid = x\n        return x\n").warmth("seen").amortised
    assert look(f"{text}        return x\n").warmth("seen").hot


@pytest.mark.parametrize(
    ("loop", "rare"),
    [
        ("for group in self.param_groups:", True),
        ("for i, group in enumerate(self.param_groups):", True),
        ("for group, other in zip(self.param_groups, self.other_groups):", True),
        ("for name, group in self.groups.items():", True),
        ("for group in groups:", False),
        ("for group, other in zip(self.param_groups, groups):", False),
        ("for group in self.loader:", False),
        ("for group in self.make(groups):", False),
    ],
)
def test_an_entry_that_is_set_the_first_time(look: LookUp, loop: str, rare: bool) -> None:
    found = look(
        f"""
        class Adam:
            def step(self, groups):
                {loop}
                    if 'step' in group:
                        counted
                    else:
                        group['step'] = begin
        """
    )
    assert found.warmth("counted").hot
    assert bool(found.warmth("begin").amortised) is rare


PICTURES = """
class Model:
    def __init__(self):
        self.pictures = True

    def training_step(self, x, n):
        if {test}:
            self.pictures = {to}
            seen
        after

    def {again}(self):
        self.pictures = {back}
"""


@pytest.mark.parametrize(
    ("test", "to"),
    [
        ("self.pictures", False),
        ("self.wanted and self.pictures and isinstance(n, int)", False),
        ("not self.pictures", True),
        ("not (self.pictures or n)", True),
    ],
)
def test_a_flag_that_an_epoch_sets_again(look: LookUp, test: str, to: bool) -> None:
    text = PICTURES.replace("= True", f"= {not to}", 1)
    found = look(text.format(test=test, to=to, again="on_train_epoch_end", back=not to))
    assert found.warmth("seen").amortised
    assert found.warmth("after").hot


def test_a_flag_that_anything_sets_again(look: LookUp) -> None:
    text = PICTURES.format(test="self.pictures", to=False, again="refresh", back=True)
    assert look(text).warmth("seen").hot


def test_a_flag_that_takes_turns(look: LookUp) -> None:
    text = "        if {test}:\n            seen\n            self.odd = {to}\n"
    text += "        else:\n            other\n            self.odd = {back}\n"
    for test, to in (("self.odd", False), ("not self.odd", True)):
        found = look(FORWARD + text.format(test=test, to=to, back=not to))
        assert found.warmth("seen").hot
        assert found.warmth("other").hot


@pytest.mark.parametrize(
    ("test", "to"), [("self.pictures or n", False), ("self.pictures", True), ("self.pictures", "n"), ("n", False)]
)
def test_what_does_not_put_out_its_flag(look: LookUp, test: str, to: object) -> None:
    text = PICTURES.format(test=test, to=to, again="on_train_epoch_end", back=True)
    assert look(text).warmth("seen").hot


@pytest.mark.parametrize(
    ("last", "rare"),
    [
        ("self.stepped = True", True),
        ("if self.overflow:\n            return\n        self.stepped = True", True),
        ("with self.lock:\n            self.stepped = True", True),
        ("if self.overflow:\n            self.stepped = True", False),
        ("self.stepped = False", False),
        ("self.stepped = groups", False),
    ],
)
def test_a_flag_that_the_function_sets_later(look: LookUp, last: str, rare: bool) -> None:
    text = f"""
class Adam:
    def __init__(self):
        self.stepped = False

    def step(self, groups):
        for group in groups:
            if not self.stepped:
                seen
        {last}
"""
    assert bool(look(text).warmth("seen").amortised) is rare


def test_a_flag_that_was_set_before_tells_nothing(look: LookUp) -> None:
    text = "        self.on = False\n        if self.on:\n            seen\n"
    assert look(f"{FORWARD}{text}").warmth("seen").hot


HOOKED = """
class Engine:
    def __init__(self, model):
        self.first = None

        def check(module, args):
            compare(args)
            {remove}

        self.first = model.register_forward_pre_hook({hook})


def compare(values):
    for value in values:
        seen
"""


@pytest.mark.parametrize(
    ("remove", "hook", "cold"),
    [
        ("self.first.remove()", "check", True),
        ("self.other.remove()", "check", False),
        ("self.first.remove()", "compare", False),
        ("if args:\n                self.first.remove()", "check", False),
        ("self.first.remove(args)", "check", False),
    ],
)
def test_a_hook_that_removes_itself_runs_once(look: LookUp, remove: str, hook: str, cold: bool) -> None:
    warmth = look(HOOKED.format(remove=remove, hook=hook)).warmth("compare(args)")
    assert bool(warmth.cold) is cold


def test_a_method_that_removes_its_own_hook(look: LookUp) -> None:
    found = look(
        """
        class Probe:
            def attach(self, model):
                self.handle = model.register_forward_hook(self.hook)

            def hook(self, module, args, output):
                seen
                self.handle.remove()
        """
    )
    assert found.warmth("seen").cold == Reason(Cause.REMOVES_ITSELF, "hook")


@pytest.mark.parametrize(
    ("test", "other", "rare"),
    [
        ("n > self.max_length", "y = self.table[:n]", True),
        ("self.max_length < n", "y = self.table", True),
        ("n > self.length", "y = self.table[:n]", False),
        ("n > self.max_length", "y = make(n)", False),
        ("n > self.max_length", "z = self.table", False),
        ("n == self.max_length", "y = self.table", False),
    ],
)
def test_what_is_longer_than_what_was_computed_before(look: LookUp, test: str, other: str, rare: bool) -> None:
    found = look(arm(test, "y = make(n)", other))
    assert bool(found.warmth("seen").amortised) is rare
    assert found.warmth("after").hot


SENDER = """
class Stage:
    def __init__(self):
        self.first = True

    def forward(self, x, n):
        if self.first:
            {arm}
        after
        return x

    def _greet(self, x):
        seen
        {put_out}

    def {name}(self):
        self.first = True

    def train(self, x, n):
        {call}
"""


@pytest.mark.parametrize(
    ("name", "call", "rare"),
    [
        ("reset_shapes", "pass", True),
        ("reset_shapes", "if n != self.n:\n            self.reset_shapes()", True),
        ("reset_shapes", "self.reset_shapes()", False),
        ("reset_shapes", "if n is None:\n            raise ValueError\n        self.reset_shapes()", False),
        ("refresh", "if n != self.n:\n            self.refresh()", False),
    ],
)
def test_a_flag_that_a_reset_sets_again(look: LookUp, name: str, call: str, rare: bool) -> None:
    arm = "self.first = False\n            self._greet(x)"
    found = look(SENDER.format(arm=arm, put_out="", name=name, call=call))
    assert bool(found.warmth("seen").cold) is rare
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    ("arm", "put_out", "rare"),
    [
        ("self._greet(x)", "self.first = False", True),
        ("self._greet(x)", "self.first = True", False),
        ("self._greet(x)", "if x:\n            self.first = False", False),
        ("n._greet(x)\n            self._greet", "self.first = False", False),
    ],
)
def test_a_flag_that_a_method_puts_out(look: LookUp, arm: str, put_out: str, rare: bool) -> None:
    found = look(SENDER.format(arm=arm, put_out=put_out, name="__setstate__", call="pass"))
    assert bool(found.warmth("self._greet").amortised) is rare


TABLES = """
class Rotary:
    def __init__(self):
        self.longest = None
        self._fill(1)

    def _fill(self, n):
        {fill}
        seen

    def forward(self, x, n):
        if {test}:
            self._fill(n)
        after
        return x

    def {other}(self):
        self.longest = {to}


class Scaled(Rotary):
    def _fill(self, n):
        self.longest = n
        scaled
"""
SMALL = "self.longest is None or n > self.longest"


@pytest.mark.parametrize(
    ("test", "fill", "other", "to", "rare"),
    [
        (SMALL, "self.longest = n", "later", "3", True),
        (SMALL, "self.longest = n", "reset", "None", True),
        (SMALL, "self.longest = n", "later", "None", False),
        (SMALL, "self.other = n", "later", "3", False),
        (SMALL, "if n:\n            self.longest = n", "later", "3", False),
        ("not self.longest", "self.longest = True", "later", "3", True),
        ("not self.longest", "self.longest = False", "later", "3", False),
        ("x or not self.longest", "self.longest = n", "later", "3", False),
        ("x and not self.longest", "self.longest = n", "later", "3", True),
    ],
)
def test_a_method_that_fills_what_is_missing(
    look: LookUp, test: str, fill: str, other: str, to: str, rare: bool
) -> None:
    found = look(TABLES.format(test=test, fill=fill, other=other, to=to))
    assert bool(found.warmth("seen").cold) is rare
    assert bool(found.warmth("scaled").cold) is rare
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    ("other", "after", "rare"),
    [
        ("y = store['key']", "store.update({'key': y, 'value': x})", True),
        ("y = store['key'] if n else x", "store['key'] = y", True),
        ("y = store['key']", "store['value'] = y", False),
        ("y = store['key']", "kept.update({'key': y})", False),
        ("y = store['key']", "return y", False),
        ("y = store['value']", "store['key'] = y", False),
        ("y = store['key']\n            store['key'] = x", "return y", False),
    ],
)
def test_a_state_that_is_missing_in_the_first_call_alone(look: LookUp, other: str, after: str, rare: bool) -> None:
    arms = f"    if 'key' not in store:\n        y = seen\n    else:\n        {other}\n    {after}\n"
    found = look("def forward(self, x, n, store, kept):\n" + arms.replace("            ", "        "))
    assert bool(found.warmth("seen").amortised) is rare


COUNTING = """
class Trainer:
    def run(self, n):
        for self.turn in range(n):
            self.training_step(n)

    def training_step(self, x):
        {counts}
        if {test}:
            seen
        after
"""


@pytest.mark.parametrize(
    ("counts", "test", "rare"),
    [
        ("pass", "self.turn == self.given", True),
        ("pass", "x is not None and self.given == self.turn", True),
        ("self.done += 1", "self.done == 100", True),
        ("self.done = self.done + 1", "not self.done != x", True),
        ("pass", "x or self.turn == self.given", False),
        ("pass", "self.turn != self.given", False),
        ("pass", "self.other == self.given", False),
        ("self.done += 1", "self.done == self.turn", False),
        ("self.done += x", "self.done == 100", False),
    ],
)
def test_what_a_counter_is_asked_for_it_is_in_one_turn(look: LookUp, counts: str, test: str, rare: bool) -> None:
    found = look(COUNTING.format(counts=counts, test=test))
    assert bool(found.warmth("seen").amortised) is rare
    assert found.warmth("after").hot
