"""Rule packs: found by entry point, checked, refused one by one."""

from __future__ import annotations

import dataclasses
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from transferlint import registry
from transferlint.rule import HEADINGS, Example, Rule

DOC = "\n".join(f"## {heading}\nWords." for heading in HEADINGS)
GOOD = Rule(
    "ABC101", "good-rule", "says good", "repeated", True, None, "1", (Example("a", "b"),), lambda facts: iter(()), DOC
)


@pytest.fixture
def pack(monkeypatch: pytest.MonkeyPatch):
    """Install a module under a name; returns the entry point."""

    def install(name: str, rules: Any) -> SimpleNamespace:
        module = ModuleType(name)
        if rules is not None:
            module.RULES = rules  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        return SimpleNamespace(name=name, value=name)

    return install


def test_sound_packs_are_joined_in_order_of_code(pack):
    second = dataclasses.replace(GOOD, code="ABB001", name="other-rule")
    loaded = registry.load([pack("one", (GOOD,)), pack("two", (second,))])
    assert [rule.code for rule in loaded.rules] == ["ABB001", "ABC101"]
    assert loaded.refused == ()
    assert loaded.find("abc101") is GOOD
    assert loaded.find("good-rule") is GOOD
    assert loaded.find("ABC1") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": "abc1"}, "the code 'abc1' is not capital letters and three digits"),
        ({"code": 7}, "the code 7 is not capital letters and three digits"),
        ({"name": "Good_Rule"}, "ABC101: the name 'Good_Rule' is not kebab case"),
        ({"summary": "two\nlines"}, "ABC101: the summary is not one line"),
        ({"category": "misc"}, "ABC101: the category 'misc' is none of linter, repeated"),
        ({"default": "yes"}, "ABC101: default is not a bool"),
        ({"fix_safety": "safe"}, "ABC101: fix_safety is neither None nor a Safety"),
        ({"detect": None}, "ABC101: detect cannot be called"),
        ({"examples": ["x"]}, "ABC101: examples is not a tuple of Example"),
        ({"doc": "What it does"}, "ABC101: the documentation lacks the heading 'Why'"),
        ({"doc": None}, "ABC101: doc is not a text"),
    ],
)
def test_broken_rules_refuse_their_pack_alone(pack, change, message):
    sound = dataclasses.replace(GOOD, code="XYZ001", name="sound-rule")
    loaded = registry.load([pack("broken", (dataclasses.replace(GOOD, **change),)), pack("sound", (sound,))])
    assert [rule.code for rule in loaded.rules] == ["XYZ001"]
    (line,) = loaded.refused
    assert line.startswith(f"rule pack broken (broken) is left out: {message}")
    assert "\n" not in line


def test_packs_that_are_no_packs(pack):
    points = [
        pack("empty", None),
        pack("number", 3),
        pack("strings", ("TL101",)),
        SimpleNamespace(name="missing", value="no_such_module_anywhere"),
    ]
    loaded = registry.load([*points, pack("sound", [GOOD])])
    assert loaded.rules == (GOOD,)
    assert [line.partition(": ")[2] for line in loaded.refused] == [
        "AttributeError: module 'empty' has no attribute 'RULES'",
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'",
        "TypeError: RULES is a int, not a tuple of rules",
        "TypeError: RULES holds a str, not a transferlint.rule.Rule",
    ]


def test_codes_and_names_are_unique(pack):
    twin = dataclasses.replace(GOOD, code="ABC102")
    loaded = registry.load([pack("a", (GOOD,)), pack("b", (GOOD,)), pack("c", (twin,))])
    assert [line.partition(": ")[2] for line in loaded.refused] == [
        "the code ABC101 is taken (and 1 more)",
        "ABC102: the name good-rule is taken",
    ]


def test_the_installed_packs_are_sound():
    loaded = registry.load()
    assert loaded.refused == ()
