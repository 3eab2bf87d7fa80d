"""The same host data is uploaded twice.

What it does
------------
Reports a move to the device of data that was already moved there a few lines before and has not changed since, and the
upload of a host copy of a tensor that is still on the device.

Why
---
The same bytes are copied again into new memory, and unless the source is pinned, the copy blocks the host again.

Example
-------
    loss = criterion(model(inputs.to(device)), labels.to(device))
    correct += (predicted == labels.to(device)).sum()

Use instead
-----------
    labels = labels.to(device)
    loss = criterion(model(inputs.to(device)), labels)
    correct += (predicted == labels).sum()

When it is fine
---------------
If the source has changed in between, or two copies are wanted because one of them is written to. Data that may already
be on the device is not reported, because moving it again costs nothing.

Fix safety
----------
The second move is replaced by the result of the first, which gets a name if it has none. Safe if a tensor is proven to
be moved, nothing writes to it in between, and neither copy is written to or passed on. Otherwise only shown, because
the two copies become one.

See also
--------
- TL103 for the same move in every iteration
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import DOWNLOAD, MOVE, Transfer
from transferlint.flow.lattice.values import ARRAY, FRAMEWORKS, FRESH, HOST, ON_DEVICE, PLAIN, TENSOR, UNKNOWN
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.model import Confidence, Evidence, Finding, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import alone, captured, method, receiver
from .examples import beside_torch
from .fixes import reusing
from .questions.detection import brief, each, only_shown

_FAR = 2000  # instructions back; what was moved longer ago is not looked for


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves that another move has made needless."""
    for function, transfer in each(facts, MOVE):
        first = _before(function, transfer)
        if first is not None:
            yield function.finding(
                transfer.register,
                f"`{brief(function.text(transfer.register))}` uploads data that was already uploaded at line"
                f" {function.site(first.register).line}",
                "keep the first copy in a variable and reuse it",
                (Evidence(function.site(first.register), "the same data is uploaded here, unchanged in between"),),
                Confidence.LIKELY if transfer.places & ~HOST else Confidence.POSSIBLE,
                None if function.framework(transfer.register) else only_shown(reusing.reuse(function, first, transfer)),
            )
            continue
        source = _still_there(function, transfer)
        if source is not None:
            yield function.finding(
                transfer.register,
                f"`{brief(function.text(transfer.register))}` uploads the host copy of a tensor that is still on the"
                " device",
                f"use `{brief(function.text(source), 32)}`",
                (Evidence(function.site(source), "this tensor holds the same data"),),
                Confidence.LIKELY,
            )


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The uploads that are reported here."""
    for transfer in function.transfers:
        if _before(function, transfer) is not None or _still_there(function, transfer) is not None:
            yield transfer.register


def _upload(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a move of host data, in code that may run often, by `.to` or `.cuda` on a name, or by the function of
    another framework."""
    before, reg = transfer.before, transfer.register
    foreign = bool(function.values[reg].flags & FRAMEWORKS)
    return (
        transfer.kind == MOVE
        and transfer.subject is not None
        and before.places == HOST
        and before.is_a(TENSOR | UNKNOWN | (ARRAY if foreign else 0))
        and not before.flags & (FRESH | PLAIN)
        and bool(transfer.places & ON_DEVICE)
        and function.has_text(reg)
        and (foreign or method(function, reg) in ("to", "cuda"))
        and not function.warmth(reg).once
        and not function.warmth(reg).weak
    )


def _before(function: FunctionFacts, transfer: Transfer) -> Transfer | None:
    """An earlier move of the same data to the same place that has happened whenever this one does."""
    if not _upload(function, transfer):
        return None
    reg, subject = transfer.register, transfer.subject
    assert subject is not None
    at = path(function, subject)
    if at is None or not _indexed_alike(function, subject) or _constant(function, reg, subject):
        return None
    around = _around(function, reg)
    loops, far = function.loops(reg), reg - _FAR
    earlier = itertools.takewhile(lambda one: one.register < reg, _uploads(function).get(_spelled(function, reg), ()))
    same = [
        first
        for first in earlier
        if first.register > far
        and function.region(first.register) in around
        and function.loops(first.register) == loops
        # A result that is dropped is the mistake: once it is assigned, this move has nothing to do.
        and not alone(function, first.register)
        if reusing.names(function, first.register)
    ]
    # What changed since the last of them changed since all others.
    if not same or not _unchanged(function, same[-1], reg):
        return None
    return next(first for first in same if _unchanged(function, first, reg))


def _unchanged(function: FunctionFacts, first: Transfer, reg: Reg) -> bool:
    """True where nothing between two moves writes to what they move."""
    writes = Writes(function, range(first.register + 1, reg))
    named = [path(function, r) for r in reusing.names(function, first.register)]
    return not any(name is None or writes.changed(name) for name in named)


def _around(function: FunctionFacts, reg: Reg) -> set[int]:
    """The regions around a register: what stands in them has run before it."""
    found, at = {0}, function.region(reg)
    while at > 0:
        found.add(at)
        at = function.function.regions[at].parent
    return found


@once
def _uploads(function: FunctionFacts) -> dict[str, list[Transfer]]:
    """The uploads of a function by how they are spelled, in order."""
    found: dict[str, list[Transfer]] = {}
    for transfer in function.transfers:
        if _upload(function, transfer):
            found.setdefault(_spelled(function, transfer.register), []).append(transfer)
    return found


def _spelled(function: FunctionFacts, reg: Reg) -> str:
    return re.sub(r"\s", "", function.text(reg))


def _indexed_alike(function: FunctionFacts, subject: Reg) -> bool:
    """True where the subject's brackets hold names and constants alone."""
    kinds = p.Load | p.Outer | p.Attr | p.Subscript | p.Const | p.Slice | p.Sequence
    return all(isinstance(function.code[r], kinds) for r in function.expression(subject))


def _constant(function: FunctionFacts, reg: Reg, subject: Reg) -> bool:
    """True where the loop around does not change what is moved, or it is kept on an object: an invariant transfer."""
    loops = function.loops(reg)
    at = path(function, subject)
    if isinstance(function.code[subject], p.Attr):
        return True
    if not loops or at is None:
        return False
    return not invariance(function, loops[0]).writes.changed(at)


def _still_there(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """The device tensor of which the moved value is a copy, where neither has changed and the copy is used otherwise
    too; None for other moves."""
    reg, subject = transfer.register, transfer.subject
    made = function.code[subject] if subject is not None else None
    if not _upload(function, transfer) or not isinstance(made, p.Load):
        return None
    stores = function.stores(made.slot)
    loads = function.loads(made.slot)
    if len(stores) != 1 or len(loads) < 2 or captured(function, made.slot):
        return None
    store = function.code[stores[0]]
    assert isinstance(store, p.Store)
    copied = store.value
    down = next((t for t in function.transfers_at(copied) if t.kind == DOWNLOAD), None)
    if down is None or down.subject is None or not down.before.on_device or not down.before.is_a(TENSOR):
        return None
    source = receiver(function, copied)
    named = path(function, down.subject)
    if source is None or named is None or function.region(copied) not in _around(function, reg):
        return None
    if function.loops(copied) != function.loops(reg):
        return None
    writes = Writes(function, range(copied + 1, reg))
    own = path(function, subject) if subject is not None else None
    if writes.changed(named) or own is None or writes.reaches(own):
        return None
    return down.subject


RULE = Rule(
    code="TL204",
    name="repeated-upload",
    summary="the same host data is uploaded twice in one function",
    category="round-trip",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import numpy as np
import torch

device = torch.device("cuda")
table = np.arange(4.0)


def step(x):
    labels = torch.from_numpy(table)
    loss = (x - labels.to(device)).square().sum()
    wrong = (x != labels.to(device)).sum()  # expect: TL204
    return loss + wrong


results = [step(torch.ones(4, device=device)) for _ in range(10)]
""",
            good="""\
import numpy as np
import torch

device = torch.device("cuda")
table = np.arange(4.0)


def step(x):
    labels = torch.from_numpy(table).to(device)
    loss = (x - labels).square().sum()
    wrong = (x != labels).sum()
    return loss + wrong


results = [step(torch.ones(4, device=device)) for _ in range(10)]
""",
            fixed="""\
import numpy as np
import torch

device = torch.device("cuda")
table = np.arange(4.0)


def step(x):
    labels = torch.from_numpy(table)
    labels_on_device = labels.to(device)
    loss = (x - labels_on_device).square().sum()
    wrong = (x != labels_on_device).sum()
    return loss + wrong


results = [step(torch.ones(4, device=device)) for _ in range(10)]
""",
        ),
        Example(
            bad="""\
import torch


def train(model, loader, criterion, device):
    correct = torch.zeros((), device=device)
    for inputs, labels in loader:
        scores = model(inputs.to(device))
        criterion(scores, labels.to(device)).backward()
        correct += (scores.argmax(1) == labels.to(device)).sum()  # expect: TL204
    return correct.item()
""",
            good="""\
import torch


def train(model, loader, criterion, device):
    correct = torch.zeros((), device=device)
    for inputs, labels in loader:
        scores = model(inputs.to(device))
        labels = labels.to(device)
        criterion(scores, labels).backward()
        correct += (scores.argmax(1) == labels).sum()
    return correct.item()
""",
        ),
    ),
    more_examples=beside_torch.examples("TL204"),
    detect=detect,
    advice=(
        ("jax", "reuse the array from the first upload"),
        ("tensorflow", "reuse the tensor from the first upload"),
        ("cupy", "reuse the array from the first upload"),
    ),
    claims=claims,
    doc=__doc__,
)
