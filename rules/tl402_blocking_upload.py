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
Safe for tensors from the batches of a `DataLoader` without `collate_fn`, where the function does not write to them: the
stream keeps the order. Unsafe for others: the host could write to the source before it is copied, and a `to` that is
not a tensor's may not take `non_blocking`.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.names import find
from transferlint.flow.sharing import path
from transferlint.flow.transfers import MOVE, Transfer
from transferlint.flow.values import CONTAINER, DTYPE, ON_DEVICE, PINNED, TENSOR, UNKNOWN
from transferlint.flow.writes import Writes
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .detection import brief, hot

_POSITIONAL = 4  # dataset, batch_size, shuffle, sampler; what comes after replaces how batches are made


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Blocking uploads from pinned memory in hot code."""
    for function, transfer in hot(facts, MOVE):
        before = transfer.before
        if transfer.non_blocking or not before.flags & PINNED or before.places & ON_DEVICE:
            continue
        if not transfer.places & ON_DEVICE or not before.is_a(TENSOR | UNKNOWN | CONTAINER):
            continue
        if not transfer.api.startswith((".to(", ".cuda")) or _says(function, transfer):
            continue
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` waits for the copy although the source is pinned",
            "add `non_blocking=True`",
            (),
            Confidence.LIKELY,
            _fix(function, transfer),
        )


def _says(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the call says, or may say, by position or in a dictionary whether to wait: `.to(device, dtype,
    non_blocking)`, `.to(device, non_blocking)`, `.cuda(device, non_blocking)` (docs.pytorch.org Tensor.to, .cuda)."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or made.stars or any(not key for key, _ in made.keywords):
        return True
    if transfer.api.startswith(".cuda"):
        return len(made.args) > 1
    keys = {key for key, _ in made.keywords}
    most = 1 if "device" in keys else 2
    if len(made.args) > most:
        return True
    return len(made.args) > 1 and not _names_dtype(function, made.args[1])


def _names_dtype(function: FunctionFacts, reg: Reg) -> bool:
    return function.values[reg].kinds == DTYPE or "dtype" in function.text(reg)


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or any(k == "non_blocking" for k, _ in made.keywords):
        return None
    text = function.file.text
    end = function.span(transfer.register)[1]
    inner = text[: end - 1].rstrip()
    if text[end - 1] != ")" or any(e >= len(inner) and s < end for s, e in function.file.spans.comments()):
        return None
    separator = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    edit = Edit(len(inner), end - 1, f"{separator}non_blocking=True")
    return Fix("add non_blocking=True", Safety.SAFE if _left_alone(function, transfer) else Safety.UNSAFE, (edit,))


def _left_alone(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a tensor of a loader's batch that the function does not write to. Whatever else has `.to` may not take
    `non_blocking`; what is written to could change before it has been copied."""
    if transfer.subject is None or not _of_loader(function, transfer.subject, transfer.register):
        return False
    at = path(function, transfer.subject)
    return at is not None and not Writes(function, range(len(function.code))).reaches(at)


def _of_loader(function: FunctionFacts, reg: Reg, moved: Reg) -> bool:
    """True for what a `DataLoader` of this file makes with its own collate function: of what that returns only tensors
    have `.to` (docs.pytorch.org torch.utils.data.default_collate)."""
    made = function.code[reg]
    while isinstance(made, p.Subscript | p.Unpack | p.Load):
        if isinstance(made, p.Load):
            stores = [r for r in function.stores(made.slot) if function.code[r].value != moved]  # type: ignore[union-attr]
            if len(stores) != 1:
                return False
            made = function.code[stores[0]]
            assert isinstance(made, p.Store)
            made = function.code[made.value]
        else:
            made = function.code[made.object if isinstance(made, p.Subscript) else made.value]
    if not isinstance(made, p.Next):
        return False
    iterable = function.code[made.iterable]
    names = function.file.placement.names
    if isinstance(iterable, p.Call) and names.dotted(function.function, iterable.function) == "builtins.enumerate":
        return len(iterable.args) > 0 and _plain_loader(function, iterable.args[0])
    return _plain_loader(function, made.iterable)


def _plain_loader(function: FunctionFacts, reg: Reg) -> bool:
    """True for a `DataLoader(...)`, or a variable that holds nothing else, with batches and no `collate_fn`."""
    made = function.code[reg]
    bound: tuple[int, int] | None = None
    if isinstance(made, p.Load):
        bound = function.index, made.slot
    elif isinstance(made, p.Outer):
        bound = find(function.file.program, function.function, made.name)
    if bound is not None:
        function = function.file.functions[bound[0]]
        stores = function.stores(bound[1])
        parameters = [q for q in function.function.parameters if q.slot == bound[1]]
        store = function.code[stores[0]] if len(stores) == 1 and not parameters else None
        made = function.code[store.value] if isinstance(store, p.Store) else made
    if not isinstance(made, p.Call) or any(made.stars):
        return False
    keywords = dict(made.keywords)
    size = function.code[keywords["batch_size"]] if "batch_size" in keywords else None
    single = isinstance(size, p.Const) and size.value is None
    named = function.file.placement.names.dotted(function.function, made.function)
    plain = named == "torch.utils.data.DataLoader" and not keywords.keys() & {"", "collate_fn", "batch_sampler"}
    return plain and not single and len(made.args) <= _POSITIONAL


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
