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
Safe for tensors from the batches of a `DataLoader` without `collate_fn`, where the function does not write to them: the
stream keeps the order. Unsafe for others: the host could write to the source before it is copied, and a `to` that is
not a tensor's may not take `non_blocking`. A batch that is stacked by hand has no automatic fix: pinned memory has to
stay as it is until the copy is done, so it pays where the next batch is made meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.sharing import path
from transferlint.flow.transfers import COPY_INTO, MOVE, Transfer
from transferlint.flow.values import CONTAINER, DATA, DTYPE, FRESH, HOST, ON_DEVICE, PINNED, PLAIN, TENSOR, UNKNOWN
from transferlint.flow.writes import Writes
from transferlint.model import Confidence, Edit, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from . import proven
from .batch_movers import movers, unasked
from .chains import captured, origin
from .detection import brief, clusters, hot, others
from .kinds import api
from .loaders import batch_of

_TENSORS = frozenset({"torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset"})
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
    loader = batch_of(function, transfer.subject, transfer.register) if transfer.subject is not None else None
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
    for function, transfer in movers(facts):
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
    for function, reg in unasked(facts):
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
    text = function.file.text
    end = function.span(transfer.register)[1]
    inner = text[: end - 1].rstrip()
    if text[end - 1] != ")" or any(e >= len(inner) and s < end for s, e in function.file.spans.comments()):
        return None
    separator = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    edit = Edit(len(inner), end - 1, f"{separator}non_blocking=True")
    return Fix("add non_blocking=True", Safety.SAFE if _left_alone(function, transfer) else Safety.UNSAFE, (edit,))


def _left_alone(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a tensor of a loader's batch that nobody can write to before it has been copied. It rests on proofs that

    - it is a tensor: the loader's data set is a `TensorDataset`, and it collates it with its own function. Whatever
      else has `.to` may not take `non_blocking`;
    - nobody else has it: the loader makes each batch anew, and the function moves it and asks for its size, and does
      nothing else with it or with what it is a part of (`_only_moved`). Who is handed it could write to it.
    """
    subject = transfer.subject
    if subject is None or not _of_loader(function, subject, transfer.register):
        return False
    at = path(function, subject)
    if at is None or Writes(function, range(len(function.code))).reaches(at):
        return False
    return _only_moved(function, subject, transfer.register)


def _only_moved(function: FunctionFacts, reg: Reg, moved: Reg) -> bool:
    """True for a variable, or a part of one, that is only taken apart, moved and asked for its size until it is bound
    to something else."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return _only_moved(function, made.object, moved)
    if not isinstance(made, p.Load) or captured(function, made.slot) or function.function.kind in ("module", "class"):
        return False
    stores = [i.value for r in function.stores(made.slot) if isinstance(i := function.code[r], p.Store)]
    for value in stores:
        whole = function.code[value]
        while isinstance(whole, p.Unpack | p.Subscript):
            value = whole.value if isinstance(whole, p.Unpack) else whole.object
            whole = function.code[value]
        if isinstance(whole, p.Load) and whole.slot != made.slot and not _only_moved(function, value, moved):
            return False
    loads = [r for r, i in enumerate(function.code) if isinstance(i, p.Load) and i.slot == made.slot]
    return all(_bound_anew(function, r, made.slot, moved) or _taken_apart(function, r) for r in loads)


def _bound_anew(function: FunctionFacts, load: Reg, slot: int, moved: Reg) -> bool:
    """True where what is read is what was stored after the move, in the same turn."""
    regions = proven.around(function, load)
    later = (r for r in function.stores(slot) if moved < r < load)
    return any(function.region(r) in regions and function.loops(r) == function.loops(moved) for r in later)


def _taken_apart(function: FunctionFacts, reg: Reg) -> bool:
    """True where a value is unpacked, indexed, moved or asked for its size, and nothing else."""
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Unpack):
            continue
        if isinstance(made, p.Subscript) and made.object == reg and isinstance(function.code[made.index], p.Const):
            if not _taken_apart(function, user):
                return False
        elif isinstance(made, p.Attr):
            moves = made.name in ("to", "cuda") and all(
                isinstance(function.code[u], p.Call) for u in function.users(user)
            )
            if not moves and made.name not in ("shape", "size", "dtype", "device", "ndim", "dim", "numel"):
                return False
        elif not isinstance(made, p.Store) or function.code[reg] == p.Load(made.slot):
            return False
    return True


def _of_loader(function: FunctionFacts, reg: Reg, moved: Reg) -> bool:
    """True for what a `DataLoader` of this file makes with its own collate function: of what that returns only tensors
    have `.to` (docs.pytorch.org torch.utils.data.default_collate)."""
    loader = batch_of(function, reg, moved)
    if loader is None or any(loader.call.stars):
        return False
    keywords = dict(loader.call.keywords)
    data = loader.argument("dataset", 0)
    made = loader.function.code[origin(loader.function, data)] if data is not None else None
    if not isinstance(made, p.Call) or api(loader.function, made.function) not in _TENSORS:
        return False
    size = loader.function.code[keywords["batch_size"]] if "batch_size" in keywords else None
    single = isinstance(size, p.Const) and size.value is None
    plain = not keywords.keys() & {"", "collate_fn", "batch_sampler"}
    return plain and not single and len(loader.call.args) <= _POSITIONAL


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
    doc=__doc__,
)
