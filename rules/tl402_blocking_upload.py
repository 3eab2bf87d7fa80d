"""Pinned memory is uploaded with a blocking copy.

What it does
------------
Reports moves to the device without `non_blocking=True` from a pinned source: a batch of a loader with
`pin_memory=True`, or a tensor after `.pin_memory()`, also if it is passed through a function or an iterator of the
project, and `copy_` of such a tensor. Also reports, in a loop over steps, moves of batches that the same function has
stacked from samples on the host, pinned or not.

Also reports code that gives the caller no choice: a function that moves the tensors of a batch and has no
`non_blocking` argument; a call in hot code of a function that has one, defaulting to False, without setting it; and
`copy_` to the device, in hot code, from a tensor that is kept in pageable host memory.

Why
---
Pinned memory exists so that the copy can run in parallel with the computation. Without `non_blocking=True` the host
waits for the copy anyway.

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
If the host writes to the source again right after the copy.

Fix safety
----------
Safe for batches of a `TensorDataset` from a `DataLoader` without `collate_fn`, if the function only moves them: the
stream keeps the order. Otherwise only shown: the host could write to the source before it is copied, a `to` method of
another class may not take `non_blocking`, and if another move of the same step blocks, nothing is gained. A batch that
is stacked by hand has no automatic fix: its pinned memory must not change until the copy is done, so it only pays off
if the next batch is prepared meanwhile.

See also
--------
- TL403 for `non_blocking` without pinned memory
- TL404 for the loader
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from transferlint.flow.dataflow.guards import identifiers
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import COPY_INTO, MOVE, Transfer
from transferlint.flow.lattice.values import (
    CONTAINER,
    DATA,
    DTYPE,
    FRESH,
    HOST,
    ON_DEVICE,
    OPTIONAL,
    PINNED,
    PLAIN,
    TENSOR,
    UNKNOWN,
)
from transferlint.flow.placement.placed import Placed
from transferlint.model import Confidence, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code import arguments
from .questions import batch_movers, untouched_batches
from .questions.detection import brief, clusters, hot, others


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Blocking uploads from pinned memory in hot code."""
    said = set()
    for function, transfer in hot(facts, MOVE, COPY_INTO):
        before = transfer.before
        if transfer.non_blocking or before.flags & (PINNED | OPTIONAL) != PINNED or before.places & ON_DEVICE:
            continue
        if not transfer.places & ON_DEVICE or not before.is_a(TENSOR | UNKNOWN | CONTAINER):
            continue
        if not transfer.api.startswith((".to(", ".cuda", ".copy_(")) or _says(function, transfer):
            continue
        if function.claimed(transfer.register):
            continue
        said.add((function.index, transfer.register))
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` blocks until the copy is done although the source is pinned",
            "add `non_blocking=True`" if transfer.inside is None else "move it there with `non_blocking=True`",
            function.wrapped(transfer),
            Confidence.LIKELY,
            _fix(function, transfer),
        )
    for function, group in clusters(pair for pair in hot(facts, MOVE) if _by_hand(*pair)):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uploads a batch from pageable memory, which blocks the host",
            "move it with `non_blocking=True`: up to 2 MiB, the host then does not wait for the device",
            others(function, group),
            Confidence.LIKELY,
        )
    for function, group in clusters(pair for pair in hot(facts, COPY_INTO) if _kept_pageable(*pair)):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uploads from pageable memory"
            f" {function.warmth(first.register).level.each}, which blocks the host",
            "keep a host tensor that is uploaded repeatedly in pinned memory, and copy it with `non_blocking=True`",
            others(function, group),
            Confidence.LIKELY,
        )
    yield from _without_choice(facts, said)


def _kept_pageable(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the upload of a host tensor that an object keeps: it may as well be kept in pinned memory."""
    before, warmth = transfer.before, function.warmth(transfer.register)
    if warmth.unsure or warmth.weak or transfer.non_blocking or not transfer.places & ON_DEVICE:
        return False
    kept = before.is_a(TENSOR) and before.places == HOST and not before.flags & (PINNED | FRESH | DATA)
    return kept and transfer.subject is not None and not function.claimed(transfer.register)


def _without_choice(facts: FileFacts, said: Container[tuple[int, Reg]]) -> Iterator[Finding]:
    """What moves batches and waits, and gives its callers no say in it or gets none, but for what was `said`."""
    for function, transfer in batch_movers.movers(facts):
        if not function.claimed(transfer.register) and (function.index, transfer.register) not in said:
            yield function.finding(
                transfer.register,
                f"`{brief(function.text(transfer.register))}` moves batch tensors without `non_blocking`:"
                " every copy blocks the host, pinned or not",
                "accept `non_blocking` as an argument and pass it on: `.to(device, non_blocking=non_blocking)`",
                (),
                Confidence.LIKELY,
                heated=False,
            )
    for function, reg in batch_movers.unasked(facts):
        if (function.index, reg) in said:
            continue
        yield function.finding(
            reg,
            f"`{brief(function.text(reg))}` is called without `non_blocking`: every copy blocks the host",
            "pass `non_blocking=True` if the batches are pinned",
            (),
            Confidence.LIKELY,
        )


def _by_hand(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a batch that is put together of samples just before, where a loop is seen that does it on every step."""
    before, warmth = transfer.before, function.warmth(transfer.register)
    if transfer.subject is None or transfer.non_blocking or not warmth.seen or warmth.unsure or warmth.weak:
        return False
    if not before.is_a(TENSOR) or not before.on_host or before.flags & (PINNED | PLAIN) or before.reads:
        return False
    if not transfer.places & ON_DEVICE or warmth.level != Level.PER_STEP or _says(function, transfer):
        return False
    made = function.code[transfer.subject]
    if isinstance(made, p.Load):
        stores = [i.value for r in function.stores(made.slot) if isinstance(i := function.code[r], p.Store)]
        kept = [r for r in stores if transfer.register not in function.expression(r)]
        made = function.code[kept[0]] if len(kept) == 1 else made
    if not isinstance(made, p.Call) or not made.args:
        return False
    name = function.file.placement.names.dotted(function.function, made.function)
    samples = function.code[made.args[0]]
    stacked = name in ("torch.stack", "torch.cat") and isinstance(samples, p.Collect)
    return stacked and not function.claimed(transfer.register)


def _says(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the call says, or may say, by position or in a dictionary whether to wait: `.to(device, dtype,
    non_blocking)`, `.to(device, non_blocking)`, `.cuda(device, non_blocking)` (docs.pytorch.org Tensor.to, .cuda)."""
    moving = function if transfer.inside is None else _wrapping(function, transfer.inside)
    reg = transfer.register if transfer.inside is None else transfer.inside[2]
    made = moving.function.code[reg] if moving is not None else None
    if moving is None or not isinstance(made, p.Call) or made.stars or any(not key for key, _ in made.keywords):
        return True
    keys = {key for key, _ in made.keywords}
    if transfer.inside is not None and "non_blocking" in keys:
        return True  # as its own argument says: `unasked`
    if transfer.api.startswith(".cuda"):
        return len(made.args) > 1
    most = 1 if "device" in keys else 2
    if len(made.args) > most:
        return True
    return len(made.args) > 1 and not _names_dtype(moving, made.args[1])


def _wrapping(function: FunctionFacts, inside: tuple[str, int, Reg]) -> FunctionFacts | Placed | None:
    """The function that makes a transfer which a call only wraps."""
    key, index, _ = inside
    if key == function.file.path:
        return function.file.functions[index]
    return function.file.placed_at(key, index)


def _names_dtype(function: FunctionFacts | Placed, reg: Reg) -> bool:
    return function.values[reg].kinds == DTYPE or any("dtype" in name for name in identifiers(function.function, reg))


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    made = function.code[transfer.register]
    if (
        transfer.inside is not None
        or not isinstance(made, p.Call)
        or any(k == "non_blocking" for k, _ in made.keywords)
    ):
        return None
    edit = arguments.added(function, transfer.register, "non_blocking=True")
    if edit is None:
        return None
    cast = any(_names_dtype(function, r) for r in (*made.args, *(r for _, r in made.keywords)))
    # What is cast on the host goes into memory that is not pinned. Of the others fewer than half were taken.
    safe = untouched_batches.left_alone(function, transfer) and not cast
    return Fix("add non_blocking=True", Safety.SAFE if safe else Safety.DISPLAY, (edit,))


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
from torch.utils.data import DataLoader, TensorDataset


def train(model, inputs, targets, device):
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device)  # expect: TL402
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            good="""\
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(model, inputs, targets, device):
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            fixed="""\
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(model, inputs, targets, device):
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
        ),
    ),
    detect=detect,
    waits=True,
    advice=(),
    doc=__doc__,
)
