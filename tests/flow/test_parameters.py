"""What a parameter is before the first line runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transferlint.flow.lattice.values import (
    CONTAINER,
    DEVICE_NAME,
    GIVEN,
    HOST,
    HOST_VALUE,
    LOADER,
    MODULE,
    TENSOR,
)

LookUp = Callable[..., Any]


def test_parameters_of_forward_are_on_the_device_where_one_is_given(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x, mask=None, scale: float = 1.0, names: list[str] = ()):
                y = x * 2
                (y, mask, scale, names)
    """)
    assert found.places("y") == GIVEN
    assert found.value("mask").on_device
    assert not found.value("scale").on_device
    assert not found.value("names").on_device


def test_annotations_tell_what_a_parameter_is(look: LookUp) -> None:
    found = look("""
        import torch
        import numpy as np
        from torch import Tensor, nn
        from torch.utils.data import DataLoader
        from typing import Optional, List

        def job(a: Tensor, b: Optional[torch.Tensor], c: "Tensor | None", d: List[Tensor], e: int, f: np.ndarray,
                g: nn.Module, h: DataLoader, i: torch.device, j: torch.dtype, k: Optional[str] = None):
            (a, b, c, d, e, f, g, h, i, j, k)
    """)
    for name in "abc":
        assert found.value(name).is_a(TENSOR)
        assert found.places(name) == GIVEN
    assert found.value("d").is_a(CONTAINER)
    assert found.value("d").item.is_a(TENSOR)
    assert found.value("e").is_a(HOST_VALUE)
    assert found.places("f") == HOST
    assert found.value("g").is_a(MODULE)
    assert found.value("h").is_a(LOADER)
    assert found.value("i").is_a(DEVICE_NAME)
    assert not found.value("j").on_device
    assert found.value("k").is_a(HOST_VALUE)


def test_use_tells_what_a_parameter_is(look: LookUp) -> None:
    found = look("""
        import torch

        def job(a, b, c):
            y = a.unsqueeze(0)
            z = torch.matmul(b, a)
            (a, b, c)
    """)
    assert found.value("a").is_a(TENSOR)
    assert found.value("b").is_a(TENSOR)
    assert not found.value("c").on_device


def test_anything_may_be_a_tensor(look: LookUp) -> None:
    found = look("""
        from typing import Any, Dict
        from torch import nn

        class Net(nn.Module):
            def forward(self, batch: Dict[str, Any], names: Dict[str, int], rest: Any):
                x = batch["x"]
                (x, names["x"], rest)
    """)
    assert found.value("x").on_device
    assert found.value('names["x"]').is_a(HOST_VALUE)
    assert not found.value("rest").is_a(HOST_VALUE)


def test_a_result_has_the_place_of_those_arguments_that_it_comes_from(look: LookUp) -> None:
    found = look("""
        import torch

        def second(a, b):
            return b

        def swapped(a, b, *more):
            return b, [a, more]

        def around(a):
            def inner(b):
                return a
            return inner(torch.ones(3, device="cuda"))

        on_device = torch.ones(3, device="cuda")
        of_second = second(on_device, 1.5)
        by_name = second(b=on_device, a=1.5)
        one, other = swapped(on_device, 1.5)
        first, last = swapped(1.5, on_device)
        (of_second, by_name, one, other[0], first)
    """)
    assert not found.value("of_second").on_device
    assert found.value("by_name").on_device
    assert not found.value("one").on_device
    assert found.value("other[0]").on_device
    assert found.value("first").on_device
    assert not found.value('inner(torch.ones(3, device="cuda"))').on_device


def test_what_may_be_a_tensor_and_is_used_as_one_is_one(look: LookUp) -> None:
    found = look("""
        import torch

        def through(x, layers):
            for layer in layers:
                x = layer(x)
            return x

        def job(layers):
            y = through(torch.ones(3, device="cuda"), layers)
            y = y.unsqueeze(0).mean(dim=0)
            z = through(torch.ones(3, device="cuda"), layers)
            z.unsqueeze(0)
    """)
    assert found.value("z").is_a(TENSOR)
    assert found.value("z").on_device


def test_the_size_of_a_tensor_is_a_plain_value(look: LookUp) -> None:
    assert look("import torch\n\ndef job(size: torch.Size):\n    size\n").value("size").is_a(HOST_VALUE)
