"""What `self.x` holds: what the methods of a class, and of its bases in the same file, store there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transferlint.flow.values import (
    CONTAINER,
    DEVICE,
    DEVICE_NAME,
    GIVEN,
    HOST,
    HOST_VALUE,
    LOADER,
    MODULE,
    OBJECT,
    PARAMETER,
    PLAIN,
    TENSOR,
)

LookUp = Callable[..., Any]


def test_an_attribute_of_another_method(look: LookUp) -> None:
    found = look("""
        import torch

        class Job:
            def __init__(self, device):
                self.there = torch.zeros(3, device="cuda")
                self.given = torch.zeros(3, device=device)
                self.here = torch.zeros(3)
                self.count = 0

            def run(self):
                a, b, c, d = self.there, self.given, self.here, self.count
                (a, b, c, d)
    """)
    assert found.places("a") == DEVICE
    assert found.places("b") == GIVEN
    assert found.places("c") == HOST
    assert found.value("d").is_a(HOST_VALUE)


def test_an_attribute_that_a_later_method_stores(look: LookUp) -> None:
    found = look("""
        import torch

        class Job:
            def run(self):
                a = self.table
                a

            def fill(self):
                self.table = torch.zeros(3, device="cuda")
    """)
    assert found.places("a") == DEVICE


def test_an_attribute_is_the_join_of_all_its_stores(look: LookUp) -> None:
    found = look("""
        import torch

        class Job:
            def __init__(self):
                self.table = torch.zeros(3)

            def up(self):
                self.table = self.table.cuda()

            def run(self):
                a = self.table
                a
    """)
    assert found.places("a") == HOST | DEVICE


def test_within_a_method_its_own_store_counts(look: LookUp) -> None:
    found = look("""
        import torch

        class Job:
            def __init__(self):
                self.table = torch.zeros(3)

            def run(self):
                self.table = self.table.cuda()
                a = self.table
                a
    """)
    assert found.places("a") == DEVICE


def test_buffers_and_parameters_move_with_their_module_and_plain_attributes_do_not(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mask", torch.ones(3))
                self.scale = nn.Parameter(torch.ones(3))
                self.table = torch.ones(3)
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                buffer = self.mask
                parameter = self.scale
                plain = self.table
                out = self.layer(x) * buffer
                (buffer, parameter, plain, out)
    """)
    assert found.places("buffer", 1) == GIVEN
    assert found.value("buffer").flags & PARAMETER
    assert found.places("parameter") == GIVEN
    assert found.value("parameter").flags & PARAMETER
    assert found.places("plain") == HOST
    assert found.value("plain").flags & PLAIN
    assert not found.value("plain").flags & PARAMETER
    assert found.places("out") == GIVEN


def test_a_tensor_attribute_of_what_is_no_module_is_not_left_behind_by_one(look: LookUp) -> None:
    found = look("""
        import torch

        class Job:
            def __init__(self):
                self.table = torch.ones(3)

            def run(self):
                a = self.table
                a
    """)
    assert not found.value("a").flags & PLAIN


def test_submodules_are_modules(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 3)

            def forward(self, x):
                return self.linear(x).relu()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()
                self.blocks = nn.ModuleList([Block() for _ in range(3)])

            def forward(self, x):
                one = self.block(x)
                for block in self.blocks:
                    two = block(x)
                (one, two)
    """)
    assert found.value("self.block").is_a(MODULE)
    assert found.value("one").is_a(TENSOR)
    assert found.value("one").on_device
    assert found.value("two").on_device


def test_properties_return_what_their_function_returns(look: LookUp) -> None:
    found = look("""
        import functools
        import torch

        class Job:
            def __init__(self):
                self.table = torch.zeros(3, device="cuda")

            @property
            def mean(self):
                return self.table.mean()

            @functools.cached_property
            def total(self):
                return self.table.sum().item()

            @property
            def device(self):
                return self.table.device

            def run(self):
                a, b, c = self.mean, self.total, self.device
                (a, b, c)
    """)
    assert found.places("a") == DEVICE
    assert found.value("a").is_a(TENSOR)
    assert found.places("b") == HOST
    assert found.value("c").is_a(DEVICE_NAME)


def test_base_classes_of_the_same_file(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mask", torch.ones(3))
                self.table = torch.zeros(3, device="cuda")

            def made(self):
                return torch.zeros(3, device="cuda")

        class Middle(Base):
            pass

        class Net(Middle):
            def forward(self, x):
                own = self.made()
                direct = self.table
                (own, direct)

        class Near(Base):
            def forward(self, x):
                buffer = self.mask
                near = self.table
                (buffer, near)
    """)
    assert found.places("own") == DEVICE
    assert found.places("buffer") == GIVEN
    assert found.value("buffer").flags & PARAMETER
    assert found.places("near") == DEVICE


def test_what_derives_from_a_module_is_a_module(look: LookUp) -> None:
    found = look("""
        import torch.nn as nn

        class Base(nn.Module):
            pass

        class Net(Base):
            pass

        class Other:
            pass

        net, other = Net(), Other()
        moved = net.cuda()
        (net, other, moved)
    """)
    assert found.value("net", 0).is_a(MODULE)
    assert found.value("other").is_a(OBJECT)
    assert found.places("moved") == DEVICE


def test_an_instance_of_a_module_class_returns_what_its_forward_returns(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return {"logits": x * 2}

        net = Net().cuda()
        out = net(torch.zeros(3).cuda())
        y = out["logits"]
        y
    """)
    assert found.value("out").is_a(CONTAINER)
    assert found.places("y") == DEVICE


def test_containers_of_an_attribute(look: LookUp) -> None:
    found = look("""
        import torch

        class Meter:
            def __init__(self):
                self.losses = []

            def add(self, loss: torch.Tensor):
                self.losses.append(loss.detach())

            def mean(self):
                a = torch.stack(self.losses)
                a
    """)
    assert found.value("a").is_a(TENSOR)
    assert found.value("a").on_device


def test_modules_and_loaders_kept_in_attributes(look: LookUp) -> None:
    found = look("""
        import torch
        from torch.utils.data import DataLoader

        class Trainer:
            def __init__(self, model, data, device):
                self.device = device
                self.model = model.to(device)
                self.loader = DataLoader(data, pin_memory=True)

            def fit(self):
                for x, y in self.loader:
                    x
                    x = x.to(self.device)
                    out = self.model(x)
                    out
    """)
    assert found.value("self.loader").is_a(LOADER)
    assert found.places("x", 1) == HOST
    assert found.places("out") == GIVEN


def test_data_sets_are_on_the_host(look: LookUp) -> None:
    found = look("""
        import torch
        from torch.utils.data import Dataset

        class Rows(Dataset):
            def __init__(self, rows):
                self.rows = rows

            def __getitem__(self, index):
                row = self.rows[index]
                y = torch.as_tensor(row)
                return y.sum().item()
    """)
    assert found.places("row") == HOST
    assert found.places("y") == HOST
    assert found.transfers() == []


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
