"""Which expressions name a place, and where a tensor is that was moved there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.transfers import DOWNLOAD, MOVE
from transferlint.flow.lattice.values import (
    ANYWHERE,
    DEVICE,
    DEVICE_NAME,
    DTYPE_VALUE,
    GIVEN,
    HOST,
    NOTHING,
    PYTHON,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.flow.placement import devices
from transferlint.model import Direction

LookUp = Callable[..., Any]


@pytest.mark.parametrize("text", ["cuda", "cuda:0", "xpu", "npu:3", "mps", "hpu", "xla", "gpu"])
def test_names_of_accelerators(text: str) -> None:
    assert devices.named_place(text) == DEVICE


@pytest.mark.parametrize(("text", "places"), [("cpu", HOST), ("meta", ANYWHERE), ("train", 0), ("cudax", 0), ("", 0)])
def test_other_strings(text: str, places: int) -> None:
    assert devices.named_place(text) == places


@pytest.mark.parametrize(
    ("places", "settled"),
    [
        (DEVICE, DEVICE),
        (HOST, HOST),
        (HOST | DEVICE, GIVEN),
        (HOST | GIVEN, GIVEN),
        (HOST | ANYWHERE, GIVEN),
        (ANYWHERE, ANYWHERE),
        (0, 0),
    ],
)
def test_a_name_of_both_places_means_the_device_where_there_is_one(places: int, settled: int) -> None:
    assert devices.settle(places) == settled


@pytest.mark.parametrize(
    ("value", "spelled", "target"),
    [
        (Value(DEVICE_NAME, DEVICE), "", (DEVICE, False)),
        (Value(DEVICE_NAME, DEVICE | HOST), "", (GIVEN, False)),
        (Value(DEVICE_NAME | UNKNOWN, ANYWHERE | HOST), "", (GIVEN, False)),  # accelerator() if ... else "cpu"
        (DTYPE_VALUE, "", (0, True)),
        (Value(TENSOR, HOST), "other", (HOST, False)),
        (NOTHING, "device", (GIVEN, False)),
        (NOTHING, "gpu_id", (GIVEN, False)),
        (NOTHING, "weight_dtype", (0, True)),
        (NOTHING, "float16", (0, True)),
        (NOTHING, "whatever", (ANYWHERE, False)),
        (PYTHON, "", (GIVEN, False)),
    ],
)
def test_what_an_argument_of_to_means(value: Value, spelled: str, target: tuple[int, bool]) -> None:
    assert devices.target(value, spelled) == target


@pytest.mark.parametrize(
    ("device", "places"),
    [
        ('"cuda"', DEVICE),
        ('"cuda:1"', DEVICE),
        ("0", GIVEN),
        ('f"cuda:{n}"', GIVEN),
        ('"cpu"', HOST),
        ('torch.device("cuda")', DEVICE),
        ('torch.device("cuda", 0)', DEVICE),
        ('torch.device("cpu")', HOST),
        ('torch.device("cuda" if torch.cuda.is_available() else "cpu")', GIVEN),
        ('"cuda" if torch.cuda.is_available() else "cpu"', GIVEN),
        ('device="cuda"', DEVICE),
        ("device=args.device", GIVEN),
        ("device", GIVEN),
        ("args.device", GIVEN),
        ('args["device"]', GIVEN),
        ('cfg["train"]["device"]', GIVEN),
        ("get_device()", GIVEN),
        ("accelerator.device", GIVEN),
        ("trainer.strategy.root_device", GIVEN),
        ("next(model.parameters()).device", GIVEN),
        ("other.device", GIVEN),
        ("local_rank", GIVEN),
        ("torch.cuda.current_device()", GIVEN),
        ('torch.device("cuda"), torch.float16', DEVICE),
        ('"cuda", non_blocking=True', DEVICE),
        ('"cuda", torch.half, True', DEVICE),
    ],
)
def test_a_host_tensor_moved_to_a_device(look: LookUp, device: str, places: int) -> None:
    found = look(f"""
        import torch

        def job(args, cfg, device, model, other, local_rank, accelerator, trainer, n):
            x = torch.randn(3)
            y = x.to({device})
            y
    """)
    assert found.value("y").is_a(TENSOR)
    assert found.places("y") == places
    moved = found.transfers(MOVE)
    assert [t.direction for t in moved] == ([Direction.H2D] if places != HOST else [])
    assert not found.transfers(DOWNLOAD)


@pytest.mark.parametrize(
    "dtype",
    [
        "torch.float16",
        "dtype=torch.float32",
        "torch.long",
        "dtype",
        "weight_dtype",
        "other.dtype",
        "self.dtype",
        "x.dtype",
        "memory_format=torch.channels_last",
        "copy=True",
        "non_blocking=True",
    ],
)
def test_a_conversion_moves_nothing(look: LookUp, dtype: str) -> None:
    found = look(f"""
        import torch

        class Job:
            def run(self, other, dtype, weight_dtype):
                x = torch.randn(3, device="cuda")
                y = x.to({dtype})
                y
    """)
    assert found.places("y") == DEVICE
    assert found.transfers() == []


@pytest.mark.parametrize("method", ["half", "float", "double", "bfloat16", "long", "int", "bool", "type_as"])
def test_conversion_methods_move_nothing(look: LookUp, method: str) -> None:
    argument = "x" if method == "type_as" else ""
    found = look(f"""
        import torch
        x = torch.randn(3, device="cuda")
        y = x.{method}({argument})
        y
    """)
    assert found.places("y") == DEVICE
    assert found.transfers() == []


def test_to_another_tensor_moves_to_where_that_is(look: LookUp) -> None:
    found = look("""
        import torch
        there = torch.zeros(3, device="cuda")
        here = torch.zeros(3)
        a = here.to(there)
        b = there.to(here)
        c = here.to(other=there)
        (a, b, c)
    """)
    assert found.places("a") == DEVICE
    assert found.places("b") == HOST
    assert found.places("c") == DEVICE
    assert [t.direction for t in found.transfers()] == [Direction.H2D, Direction.D2H, Direction.H2D]


def test_to_where_it_is_already_is_no_upload(look: LookUp) -> None:
    found = look("""
        import torch
        x = torch.zeros(3, device="cuda")
        y = x.to("cuda")
        y
    """)
    assert found.places("y") == DEVICE
    assert [t.direction for t in found.transfers()] == [Direction.D2D]
    assert found.value("y").uploads == found.value("x").uploads


@pytest.mark.parametrize(
    "call", ["cuda()", "cuda(0)", "cuda(non_blocking=True)", "xpu()", "type(torch.cuda.FloatTensor)"]
)
def test_methods_that_name_the_device(look: LookUp, call: str) -> None:
    found = look(f"""
        import torch
        x = torch.zeros(3)
        y = x.{call}
        y
    """)
    assert found.places("y") == DEVICE
    (moved,) = found.transfers()
    assert moved.direction is Direction.H2D
    assert moved.explicit
    assert moved.non_blocking == ("non_blocking" in call)


def test_a_device_of_the_class(look: LookUp) -> None:
    found = look("""
        import torch

        class Trainer:
            def __init__(self, args):
                self.device = torch.device("cuda")
                self.where = "cuda:0"
                self.home = torch.device("cpu")

            def run(self):
                a = torch.zeros(1).to(self.device)
                b = torch.zeros(1).to(self.where)
                c = torch.zeros(1).to(self.home)
                (a, b, c)
    """)
    assert found.places("a") == DEVICE
    assert found.places("b") == DEVICE
    assert found.places("c") == HOST


def test_the_device_of_a_tensor_is_where_it_is(look: LookUp) -> None:
    found = look("""
        import torch
        host, there = torch.zeros(1), torch.zeros(1, device="cuda")
        a = host.to(there.device)
        b = torch.ones(1, device=host.device)
        (a, b)
    """)
    assert found.places("a") == DEVICE
    assert found.places("b") == HOST


def test_a_device_that_the_module_binds_is_known_in_its_functions(look: LookUp) -> None:
    found = look("""
        import torch

        def early():
            x = torch.zeros(1).to(DEVICE)
            x

        DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"

        def late():
            y = torch.zeros(1, device=DEVICE)
            y
    """)
    assert found.places("x") == GIVEN
    assert found.places("y") == GIVEN


@pytest.mark.parametrize(
    ("parameter", "places"),
    [
        ("device", GIVEN),
        ('device="cuda"', DEVICE | GIVEN),
        ("device: torch.device", GIVEN),
        ('device: str = "cpu"', GIVEN),
    ],
)
def test_a_device_parameter(look: LookUp, parameter: str, places: int) -> None:
    found = look(f"""
        import torch

        def job({parameter}):
            x = torch.zeros(1, device=device)
            x
    """)
    assert found.places("x") == places
