"""Arms behind options of an object that are off by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.reasons import Cause, Reason

LookUp = Callable[..., Any]

CLASS = """
class Net:
    def __init__(self, flag=False, kind="dot", extra=None, on=True, size=0, width=1, **more):
        self.flag = flag
        self.kind = kind
        self.extra = extra
        self.on = on
        self.size = size
        self.twice = 2 * width
        self.past = False
        self.fixed = False
        self.width = width
        if more:
            self.width = 3

    def forward(self, x, given):
        {test}
            seen
        else:
            other
        after

    def enable(self):
        self.past = True
"""


def program(test: str, more: str = "") -> str:
    return CLASS.replace("{test}", f"if {test}:") + more


@pytest.mark.parametrize(
    ("test", "option"),
    [
        ("self.flag", "flag"),
        ("self.flag and given", "flag"),
        ("given and self.flag", "flag"),
        ("self.kind == 'sum'", "kind"),
        ("self.kind in ('sum', 'mean')", "kind"),
        ("self.extra is not None", "extra"),
        ("self.extra", "extra"),
        ("not self.on", "on"),
        ("self.size > 0", "size"),
        ("self.fixed", "fixed"),
    ],
)
def test_an_arm_that_the_default_leaves_out_is_rare(look: LookUp, test: str, option: str) -> None:
    found = look(program(test))
    assert found.warmth("seen").amortised == Reason(Cause.OPTION_OFF, option)
    assert found.warmth("other").hot
    assert found.warmth("after").hot


@pytest.mark.parametrize(
    "test",
    [
        "self.flag or given",  # the argument may say so
        "self.past",  # another method sets it
        "self.twice > 4",  # computed
        "self.width == 2",  # set in two places
        "self.unknown",
        "given.flag",
        "given",
        "self.kind == given",
    ],
)
def test_what_no_default_decides(look: LookUp, test: str) -> None:
    found = look(program(test))
    assert found.warmth("seen").hot
    assert found.warmth("other").hot


@pytest.mark.parametrize(
    ("made", "rare"),
    [
        ("Net()", True),
        ("Net(False)", True),
        ("Net(flag=False, on=False)", True),
        ("Net(True)", False),
        ("Net(flag=True)", False),
        ("Net(flag=args.flag)", False),
    ],
)
def test_what_makes_the_object_says_so(look: LookUp, made: str, rare: bool) -> None:
    found = look(program("self.flag", f"\nnet = {made}\n"))
    assert bool(found.warmth("seen").amortised) is rare


@pytest.mark.parametrize(
    ("given", "rare"), [("", True), ("flag=False", True), ("flag=True", False), ("flag=flag", True), ("**more", False)]
)
def test_a_class_that_derives_from_it_says_so(look: LookUp, given: str, rare: bool) -> None:
    more = f"\nclass Other(Net):\n    def __init__(self, flag=False, **more):\n        super().__init__({given})\n"
    assert bool(look(program("self.flag", more)).warmth("seen").amortised) is rare


def test_what_follows_where_the_arm_leaves(look: LookUp) -> None:
    text = "class Net:\n    def __init__(self, flag=False):\n        self.flag = flag\n    def forward(self, x):\n"
    found = look(f"{text}        if not self.flag:\n            seen\n            return x\n        after\n")
    assert found.warmth("seen").hot
    assert found.warmth("after").amortised == Reason(Cause.OPTION_OFF, "flag")
