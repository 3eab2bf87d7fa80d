"""Where values are that were computed: by torch, by numpy, by functions known and unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import (
    ARRAY,
    DEVICE,
    GIVEN,
    HOST,
    HOST_VALUE,
    PINNED,
    TENSOR,
    UNKNOWN,
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


@pytest.mark.parametrize(
    "expression",
    [
        "x[0]",
        "x[1:, ::2]",
        "x[..., None]",
        "x.T",
        "x.data",
        "x.grad",
        "x.real",
        "x.view(-1)",
        "x.reshape(2, -1).t()",
        "x.permute(1, 0).contiguous()",
        "x.detach().clone()",
        "x.unsqueeze(0).expand(2, 3, 4)",
        "x + 1",
        "1 - x",
        "-x",
        "x ** 2 / 3 // 1 % 2",
        "x @ w",
        "x * h.sum()",
        "abs(x)",
        "x.sum()",
        "x.mean(dim=0)",
        "x.float().half().long()",
        "x.clamp_(0, 1)",
        "x.add_(1)",
        "torch.relu(x)",
        "torch.matmul(x, w)",
        "F.softmax(x, dim=-1)",
        "torch.cat([x, x])",
        "torch.stack((x, x), 0)",
        "torch.where(x > 0, x, w)",
        "torch.linalg.norm(x)",
        "torch.fft.fft(x)",
        "torch.zeros_like(x)",
        "x.new_empty(2)",
        "x.new_full((2,), 1.0)",
        "(x > 0) & (x < 1)",
        "~(x == 0)",
        "x.max()",
        "x.masked_fill(x > 0, 0)",
        "torch.nn.utils.rnn.pad_sequence([x, x])",
        "(x if n else w)",
        "(x or w)",
        "x.topk(2)[0]",
        "torch.max(x, w)",
        "sum([x, x])",
        "torch.einsum('ij,jk->ik', x, w)",
    ],
)
def test_what_is_computed_on_the_device_stays_there(look: LookUp, expression: str) -> None:
    found = look(f"{START}y = {expression}\ny\n")
    assert found.value("y").may_be(TENSOR)
    assert found.places("y") == DEVICE


@pytest.mark.parametrize(
    "expression",
    [
        "h[0]",
        "h.view(-1)",
        "h + 1",
        "h @ h.t()",
        "torch.relu(h)",
        "F.softmax(h, dim=0)",
        "torch.cat([h, h])",
        "h.sum()",
    ],
)
def test_what_is_computed_on_the_host_stays_there(look: LookUp, expression: str) -> None:
    found = look(f"{START}y = {expression}\ny\n")
    assert found.value("y").is_a(TENSOR)
    assert found.places("y") == HOST
    assert found.transfers() == []


@pytest.mark.parametrize(
    "expression",
    [
        "x.shape",
        "x.shape[0]",
        "x.size()",
        "x.size(0) * 2",
        "x.dim()",
        "x.numel()",
        "x.ndim",
        "x.requires_grad",
        "x.is_cuda",
        "len(x)",
        "x is None",
        "isinstance(x, torch.Tensor)",
        "torch.is_tensor(x)",
        "math.sqrt(n)",
        "range(n)",
        "n + 1",
        "x.dtype",
        "x.dtype == torch.half",
    ],
)
def test_metadata_is_on_the_host(look: LookUp, expression: str) -> None:
    found = look(f"{START}y = {expression}\ny\n")
    assert not found.value("y").on_device
    assert not found.value("y").may_be(TENSOR)
    assert found.transfers() == []


@pytest.mark.parametrize(
    "expression",
    ["x.item()", "x.tolist()", "float(x)", "int(x)", "bool(x)", "x.cpu()", 'x.to("cpu")', "x.cpu().numpy()"],
)
def test_what_was_read_is_on_the_host(look: LookUp, expression: str) -> None:
    found = look(f"{START}y = {expression}\ny\n")
    assert found.places("y") == HOST
    assert len(found.value("y").reads) == 1


def test_what_was_computed_from_a_read_remembers_it(look: LookUp) -> None:
    found = look(f"{START}a = x.sum().item()\nb = round(a / 2 + n, 3)\nc = [b, n]\nd = torch.tensor(c)\n(b, c, d)\n")
    reads = found.value("a", 0).reads
    assert reads
    assert found.value("b").reads == reads
    assert found.value("c").reads == reads
    assert found.value("d").reads == reads


def test_what_was_computed_from_an_upload_remembers_it(look: LookUp) -> None:
    found = look(f"{START}a = h.cuda()\nb = a.view(-1) + 1\n(a, b)\n")
    assert found.value("a").uploads
    assert found.value("b").uploads == found.value("a").uploads


@pytest.mark.parametrize(
    "array",
    [
        "np.zeros(3)", "np.asarray([1, 2])", "h.numpy()", "x.cpu().numpy()", "np.mean(h.numpy(), axis=0)",
        "np.argmax(h.numpy(), 1)", "h.numpy().max(0)", "np.random.rand(3)",
    ],
)  # fmt: skip
def test_numpy_is_on_the_host(look: LookUp, array: str) -> None:
    found = look(f"{START}a = {array}\nb = a[0] * 2\nc = a.mean()\nd = a.item()\n(a, b, c, d)\n")
    for name in "abcd":
        assert found.places(name) == HOST
        assert not found.value(name).may_be(TENSOR)
    assert not [t for t in found.transfers() if t.kind != "download"]


@pytest.mark.parametrize("number", ["np.argmin(h.numpy())", "h.numpy().argmax()", "np.mean(h.numpy(), dtype=float)"])
def test_what_numpy_reduces_to_one_is_a_number(look: LookUp, number: str) -> None:
    found = look(f"{START}n = {number}\nd = x[n]\n(n, d)\n")
    assert found.value("n").is_a(HOST_VALUE)
    assert not [t for t in found.transfers() if t.kind not in ("download", "array")]


def test_arrays_have_no_transfers_of_their_own(look: LookUp) -> None:
    found = look(f"{START}a = np.zeros(3)\nif a.any() and a[0]:\n    print(float(a[0]), a.tolist(), f'{{a}}')\n")
    assert found.transfers() == []


def test_from_numpy_shares_host_memory(look: LookUp) -> None:
    found = look(f"{START}t = torch.from_numpy(np.zeros(3))\nu = t.cuda()\n(t, u)\n")
    assert found.places("t") == HOST
    assert found.places("u") == DEVICE
    assert [t.kind for t in found.transfers()] == ["move"]


def test_a_parameter_that_numpy_is_given_is_an_array(look: LookUp) -> None:
    found = look("import numpy as np\ndef job(rows):\n    m = np.mean(rows)\n    rows\n")
    assert found.value("rows").is_a(ARRAY)


@pytest.mark.parametrize("call", ["config.get('a')", "os.environ['a']", "json.load(f)", "thing.to_dict()"])
def test_what_nothing_is_known_of_is_not_on_the_device(look: LookUp, call: str) -> None:
    found = look(f"import os, json\ndef job(config, f, thing):\n    y = {call}\n    y\n")
    assert not found.value("y").on_device


def test_an_unknown_function_of_a_device_tensor_may_give_one(look: LookUp) -> None:
    found = look(f"{START}from elsewhere import compute\ny = compute(x)\nz = compute(n)\n(y, z)\n")
    assert found.value("y").may_be(UNKNOWN)
    assert found.places("y") == GIVEN
    assert not found.value("z").on_device


@pytest.mark.parametrize("mover", ["to_device(batch)", "move_to_cuda(batch)", "self._prepare_inputs(batch)"])
def test_functions_that_are_named_for_moving(look: LookUp, mover: str) -> None:
    found = look(f"def job(self, batch, to_device, move_to_cuda):\n    y = {mover}\n    y\n")
    assert found.places("y") == GIVEN


@pytest.mark.parametrize("reader", ["to_numpy(x)", "as_numpy(x)", "tensor2numpy(x)"])
def test_functions_that_are_named_for_reading(look: LookUp, reader: str) -> None:
    found = look(f"{START}from elsewhere import {reader[:-3]}\ny = {reader}\ny\n")
    assert found.places("y") == HOST
    assert found.value("y").is_a(ARRAY | HOST_VALUE)


def test_a_call_returns_what_the_function_returns(look: LookUp) -> None:
    found = look(
        f"""{START}
def made():
    return torch.zeros(3, device="cuda")


def same(t: torch.Tensor):
    return t.view(-1) * 2


def read(t: torch.Tensor) -> float:
    return t.sum().item()


def both(t: torch.Tensor):
    return t, 1

a = made()
b = same(x)
c = same(h)
d = read(x)
e, f = both(x)
(a, b, c, d, e, f)
"""
    )
    assert found.places("a") == DEVICE
    assert found.places("b") == DEVICE
    assert found.places("c") == HOST
    assert found.places("d") == HOST
    assert found.value("d").is_a(HOST_VALUE)
    assert found.value("e").on_device
    assert not found.value("f").may_be(TENSOR)


def test_recursion_ends(look: LookUp) -> None:
    found = look(
        """
        import torch

        def down(t: torch.Tensor, n: int):
            return t if n == 0 else up(t * 2, n - 1)

        def up(t: torch.Tensor, n: int):
            return down(t, n)

        y = down(torch.zeros(1, device="cuda"), 4)
        y
        """
    )
    assert found.value("y").on_device


def test_a_closure_sees_what_is_around_it(look: LookUp) -> None:
    found = look(
        """
        import torch

        def outer():
            table = torch.zeros(3, device="cuda")

            def inner(i: int):
                y = table[i]
                y
            return inner
        """
    )
    assert found.places("y") == DEVICE


@pytest.mark.parametrize(
    ("body", "tensor"),
    [
        (
            "if isinstance(self.ratio, torch.Tensor):\n            pass\n        else:\n            seen = self.ratio",
            False,
        ),
        ("seen = None if torch.is_tensor(self.ratio) else self.ratio", False),
        ("if isinstance(self.ratio, tuple):\n            seen = self.ratio", False),
        ("if isinstance(self.ratio, torch.Tensor):\n            seen = self.ratio", True),
        (
            "if not isinstance(self.ratio, torch.Tensor):\n            self.ratio = x\n            seen = self.ratio",
            True,
        ),
        ("if not isinstance(other.ratio, torch.Tensor):\n            seen = self.ratio", True),
    ],
)
def test_tests_of_its_type_say_what_an_attribute_is(look: LookUp, body: str, tensor: bool) -> None:
    text = (
        "import torch\nclass Crop:\n    def __init__(self, ratio: torch.Tensor):\n        self.ratio = ratio\n"
        f"    def forward(self, other, x: torch.Tensor):\n        {body}\n        seen\n"
    )
    found = look(text)
    assert found.value("self.ratio", -1).is_a(TENSOR) is tensor


@pytest.mark.parametrize(
    ("expression", "pinned"),
    [
        ("x", True),
        ("x.view(2, 2)", True),
        ("x.t()", True),
        ("x.detach()", True),
        ("x * 2", False),
        ("x.abs()", False),
        ("x.float()", False),
        ("x.long()", False),
        ("x.to(torch.bfloat16)", False),
    ],
)
def test_what_is_computed_from_pinned_memory_is_pageable(look: LookUp, expression: str, pinned: bool) -> None:
    value = look(f"import torch\nx = torch.rand(2, 2).pin_memory()\ny = {expression}\ny\n").value("y")
    assert bool(value.flags & PINNED) is pinned
