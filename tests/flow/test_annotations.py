"""What annotations say of the values that they stand at, and what tests of types say of those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import (
    ARRAY,
    CONTAINER,
    DEVICE_NAME,
    GIVEN,
    HOST,
    HOST_VALUE,
    LOADER,
    MAPPING,
    MODULE,
    OBJECT,
    TENSOR,
    UNKNOWN,
)

LookUp = Callable[..., Any]
START = """
from __future__ import annotations
import torch, numpy as np
from torch import Tensor, nn
from typing import *
class Own: ...
"""


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        ("Tensor", TENSOR),
        ("'Tensor'", TENSOR),
        ("torch.Tensor | None", TENSOR),
        ("Optional[torch.LongTensor]", TENSOR),
        ("Annotated[Tensor, 'b c']", TENSOR),
        ('Float[Tensor, "b c"]', TENSOR),
        ("nn.Parameter", TENSOR),
        ("float | Tensor", TENSOR | HOST_VALUE),
        ("Union[int, float, Tensor, None]", TENSOR | HOST_VALUE),
        ("Tensor | list[Tensor]", TENSOR | CONTAINER),
        ("np.ndarray | Tensor", TENSOR | ARRAY),
        ("Tensor | Own", TENSOR | OBJECT),
        ("Tensor | Unheard", TENSOR | UNKNOWN),
        ("Own", OBJECT),
        ("Unheard", UNKNOWN),
        ("Any", UNKNOWN),
        ("type[Tensor]", UNKNOWN),
        ("Callable[[Tensor], Tensor]", UNKNOWN),
        ("int", HOST_VALUE),
        ("Literal['a', 'b']", HOST_VALUE),
        ("str | dict[str, Tensor]", HOST_VALUE | CONTAINER),
        ("list[int]", CONTAINER),
        ("tuple[int, int]", CONTAINER),
        ("tuple[int, ...]", HOST_VALUE),
        ("Sequence[float]", HOST_VALUE),
        ("dict[str, Any]", UNKNOWN),
        ("Dict[str, Tensor]", CONTAINER),
        ("nn.Module", MODULE),
        ("torch.device", DEVICE_NAME),
        ("torch.utils.data.DataLoader", LOADER),
        ("not [ an annotation", UNKNOWN),
    ],
)
def test_kinds(look: LookUp, annotation: str, kinds: int) -> None:
    source = f"{START}def f(x: {annotation!r}):\n    seen = x\n"
    assert look(source).value("x").kinds == kinds


def test_what_is_in_containers(look: LookUp) -> None:
    def value(annotation: str) -> Any:
        return look(f"{START}def f(x: {annotation}):\n    seen = x\n").value("x")

    pair = value("tuple[Tensor, int]")
    assert [one.kinds for one in pair.items] == [TENSOR, HOST_VALUE]
    assert value("tuple[Tensor, Tensor]").item.kinds == TENSOR
    assert value("list[tuple[Tensor, float]]").item.items[1].kinds == HOST_VALUE
    named = value("dict[str, float | Tensor]")
    assert named.flags & MAPPING
    assert named.item.kinds == TENSOR | HOST_VALUE
    assert value("list[int]").places == HOST
    assert value("list[Tensor]").places == GIVEN
    assert value("float | Tensor").places == GIVEN


def test_an_element_of_what_may_be_a_list_or_a_tensor(look: LookUp) -> None:
    found = look(f"{START}def f(x: list[int] | Tensor):\n    for one in x:\n        seen = one, x[0]\n")
    assert found.value("one").kinds == TENSOR | HOST_VALUE
    assert found.value("x[0]").kinds == TENSOR | HOST_VALUE


@pytest.mark.parametrize(
    ("annotation", "statements", "kinds"),
    [
        ("float | Tensor", "if isinstance(x, Tensor): seen = x", TENSOR),
        ("float | Tensor", "if torch.is_tensor(x): seen = x", TENSOR),
        ("float | Tensor", "if isinstance(x, float): seen = x", HOST_VALUE),
        ("float | Tensor", "if isinstance(x, str): seen = x", HOST_VALUE),
        ("float | Tensor", "if not isinstance(x, Tensor): x = torch.tensor(x)\n    seen = x", TENSOR),
        ("float | Tensor", "if not isinstance(x, Tensor): return\n    seen = x", TENSOR),
        ("float | Tensor", "if isinstance(x, float): return\n    seen = x", TENSOR),
        ("float | Tensor", "if isinstance(x, int): return\n    seen = x", TENSOR | HOST_VALUE),
        ("float | Tensor", "assert isinstance(x, Tensor)\n    seen = x", TENSOR),
        ("float | Tensor", "assert torch.is_tensor(x), 'no'\n    seen = x", TENSOR),
        ("float | Tensor", "if isinstance(x, Tensor): x = x + 1\n    seen = x", TENSOR | HOST_VALUE),
        ("Tensor | list[Tensor]", "if isinstance(x, list): seen = x", CONTAINER),
        ("Tensor | list[Tensor]", "if not isinstance(x, (list, tuple)): seen = x", TENSOR),
        ("Tensor | list[Tensor]", "if not isinstance(x, Tensor): seen = x", CONTAINER),
        ("Any", "if isinstance(x, Tensor): seen = x", TENSOR),
        ("Tensor", "if not isinstance(x, nn.Parameter): seen = x", TENSOR),
        ("Tensor", "if isinstance(x, Tensor): x = x.float()\n    seen = x", TENSOR),
        ("Tensor | list[Tensor]", "seen = x.cuda(); x = seen; x", TENSOR),
        ("Tensor", "if not isinstance(x, Tensor): seen = x", HOST_VALUE | CONTAINER | UNKNOWN),
    ],
)
def test_tests_of_types(look: LookUp, annotation: str, statements: str, kinds: int) -> None:
    found = look(f"{START}def f(x: {annotation}):\n    {statements}\n")
    assert found.value("x").kinds == kinds


def test_a_parameter_may_be_bound_to_something_else(look: LookUp) -> None:
    text = f"{START}def f(given, rows: list[int], scores: Tensor):\n    rows = given.rows\n    seen = rows\n"
    assert look(text).value("rows").kinds == UNKNOWN
    text = f"{START}def f(given):\n    rows: list[int] = given.rows\n    seen = rows\n"
    assert look(text).value("rows").kinds == CONTAINER
