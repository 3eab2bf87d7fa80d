"""Modules, where they are moved, and what they return; losses and optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import (
    ANYWHERE,
    BOOLEAN,
    CONTAINER,
    DEVICE,
    GIVEN,
    HOST,
    MODULE,
    OBJECT,
    OPTIMIZER,
    TENSOR,
)

LookUp = Callable[..., Any]
START = """
import math
import torch
import numpy as np
import torch.nn.functional as F
from torch import nn

x = torch.randn(3, 4, device="cuda")
w = torch.randn(4, 4, device="cuda")
h = torch.randn(3, 4)
n = 2
"""


def test_a_module_is_made_on_the_host_and_moved_where_it_stands(look: LookUp) -> None:
    found = look(
        f"""{START}
model = nn.Linear(4, 4)
model
model.to("cuda")
y = model(x)
weight = model.weight
(model, y, weight)
"""
    )
    assert found.value("model", 1).is_a(MODULE)
    assert found.places("model", 1) == HOST
    assert found.places("model") == DEVICE
    assert found.value("y").is_a(TENSOR)
    assert found.places("y") == DEVICE
    assert found.places("weight") == DEVICE


@pytest.mark.parametrize(
    "move", ["model = model.to(device)", "model.to(device)", "model = model.cuda() if device else model.to(device)"]
)
def test_what_a_moved_module_returns_is_on_the_device(look: LookUp, move: str) -> None:
    found = look(
        f"""{START}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
{move}
y = model(h.to(device))
y
"""
    )
    assert found.value("y").on_device
    assert not found.places("y") & HOST


def test_a_module_that_was_never_moved_computes_on_the_host(look: LookUp) -> None:
    found = look(f"{START}model = nn.Linear(4, 4)\ny = model(h)\nfor p in model.parameters():\n    p\ny\n")
    assert found.places("y") == HOST
    assert found.places("p") == HOST


def test_parameters_are_where_their_module_is(look: LookUp) -> None:
    found = look(
        f"""{START}
model = nn.Linear(4, 4).cuda()
for p in model.parameters():
    norm = p.grad.norm()
for name, q in model.named_parameters():
    q
first = next(model.parameters())
(norm, first)
"""
    )
    assert found.places("p") == DEVICE
    assert found.places("norm") == DEVICE
    assert found.places("q") == DEVICE
    assert found.places("first") == DEVICE


@pytest.mark.parametrize("wrap", ["nn.DataParallel(model)", "torch.compile(model)", "model.eval()", "model.half()"])
def test_a_wrapped_module_is_where_the_module_is(look: LookUp, wrap: str) -> None:
    found = look(f"{START}model = nn.Linear(4, 4).cuda()\nouter = {wrap}\ny = outer(x)\ny\n")
    assert found.value("outer", 0).may_be(MODULE)
    assert found.places("y") == DEVICE


@pytest.mark.parametrize(
    "loss",
    [
        "F.cross_entropy(model(x), w)",
        "nn.CrossEntropyLoss()(model(x), w)",
        "criterion(model(x), w)",
        "F.mse_loss(x, w)",
        "(model(x) - w).pow(2).mean()",
        "model(x).loss",
        "model(x)['loss']",
    ],
)
def test_a_loss_is_on_the_device(look: LookUp, loss: str) -> None:
    found = look(
        f"""{START}
def job(model):
    model = model.cuda()
    criterion = nn.CrossEntropyLoss()
    loss = {loss}
    loss.backward()
    total = loss.item()
"""
    )
    assert found.value("loss").on_device
    assert [t.api for t in found.transfers("scalar-read")] == [".item()"]


def test_an_optimizer_is_no_tensor(look: LookUp) -> None:
    found = look(
        f"""{START}
model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.Adam(model.parameters())
optimizer.zero_grad()
loss = model(x).sum()
optimizer.step()
optimizer.to("cuda")
optimizer
"""
    )
    assert found.value("optimizer").is_a(OPTIMIZER)
    assert found.transfers("scalar-read", "truth", "number") == []


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


@pytest.mark.parametrize(
    ("made", "given", "places"),
    [
        ("nn.L1Loss()", "x, t", GIVEN),
        ("nn.L1Loss()", "torch.ones(3), torch.ones(3)", HOST),
        ("nn.Softmax(-1)", "x", GIVEN),
        ("nn.Linear(3, 3)", "torch.ones(3)", HOST),
    ],
)
def test_what_holds_nothing_computes_where_its_arguments_are(look: LookUp, made: str, given: str, places: int) -> None:
    text = f"""{START}
held = {made}

def kept(a, b=None):
    return held(a, b), 1

def run(batches, device):
    for x, t in batches:
        x = x.to(device)
        t = t.to(device)
        y, _ = kept({given})
        (y,)
"""
    assert look(text).places("y") == places


@pytest.mark.parametrize("made", ["torch.ones(3, dtype=torch.bool)", "torch.zeros_like(h, dtype=bool)"])
@pytest.mark.parametrize(("type_", "mask"), [("", True), ("dtype=torch.uint8", False)])
def test_what_is_made_of_booleans_is_a_mask(look: LookUp, made: str, type_: str, mask: bool) -> None:
    text = made.replace("dtype=torch.bool", type_).replace("dtype=bool", type_) if type_ else made
    assert bool(look(f"{START}y = ~{text}\ny\n").value("y").flags & BOOLEAN) == mask


@pytest.mark.parametrize(("other", "told"), [("h.cuda()", True), ("2", True), ("found()", False), ("w", False)])
def test_what_is_computed_of_anything_else_was_not_uploaded(look: LookUp, other: str, told: bool) -> None:
    found = look(f"from there import found\n{START}y = h.cuda() + {other}\ny\n")
    assert bool(found.value("y").uploads) == told


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("build(args).to(device)", GIVEN),
        ("build(args).cuda()", DEVICE),
        ("hub.models[args.name]().to(device)", GIVEN),
        ("torch.nn.parallel.DistributedDataParallel(build(args).cuda())", DEVICE),
        ("torch.nn.DataParallel(module=build(args).to(device))", GIVEN),
    ],
)
def test_what_was_moved_to_the_device_and_is_called_is_a_module_whoever_made_it(
    look: LookUp, made: str, expected: int
) -> None:
    found = look(f"""
        import torch
        from elsewhere import build, hub

        def main(args, data):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = {made}
            for x, y in torch.utils.data.DataLoader(data):
                out = net(x)
    """)
    assert found.places("net(x)") == expected


def test_a_method_of_what_was_moved_may_work_on_the_host(look: LookUp) -> None:
    found = look("""
        import torch
        from elsewhere import build

        def main(args, x):
            net = build(args).cuda()
            rows = net.predict(x.cpu().numpy())
    """)
    assert found.places("net.predict(x.cpu().numpy())") == ANYWHERE


def test_a_wrapper_of_what_nobody_knows_is_nowhere_in_particular(look: LookUp) -> None:
    found = look("""
        import torch
        from elsewhere import build

        def main(args, data):
            net = torch.nn.parallel.DistributedDataParallel(build(args), device_ids=[0])
            for x, y in torch.utils.data.DataLoader(data):
                net(x)
    """)
    assert not found.value("net(x)").on_host
