"""What a function uploads into what its callers hand it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import DEVICE, HOST

LookUp = Callable[..., Any]

_EACH = "for key in batch:\n        batch[key] = batch[key].cuda()"
_LIST = "for n in range(len(batch)):\n        batch[n] = batch[n].cuda()"
_NAMED = "batch['x'] = batch['x'].cuda()"
_HELD = "batch.x = batch.x.cuda()"


@pytest.mark.parametrize(
    ("body", "read"),
    [(_EACH, "batch['x']"), (_LIST, "batch[0]"), (_NAMED, "batch['x']"), (_HELD, "batch.x")],
)
def test_what_a_helper_uploads_into_its_argument_is_there_after_the_call(look: LookUp, body: str, read: str) -> None:
    found = look(f"def send(batch):\n    {body}\n\ndef run(batch):\n    send(batch)\n    y = {read} * 2\n")
    assert found.places(f"{read} * 2") == DEVICE


@pytest.mark.parametrize(
    "body",
    [
        "batch = dict(batch)\n    for key in batch:\n        batch[key] = batch[key].cuda()",  # a copy of it
        "for key in batch:\n        print(batch[key].cuda())",
        "for key in batch:\n        batch[key] = batch[key] * 2",
        "batch[len(batch)] = torch.ones(2).cuda()",  # one more
        "sent = {}\n    for key in batch:\n        sent[key] = batch[key].cuda()",
    ],
)
def test_what_it_does_not_put_there_is_where_it_was(look: LookUp, body: str) -> None:
    text = f"import torch\n\ndef send(batch):\n    {body}\n\ndef run():\n    batch = {{'x': torch.ones(2)}}\n"
    found = look(text + "    send(batch)\n    y = batch['x'] + 1\n")
    assert found.places("batch['x'] + 1") == HOST


def test_the_other_parts_stay_where_they_were(look: LookUp) -> None:
    found = look("""
        import torch

        def send(batch):
            batch["x"] = batch["x"].cuda()

        def run(first, second):
            batch = {"x": torch.ones(2), "n": torch.ones(2)}
            send(batch)
            y = batch["x"] + 1
            n = batch["n"] + 1
    """)
    assert found.places('batch["x"] + 1') == DEVICE
    assert found.places('batch["n"] + 1') == HOST


def test_a_device_argument_names_the_place(look: LookUp) -> None:
    found = look("""
        def send(batch, device):
            for key in batch:
                batch[key] = batch[key].to(device)

        def run(batch, other):
            send(batch, "cuda")
            send(other, "cpu")
            y = batch["x"] + 1
            n = other["x"] + 1
    """)
    assert found.places('batch["x"] + 1') == DEVICE
    assert found.places('other["x"] + 1') == HOST


@pytest.mark.parametrize(
    ("given", "default", "place"),
    [
        ('x, "cpu"', "", HOST), ('x, "cuda"', "", DEVICE), ("x", '="cpu"', HOST), ("x", '="cuda"', DEVICE),
        ('x, "cuda"', '="cpu"', DEVICE),
    ],
)  # fmt: skip
def test_what_moves_to_the_device_argument_is_where_the_call_says(
    look: LookUp, given: str, default: str, place: int
) -> None:
    found = look(f"""
        def moved(x, device{default}):
            return x.to(device)

        def run(x):
            y = moved({given})
            z = y + 1
    """)
    assert found.places("y + 1") == place


def test_a_device_argument_that_is_none_by_default_leaves_it_where_it_was(look: LookUp) -> None:
    found = look("""
        def moved(x, device=None):
            return x.to(device)

        def run(x):
            y = moved(x.cuda())
            z = y + 1
    """)
    assert found.value("y + 1").on_device


def test_a_cast_to_a_type_that_is_not_known_tells_nothing_of_the_place(look: LookUp) -> None:
    found = look("""
        import torch

        def run(kind):
            x = torch.zeros(3).type(kind)
            y = torch.zeros(3).type(torch.float64)
            z = torch.zeros(3).type("torch.DoubleTensor")
            return x + 1, y + 1, z + 1
    """)
    assert not found.value("x + 1").on_host
    assert found.value("y + 1").on_host
    assert found.value("z + 1").on_host
