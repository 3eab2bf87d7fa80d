"""What is put into containers, and taken out of them and of loaders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import (
    CONTAINER,
    DEVICE,
    GIVEN,
    HOST,
    LOADER,
    PINNED,
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


@pytest.mark.parametrize(
    ("lines", "pinned"),
    [
        ("more = {'num_workers': 1, 'pin_memory': True}", True),
        ("more = {'pin_memory': True} if cuda else {}", True),
        ("more = dict(pin_memory=True)", True),
        ("more = dict(pin_memory=False)", False),
        ("more = {}; more['pin_memory'] = True", True),
        ("more = {}; rest = {'pin_memory': True}; more.update(rest)", True),
        ("more = {}; more.update(pin_memory=True)", True),
        ("rest = {'pin_memory': True}; more = {'num_workers': 1, **rest}", True),
        ("more = {'num_workers': 1}", False),
        ("other = {}; more = {}; other['pin_memory'] = True", False),
        ("more = options", False),
    ],
)
def test_a_loader_pins_what_the_keywords_in_a_dict_say(look: LookUp, lines: str, pinned: bool) -> None:
    found = look(
        f"""
        from torch.utils.data import DataLoader

        def job(data, cuda, options):
            {lines}
            for x in DataLoader(data, batch_size=4, **more):
                x
        """
    )
    assert bool(found.value("x", -1).flags & PINNED) is pinned


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
