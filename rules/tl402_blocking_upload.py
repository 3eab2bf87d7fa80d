"""Pinned memory is uploaded with a blocking copy.

What it does
------------
Reports moves to the device without `non_blocking=True` where the source is pinned: a batch of a loader with
`pin_memory=True`, or a tensor on which `.pin_memory()` was called; and, in a loop over steps, moves of batches that the
same function has stacked from samples on the host, pinned or not.

Also what leaves no choice: a function that takes batches apart and moves the tensors in them, without a `non_blocking`
of its own, and a call in hot code of one that has it, as False, and is not given it; and `copy_` to the device, in hot
code, from a tensor that is kept on the host in pageable memory.

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
Safe for the batches of a `TensorDataset` from a `DataLoader` without `collate_fn`, where the function does nothing with
them but move them: the stream keeps the order. Unsafe for others: the host could write to the source before it is
copied, and a `to` that is not a tensor's may not take `non_blocking`. Only shown where the move also casts, for what is
copied then is not pinned, and where a move beside it in the same step waits anyway: such a cast, or one from pageable
memory, or where the step waits by name (`torch.cuda.synchronize()`); and of what a `collate_fn` gives where nothing
shows that it is a tensor. A batch that is stacked by hand has no automatic
fix: pinned memory has to stay as it is until the copy is done, so it pays where the next batch is made meanwhile.

See also
--------
- TL403 for `non_blocking` without pinned memory
- TL404 for the loader
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import COPY_INTO, MOVE, Transfer
from transferlint.flow.values import CONTAINER, DATA, DTYPE, FRESH, HOST, ON_DEVICE, PINNED, PLAIN, TENSOR, UNKNOWN
from transferlint.model import Confidence, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from . import arguments, batch_movers, loaders, remaining, untouched_batches
from .detection import apart_lines, brief, clusters, each_of, hot, others

_NEAR = 3  # lines within which a reader sees that another upload waits anyway


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
        if function.claimed(transfer.register) or _off_by_default(function, transfer):
            continue
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` waits for the copy although the source is pinned",
            "add `non_blocking=True`",
            (),
            Confidence.LIKELY,
            _fix(function, transfer),
        )
    for function, group in clusters(pair for pair in hot(facts, MOVE) if _by_hand(*pair)):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uploads a batch from pageable memory, and the host waits for it",
            "pin it and move it with `non_blocking=True`: `batch.pin_memory().to(device, non_blocking=True)`",
            others(function, group),
            Confidence.LIKELY,
        )
    for function, group in clusters(pair for pair in hot(facts, COPY_INTO) if _kept_pageable(*pair)):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uploads from pageable memory"
            f" {function.warmth(first.register).level.words}, and the host waits for it",
            "keep what is uploaded again and again in pinned memory, and copy it with `non_blocking=True`",
            others(function, group),
            Confidence.LIKELY,
        )
    yield from _without_choice(facts)


def _off_by_default(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a batch of a loader that pins only if an option asks for it."""
    loader = loaders.batch_of(function, transfer.subject, transfer.register) if transfer.subject is not None else None
    return loader is not None and loader.unasked


def _kept_pageable(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the upload of a host tensor that an object keeps: it may as well be kept in pinned memory."""
    before, warmth = transfer.before, function.warmth(transfer.register)
    if warmth.unsure or warmth.weak or transfer.non_blocking or not transfer.places & ON_DEVICE:
        return False
    kept = before.is_a(TENSOR) and before.places == HOST and not before.flags & (PINNED | FRESH | DATA)
    return kept and transfer.subject is not None and not function.claimed(transfer.register)


def _without_choice(facts: FileFacts) -> Iterator[Finding]:
    """What moves batches and waits, and gives its callers no say in it or gets none."""
    for function, transfer in batch_movers.movers(facts):
        if not function.claimed(transfer.register):
            yield function.finding(
                transfer.register,
                f"`{brief(function.text(transfer.register))}` moves what batches are made of, and the host waits for"
                " each copy, pinned or not",
                "take `non_blocking` as an argument and hand it on: `.to(device, non_blocking=non_blocking)`",
                (),
                Confidence.LIKELY,
                heated=False,
            )
    for function, reg in batch_movers.unasked(facts):
        yield function.finding(
            reg,
            f"`{brief(function.text(reg))}` takes `non_blocking`, and without it the host waits for each copy",
            "hand on `non_blocking=True` where the batches are pinned",
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
    edit = arguments.added(function, transfer.register, "non_blocking=True")
    if edit is None:
        return None
    safety = Safety.SAFE if untouched_batches.left_alone(function, transfer) else Safety.UNSAFE
    if any(_names_dtype(function, r) for r in (*made.args, *(r for _, r in made.keywords))):
        safety = min(safety, Safety.DISPLAY)  # it is cast on the host, into memory that is not pinned
    anyway = _of_any_kind(function, transfer) or any(_waits(function, one) for one in _beside(function, transfer))
    if safety is Safety.UNSAFE and (anyway or remaining.waits_for_all(function, transfer.register)):
        safety = Safety.DISPLAY
    return Fix("add non_blocking=True", safety, (edit,))


def _of_any_kind(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what a loader's own `collate_fn` gives, of a kind that nothing shows: an object's `.to()` or `.cuda()`
    need not take `non_blocking` (torchsparse's `SparseTensor`). What torch collates are tensors."""
    loader = loaders.batch_of(function, transfer.subject, transfer.register) if transfer.subject is not None else None
    return loader is not None and loader.has_collate and not transfer.before.is_a(TENSOR)


def _beside(function: FunctionFacts, transfer: Transfer) -> Iterator[Transfer]:
    """The other moves of the same step that stand a few lines apart."""
    for other in each_of(function, MOVE):
        same = function.loops(other.register) == function.loops(transfer.register)
        if other.register != transfer.register and same and apart_lines(function, other, transfer) <= _NEAR:
            yield other


def _waits(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for an upload for which the host waits, pinned or not: from pageable memory, or with a cast."""
    before, made = transfer.before, function.code[transfer.register]
    if transfer.non_blocking or not transfer.places & ON_DEVICE:
        return False
    given = (*made.args, *(r for _, r in made.keywords)) if isinstance(made, p.Call) else ()
    if before.flags & PINNED:
        return any(_names_dtype(function, r) for r in given)
    return before.on_host and before.is_a(TENSOR)


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
    advice=(),
    doc=__doc__,
)
