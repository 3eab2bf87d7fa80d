"""A loop moves what it does not change.

What it does
------------
Reports a move to the device (or a device tensor built from constants), in a loop that changes neither what is moved nor
where to; and, in a step method, the move of a plain attribute of `self` that nothing but this move brings to the
device.

Why
---
The same bytes cross on every turn, and unless the source is pinned the host waits for each copy.

Example
-------
    for _ in range(10):
        y = x + table.to(device)

Use instead
-----------
    table_on_device = table.to(device)
    for _ in range(10):
        y = x + table_on_device

In a module, register the tensor as a buffer (`self.register_buffer("table", table)`): it then moves with the module.

When it is fine
---------------
Where the device cannot hold the tensor for as long as the loop runs.

Fix safety
----------
The move is put before the loop under a new name. Safe where nothing that the loop does can write to the tensor, where
its copy is only read, and where the device is there even if the loop turns not once; unsafe where that is not proven,
as for attributes, for arguments in a loop that calls functions, and for copies that are handed on.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.invariance import Invariance
from transferlint.flow.loops import classify
from transferlint.flow.sharing import path
from transferlint.flow.transfers import MOVE, Transfer
from transferlint.flow.values import (
    CONTAINER,
    DEVICE,
    FRESH,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    MODULE,
    MOVED,
    ON_DEVICE,
    PARAMETER,
    PLAIN,
    TENSOR,
    UNKNOWN,
)
from transferlint.flow.writes import Writes
from transferlint.model import Confidence, Finding, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .detection import Found, brief, clusters, each, others
from .hoisting import hoist


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves whose subject and target a loop, or a step method, leaves alone."""
    steps: list[Found] = []
    for function, transfer in each(facts, MOVE):
        found = _in_loop(function, transfer)
        if found is not None:
            yield found
        elif _in_step(function, transfer):
            steps.append((function, transfer))
    for function, group in clusters(steps):
        reg, attribute = group[0].register, _attribute(function, group[0])
        assert attribute is not None
        yield function.finding(
            reg,
            f"`{brief(function.text(reg))}` moves the same attribute {function.warmth(reg).level.words}",
            f'register it as a buffer: `self.register_buffer("{attribute}", ..., persistent=False)`',
            others(function, group),
            Confidence.LIKELY,
        )


def _in_loop(function: FunctionFacts, transfer: Transfer) -> Finding | None:
    reg = transfer.register
    warmth = function.warmth(reg)
    if (
        not warmth.hot
        or not transfer.places & ON_DEVICE
        or (transfer.before.kinds & MODULE and not transfer.before.kinds & TENSOR)
    ):
        return None
    before = transfer.before
    assumed = before.places & GIVEN and before.flags & FROM_PARAMETER and not before.places & DEVICE
    if before.places and not before.places & ~ON_DEVICE and not assumed:
        return None
    if transfer.before.flags & PARAMETER:
        return None
    loops = [r for r in function.loops(reg) if function.function.regions[r].kind != "comprehension"]
    outermost: int | None = None
    for region in loops:
        if not _repeats(function, region) or not Invariance(function, region).holds(reg):
            break
        outermost = region
    if outermost is None:
        return None
    subject = transfer.before
    if subject.is_a(UNKNOWN) and subject.places != HOST and not _tensor_like(function, transfer):
        return None
    text = brief(function.text(reg))
    line = function.file.line(function.file.spans.of(function.function.regions[outermost].node)[0])
    return function.finding(
        reg,
        f"`{text}` moves the same data in every turn of the loop at line {line}",
        "move it once, before the loop",
        (),
        Confidence.LIKELY if subject.places != HOST or transfer.places != DEVICE else Confidence.CERTAIN,
        hoist(function, reg, outermost),
    )


def _repeats(function: FunctionFacts, region: int) -> bool:
    """True for a loop that turns more than a handful of times."""
    loop = function.function.regions[region]
    value = function.values[loop.test] if loop.test is not None else None
    return classify(function.function, loop, value) != "few"


def _tensor_like(function: FunctionFacts, transfer: Transfer) -> bool:
    return transfer.subject is not None and not function.values[transfer.subject].kinds & (CONTAINER | MOVED)


def _in_step(function: FunctionFacts, transfer: Transfer) -> bool:
    """`self.table.to(x.device)` in a step method, `self.table` being a plain attribute."""
    attribute = _attribute(function, transfer)
    if attribute is None or not function.warmth(transfer.register).hot:
        return False
    before = transfer.before
    if before.flags & PARAMETER or before.kinds & MODULE or (before.places and not before.places & ~ON_DEVICE):
        return False
    if any(isinstance(i, p.SetAttr) and i.name == attribute for i in function.code):
        return False  # kept where it was moved to: the next call moves nothing
    if function.loops(transfer.register) and _written(function, transfer):
        return False
    return bool(before.flags & (PLAIN | FRESH)) or (before.is_a(TENSOR) and bool(before.places & HOST))


def _written(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the function, or one of this file that it calls, writes to what is moved."""
    assert transfer.subject is not None
    moved = path(function, transfer.subject)
    return moved is not None and Writes(function, range(len(function.code))).changed(moved)


def _attribute(function: FunctionFacts, transfer: Transfer) -> str | None:
    """The attribute of `self` that is moved, "table" of `self.table[0].to(d)`; None where it is none."""
    if transfer.subject is None:
        return None
    subject = function.code[transfer.subject]
    while isinstance(subject, p.Subscript):
        subject = function.code[subject.object]
    return subject.name if isinstance(subject, p.Attr) and _is_self(function, subject.object) else None


def _is_self(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Load) and function.function.slot_names[made.slot] == "self"


RULE = Rule(
    code="TL103",
    name="invariant-transfer",
    summary="a loop or step method moves to the device what it does not change",
    category="repeated",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor = torch.randn(100, 100)
for _ in range(10):
    tensor_gpu = tensor.to(device)  # expect: TL103
    tensor_gpu = tensor_gpu * 2
""",
            good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor = torch.randn(100, 100)
tensor_gpu = tensor.to(device)
for _ in range(10):
    tensor_gpu = tensor_gpu * 2
""",
            fixed="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor = torch.randn(100, 100)
tensor_on_device = tensor.to(device)
for _ in range(10):
    tensor_gpu = tensor_on_device
    tensor_gpu = tensor_gpu * 2
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
