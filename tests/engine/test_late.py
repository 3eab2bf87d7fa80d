"""What is made late is as it would be if it had been made at once, and all that the package has of it can be made."""

from __future__ import annotations

import copy
import dataclasses
import gc
import importlib
import pickle
import pkgutil
import re
import sys
from typing import Any, ClassVar

import pytest

import transferlint
from transferlint import late, registry


@late.dataclass(frozen=True, slots=True)
class Late:
    """A class."""

    x: int
    y: str = "y"
    many: list[int] = dataclasses.field(default_factory=list, compare=False)
    LIMIT: ClassVar[int] = 3

    def double(self) -> int:
        return 2 * self.x


@dataclasses.dataclass(frozen=True, slots=True)
class Usual:
    """A class."""

    x: int
    y: str = "y"
    many: list[int] = dataclasses.field(default_factory=list, compare=False)
    LIMIT: ClassVar[int] = 3

    def double(self) -> int:
        return 2 * self.x


@late.dataclass(slots=True)
class Changing:
    x: int
    known: int | None = dataclasses.field(default=None, init=False)


BOTH = pytest.mark.parametrize("kind", [Late, Usual])
# More objects than are made before the method is compiled that makes them.
TIMES = pytest.mark.parametrize("times", [1, 200])


def said(kind: type, *given: Any, **named: Any) -> str:
    with pytest.raises(TypeError) as caught:
        kind(*given, **named)
    return str(caught.value).replace(kind.__name__, "Kind")


@BOTH
@TIMES
def test_objects(kind: Any, times: int) -> None:
    for _ in range(times):
        made = kind(1, many=[1])
    assert (made.x, made.y, made.many, made.double(), kind.LIMIT) == (1, "y", [1], 2, 3)
    assert made == kind(1, "y") != kind(2)
    assert hash(made) == hash(kind(1))
    assert repr(made) == f"{kind.__name__}(x=1, y='y', many=[1])"
    assert kind(1).many is not kind(1).many
    assert dataclasses.asdict(dataclasses.replace(made, x=4)) == {"x": 4, "y": "y", "many": [1]}
    assert [field.name for field in dataclasses.fields(kind)] == ["x", "y", "many"] == list(kind.__match_args__)
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)
    assert not hasattr(made, "__dict__")


@BOTH
def test_what_is_frozen_stays(kind: Any) -> None:
    made = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.y
    assert made.x == 1


def test_arguments_that_do_not_fit() -> None:
    for given, named in [((), {}), ((1, 2, 3, 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"y": "z"})]:
        assert said(Late, *given, **named) == said(Usual, *given, **named)


def test_what_is_not_frozen() -> None:
    made = Changing(1)
    assert made.known is None
    made.known = 3
    made.x = 2
    assert made == made
    assert made != Changing(2)
    assert repr(made) == "Changing(x=2, known=3)"
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(TypeError):
        hash(made)
    with pytest.raises(AttributeError):
        made.z = 1  # type: ignore[attr-defined]


def test_a_class_with_bases_is_refused() -> None:
    with pytest.raises(TypeError, match="bases"):
        late.dataclass(slots=True)(type("Other", (Changing,), {}))


def test_patterns() -> None:
    made = late.pattern(r"(a)b+", re.IGNORECASE)
    assert made.fullmatch("ABB")
    assert made.sub(r"\1", "abc abb") == "ac a"
    assert (made.pattern, made.flags) == (r"(a)b+", re.compile(r"(a)b+", re.IGNORECASE).flags)
    assert late.pattern(rb"\d").findall(b"a1b2") == [b"1", b"2"]


def test_modules() -> None:
    before = set(sys.modules)
    made = late.module("colorsys")
    assert set(sys.modules) - before <= set()
    assert made.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert vars(made)["rgb_to_hsv"] is importlib.import_module("colorsys").rgb_to_hsv


def everything() -> list[Any]:
    """All modules of the package and of its rules, but for those that need what is optional."""
    registry.load()
    rules = importlib.import_module("transferlint_rules")
    packages = [(transferlint, ("transferlint.runtime", "transferlint.server", "transferlint.__main__")), (rules, ())]
    return [
        importlib.import_module(found.name)
        for package, left_out in packages
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        if not found.name.startswith(left_out or ("-",))
    ]


def test_all_that_the_package_makes_late_can_be_made() -> None:
    modules = everything()
    classes = [
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and isinstance(vars(one).get("__eq__"), late._Part)
    ]
    for one in classes:
        assert dataclasses.fields(one)
        assert callable(one.__init__)
        assert callable(one.__eq__)
    patterns = [one for one in gc.get_objects() if type(one) is late._Pattern]
    assert len(patterns) > 150
    for pattern in patterns:
        assert isinstance(pattern.flags, int)


def test_what_rules_share_is_imported_when_it_is_used() -> None:
    """`from .folder import name` gives a module, whatever else the folder's package has."""
    rules = importlib.import_module("transferlint_rules")
    names = [one.name for one in pkgutil.iter_modules(rules.__path__) if one.ispkg]
    folders = [importlib.import_module(f"transferlint_rules.{name}") for name in names]
    assert len(folders) > 3
    for folder in folders:
        for found in pkgutil.iter_modules(folder.__path__):
            assert getattr(folder, found.name).__name__ == f"{folder.__name__}.{found.name}"
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = folder.nothing
