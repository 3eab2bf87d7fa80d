"""What `self.x` holds: what the methods of a class, and of its bases in the same file, store there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import (
    DEVICE,
    DEVICE_NAME,
    GIVEN,
    HOST,
    HOST_VALUE,
    LOADER,
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


@pytest.mark.parametrize("taken", ["next(Turns(data))", "next(iter(Turns(data)))", "[x for x in Turns(data)][0]"])
def test_the_next_of_an_iterator_of_ones_own_is_what_its_method_returns(look: LookUp, taken: str) -> None:
    found = look(f"""
        import torch

        class Turns:
            def __init__(self, data):
                self.data = data

            def __iter__(self):
                return self

            def __next__(self):
                return torch.zeros(3).cuda()

        def job(data):
            y = {taken}
            return y
    """)
    assert found.value("y").is_a(TENSOR)
    assert found.places("y") == DEVICE
