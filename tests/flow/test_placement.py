"""Where values are that were computed, taken out of something, or put into something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.values import (
    ARRAY,
    CONTAINER,
    DEVICE,
    GIVEN,
    HOST,
    HOST_VALUE,
    LOADER,
    MODULE,
    OPTIMIZER,
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
    ["h[0]", "h.view(-1)", "h + 1", "h @ h.t()", "torch.relu(h)", "F.softmax(h, dim=0)", "torch.cat([h, h])", "h.sum()"],
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
    "expression", ["x.item()", "x.tolist()", "float(x)", "int(x)", "bool(x)", "x.cpu()", 'x.to("cpu")', "x.cpu().numpy()"]
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


# Containers


@pytest.mark.parametrize(
    ("container", "read"),
    [
        ("[x, x]", "c[0]"),
        ("(x, x)", "c[1]"),
        ("{'a': x}", "c['a']"),
        ("dict(a=x)", "c['a']"),
        ("[t for t in (x, x)]", "c[0]"),
        ("{k: v.to('cuda') for k, v in batch.items()}", "c['a']"),
        ("[t.cuda() for t in batch]", "c[0]"),
        ("tuple(t.cuda() for t in batch)", "c[0]"),
        ("list(map(lambda t: t.cuda(), batch))", "c[0]"),
        ("[x] * n", "c[0]"),
        ("[x] + [w]", "c[0]"),
        ("x.split(2)", "c[0]"),
        ("list(x.unbind(0))", "c[0]"),
        ("sorted([x, x])", "c[0]"),
        ("list(zip([x], [x]))", "c[0][1]"),
        ("{'a': [x]}", "c['a'][0]"),
        ("{**{'a': x}, 'b': x}", "c['a']"),
        ("[*[x], x]", "c[0]"),
    ],
)
def test_a_container_of_device_tensors(look: LookUp, container: str, read: str) -> None:
    found = look(f"{START}\ndef job(batch):\n    c = {container}\n    y = {read}\n    y\n")
    assert found.value("c", 0).may_be(CONTAINER)
    assert found.places("y") & DEVICE


@pytest.mark.parametrize(
    "loop",
    [
        "for y in [x, x]:",
        "for y in (x, w):",
        "for i, y in enumerate([x, x]):",
        "for i, (y, z) in enumerate(zip([x], [h])):",
        "for k, y in {'a': x}.items():",
        "for y in {'a': x}.values():",
        "for y in x:",
        "for y in reversed([x]):",
        "for y in x.unbind():",
    ],
)
def test_elements_of_containers(look: LookUp, loop: str) -> None:
    found = look(f"{START}{loop}\n    y\n")
    assert found.places("y") == DEVICE
    assert found.value("y").is_a(TENSOR)


def test_tuples_keep_their_items_apart(look: LookUp) -> None:
    found = look(f"{START}pair = (x, h)\na, b = pair\nc = pair[1]\nd, *e = x, h, h\n(a, b, c, d, e)\n")
    assert found.places("a") == DEVICE
    assert found.places("b") == HOST
    assert found.places("c") == HOST
    assert found.value("e").is_a(CONTAINER)


def test_a_list_that_grows_holds_what_was_appended(look: LookUp) -> None:
    found = look(
        f"""{START}
losses = []
hosts = []
for _ in range(9):
    losses.append(x.sum())
    hosts.append(h)
late = torch.stack(losses)
cold = torch.stack(hosts)
(late, cold)
"""
    )
    assert found.places("late") == DEVICE
    assert found.places("cold") == HOST


def test_items_written_one_by_one(look: LookUp) -> None:
    found = look(
        f"""{START}
out = {{}}
out["a"] = x
out["b"] = h
a = out["a"]
b = out["b"]
for key in ("p", "q"):
    out[key] = w
c = out[n]
(a, b, c)
"""
    )
    assert found.places("a") == DEVICE
    assert found.places("b") == HOST
    assert found.places("c") & DEVICE


# Modules, losses, optimizers


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


# numpy


@pytest.mark.parametrize(
    "array",
    ["np.zeros(3)", "np.asarray([1, 2])", "h.numpy()", "x.cpu().numpy()", "np.mean(h.numpy())", "np.random.rand(3)"],
)
def test_numpy_is_on_the_host(look: LookUp, array: str) -> None:
    found = look(f"{START}a = {array}\nb = a[0] * 2\nc = a.mean()\nd = a.item()\n(a, b, c, d)\n")
    for name in "abcd":
        assert found.places(name) == HOST
        assert not found.value(name).may_be(TENSOR)
    assert not [t for t in found.transfers() if t.kind != "download"]


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


# Loaders


@pytest.mark.parametrize("pinned", [True, False])
def test_batches_of_a_loader_are_on_the_host(look: LookUp, pinned: bool) -> None:
    found = look(
        f"""
        import torch
        from torch.utils.data import DataLoader

        def job(data, device):
            loader = DataLoader(data, batch_size=4, pin_memory={pinned})
            for step, (images, labels) in enumerate(loader):
                images
                on_device = images.to(device)
                on_device
        """
    )
    assert found.value("loader").is_a(LOADER)
    assert found.places("images", 1) == HOST
    assert bool(found.value("images", 1).flags & PINNED) == pinned
    assert found.places("on_device") == GIVEN
    (moved,) = found.transfers()
    assert moved.direction.value == "h2d"
    assert bool(moved.before.flags & PINNED) == pinned


@pytest.mark.parametrize(
    ("loop", "use"),
    [
        ("for batch in loader:", "batch['x']"),
        ("for batch in loader:", "batch[0]"),
        ("for i, batch in enumerate(loader):", "batch.x"),
        ("for batch in tqdm(loader):", "batch[0]"),
        ("for i, batch in enumerate(tqdm(loader)):", "batch.x"),
        ("for batch in iter(loader):", "batch[0]"),
        ("while True:\n        batch = next(iter(loader))", "batch[0]"),
    ],
)
def test_parts_of_a_batch_are_on_the_host(look: LookUp, loop: str, use: str) -> None:
    found = look(f"from tqdm import tqdm\ndef job(loader):\n    {loop}\n        y = {use}\n        y\n")
    assert found.places("y") == HOST


def test_a_dictionary_batch_moved_in_a_comprehension(look: LookUp) -> None:
    found = look(
        """
        def job(loader, device):
            for batch in loader:
                batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
                y = batch["x"]
                y
        """
    )
    assert found.places("y") == GIVEN
    (moved,) = found.transfers()
    assert moved.direction.value == "h2d"
    assert moved.non_blocking


def test_a_prepared_loader_yields_device_batches(look: LookUp) -> None:
    found = look(
        """
        import torch
        from torch.utils.data import DataLoader

        def job(accelerator, data):
            model = torch.nn.Linear(1, 1)
            loader = DataLoader(data)
            model, loader = accelerator.prepare(model, loader)
            for batch in loader:
                y = batch["x"]
                out = model(y)
                (y, out)
        """
    )
    assert found.places("y") == GIVEN
    assert found.places("out") == GIVEN


def test_a_pinned_tensor(look: LookUp) -> None:
    found = look(f"{START}p = h.pin_memory()\nq = torch.zeros(2, pin_memory=True)\n(p, q)\n")
    assert found.value("p").flags & PINNED
    assert found.value("q").flags & PINNED
    assert not found.value("h").flags & PINNED
    assert found.places("p") == HOST


# What nothing is known of


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


# Functions of the same file


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
