"""Pinned memory is uploaded with a blocking copy.

What it does
------------
Reports moves to the device without `non_blocking=True` where the source is pinned: a batch of a loader with
`pin_memory=True`, or a tensor on which `.pin_memory()` was called.

Why
---
Pinned memory is there so that the copy can run beside the computation; without `non_blocking=True` the host waits for
it all the same.

Example
-------
    for x in DataLoader(data, pin_memory=True):
        x = x.to(device)

Use instead
-----------
    for x in DataLoader(data, pin_memory=True):
        x = x.to(device, non_blocking=True)

When it is fine
---------------
Where the host writes to the source again at once.

Fix safety
----------
Safe for a loader's batches: nobody writes to them while the copy runs, and the stream keeps the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import MOVE, Transfer
from transferlint.flow.values import CONTAINER, ON_DEVICE, PINNED, TENSOR, UNKNOWN
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p

from .detection import brief, hot


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Blocking uploads from pinned memory in hot code."""
    for function, transfer in hot(facts, MOVE):
        before = transfer.before
        if transfer.non_blocking or not before.flags & PINNED or before.places & ON_DEVICE:
            continue
        if not transfer.places & ON_DEVICE or not before.is_a(TENSOR | UNKNOWN | CONTAINER):
            continue
        if not transfer.api.startswith((".to(", ".cuda")):
            continue
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` waits for the copy although the source is pinned",
            "add `non_blocking=True`",
            (),
            Confidence.LIKELY,
            _fix(function, transfer),
        )


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or any(k == "non_blocking" for k, _ in made.keywords):
        return None
    text = function.file.text
    end = function.span(transfer.register)[1]
    inner = text[: end - 1].rstrip()
    if text[end - 1] != ")" or "#" in text[len(inner) : end]:
        return None
    separator = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    return Fix("add non_blocking=True", Safety.SAFE, (Edit(len(inner), end - 1, f"{separator}non_blocking=True"),))


RULE = Rule(
    code="TL402",
    name="blocking-upload",
    summary="an upload from pinned memory without `non_blocking=True`",
    category="wasteful",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device)  # expect: TL402
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            good="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            fixed="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
