"""Where a tensor is made: `device=`, the default device, `with` a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.transfers import BUILD
from transferlint.flow.lattice.values import (
    DEVICE,
    FRESH,
    GIVEN,
    HOST,
    MODULE,
    TENSOR,
)
from transferlint.model import Direction

LookUp = Callable[..., Any]


@pytest.mark.parametrize(
    "made",
    [
        'torch.zeros(3, device="cuda")',
        'torch.arange(3, device=torch.device("cuda"))',
        'torch.tensor([1, 2], device="cuda")',
        "torch.cuda.FloatTensor(3)",
        'torch.randn_like(host, device="cuda")',
        "torch.zeros_like(there)",
        "there.new_zeros(3)",
        "there.new_tensor([1.0])",
        'torch.full((2,), 1.0, device="cuda")',
        'torch.as_tensor(numbers, device="cuda")',
    ],
)
def test_made_on_the_device(look: LookUp, made: str) -> None:
    found = look(f"""
        import torch

        def job(numbers: list[float]):
            host = torch.zeros(2)
            there = torch.ones(2, device="cuda")
            x = {made}
            x
    """)
    assert found.value("x").is_a(TENSOR)
    assert found.places("x") == DEVICE


@pytest.mark.parametrize(
    "made",
    [
        "torch.zeros(3)",
        "torch.tensor([1, 2])",
        "torch.from_numpy(rows)",
        "torch.zeros_like(host)",
        "torch.FloatTensor(3)",
        'torch.randn(3, device="cpu")',
        "torch.randn(3, device=None)",
    ],
)
def test_made_on_the_host(look: LookUp, made: str) -> None:
    found = look(f"""
        import torch

        def job(rows):
            host = torch.zeros(2)
            x = {made}
            x
    """)
    assert found.value("x").is_a(TENSOR)
    assert found.places("x") == HOST
    assert found.transfers() == []


@pytest.mark.parametrize(
    ("made", "uploads"),
    [
        ("torch.tensor([a, b], device=device)", True),
        ("torch.tensor(a, device=device)", True),
        ("torch.as_tensor(rows, device=device)", True),
        ("there.new_tensor([a])", True),
        ("torch.zeros(a, device=device)", False),
        ("torch.full((2,), a, device=device)", False),
        ("there.new_zeros(2)", False),
        ("torch.cuda.FloatTensor(3, 4)", False),
        ("torch.cuda.FloatTensor([1.0, 2.0])", True),
    ],
)
def test_building_from_host_data_is_an_upload(look: LookUp, made: str, uploads: bool) -> None:
    found = look(f"""
        import torch
        import numpy as np

        def job(a: float, b: float, device):
            rows = np.zeros(3)
            there = torch.ones(2, device="cuda")
            x = {made}
            x
    """)
    built = found.transfers(BUILD)
    assert bool(built) == uploads
    assert all(t.direction is Direction.H2D for t in built)
    assert bool(found.value("x").uploads) == uploads


def test_a_with_block_on_a_device(look: LookUp) -> None:
    found = look("""
        import torch
        device = torch.device("cuda")
        with device:
            inside = torch.zeros(1)
        with torch.device("cuda"):
            layer = torch.nn.Linear(1, 1)
            for _ in range(3):
                deep = torch.zeros(1)
            named = torch.zeros(1, device="cpu")
        outside = torch.zeros(1)
        (inside, layer, deep, named, outside)
    """)
    assert found.places("inside") == DEVICE
    assert found.places("layer") == DEVICE
    assert found.places("deep") == DEVICE
    assert found.places("named") == HOST
    assert found.places("outside") == HOST


def test_other_with_blocks_change_no_place(look: LookUp) -> None:
    found = look("""
        import torch
        with torch.no_grad(), torch.autocast("cuda"):
            x = torch.zeros(1)
        x
    """)
    assert found.places("x") == HOST


def test_modules_take_the_device_they_are_told(look: LookUp) -> None:
    found = look("""
        import torch
        layer = torch.nn.Linear(2, 2, device="cuda")
        layer
    """)
    assert found.value("layer").is_a(MODULE)
    assert found.places("layer") == DEVICE


def test_a_default_device_is_where_tensors_are_made(look: LookUp) -> None:
    found = look("""
        import torch
        before = torch.zeros(1)
        torch.set_default_device("cuda")
        after = torch.zeros(1)
        named = torch.zeros(1, device="cpu")
        layer = torch.nn.Linear(1, 1)

        def job():
            inside = torch.ones(1)
            inside

        (before, after, named, layer)
    """)
    assert found.places("before") == HOST
    assert found.places("after") == DEVICE
    assert found.places("named") == HOST
    assert found.places("layer") == DEVICE
    assert found.places("inside") == DEVICE


def test_a_default_device_that_may_be_either(look: LookUp) -> None:
    found = look("""
        import torch
        torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
        x = torch.zeros(1)
        x
    """)
    assert found.places("x") == GIVEN


def test_the_meta_device_holds_no_data(look: LookUp) -> None:
    found = look("""
        import torch
        x = torch.zeros(1, device="meta")
        x
    """)
    assert not found.value("x").on_device


def test_what_as_tensor_gets_may_be_a_tensor_already(look: LookUp) -> None:
    found = look(
        """
        import torch

        for x, y in loader:
            torch.as_tensor(y)
            torch.tensor(y)
        """
    )
    assert not found.value("torch.as_tensor(y)").flags & FRESH
    assert found.value("torch.tensor(y)").flags & FRESH


@pytest.mark.parametrize(("name", "host"), [("lengths_cpu", True), ("host_mask", True), ("lengths", False)])
def test_arguments_whose_name_says_host(look: LookUp, name: str, host: bool) -> None:
    found = look(
        f"""
        import torch

        def forward({name}: torch.Tensor):
            {name}
        """
    )
    assert found.value(name).on_host is host
