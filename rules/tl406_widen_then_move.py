"""Host data is enlarged before it is uploaded.

What it does
------------
Reports, in code that may run often, an upload of a host tensor that was enlarged just before: a mask or an 8-bit,
16-bit or 32-bit tensor converted to a wider dtype, `one_hot`, `repeat`, `tile`, `expand`. Findings are rare, because
the source has to show the original dtype: there was none in 4,800 kLOC of 26 public libraries.

Why
---
All added bytes are copied too: a byte mask converted to floats is four times as large, and a one-hot row has one number
per class. The device converts, repeats and encodes faster than the copy takes.

Example
-------
    target = F.one_hot(labels, num_classes).float().to(device)

Use instead
-----------
    target = F.one_hot(labels.to(device), num_classes).float()

When it is fine
---------------
If the device does not have enough memory for both, or if the conversion makes the data smaller (not reported; neither
are conversions from an unknown dtype). Data that is already on the device is not moved.

Fix safety
----------
No automatic fix: whether the device has memory for the enlarged data is yours to know.

See also
--------
- TL401 for tensors that could be created on the device
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import FRESH, HOST, ON_DEVICE, SCALAR, TENSOR
from transferlint.model import Confidence, Evidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, method, origin
from .proofs import widths
from .questions.detection import brief, each

_COPIES = frozenset({"repeat", "tile"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Uploads of host tensors that were made larger within the expression."""
    for function, transfer in each(facts, MOVE):
        wide = _wide(function, transfer)
        if wide is None:
            continue
        evidence: tuple[Evidence, ...] = ()
        if wide not in set(function.expression(transfer.register)):
            evidence = (Evidence(function.site(wide), "enlarged on the host here"),)
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` uploads data that `{_name(function, wide)}` enlarged on the"
            " host",
            "move first, then " + ("convert" if _name(function, wide) in (*widths.CASTS, "to") else "enlarge"),
            evidence,
            _sure(function, transfer),
        )


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    warmth = function.warmth(transfer.register)
    return Confidence.POSSIBLE if warmth.weak else Confidence.LIKELY


def _name(function: FunctionFacts, reg: Reg) -> str:
    return method(function, reg) or called(function, reg).rpartition(".")[2]


def _wide(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """The call that made a moved host tensor larger, innermost last; None for other moves."""
    before, reg = transfer.before, transfer.register
    if transfer.subject is None or not before.is_a(TENSOR) or before.places & ON_DEVICE or before.reads:
        return None
    if before.flags & (FRESH | SCALAR) or not transfer.places & ON_DEVICE or function.warmth(reg).once:
        return None
    loops = function.loops(reg)
    if loops and invariance(function, loops[0]).holds(reg):
        return None
    at: Reg = transfer.subject
    found = None
    for _ in range(12):
        at = _bound(function, at, reg)
        if _widens(function, at):
            found = at
        elif method(function, at) not in widths.THROUGH | widths.CASTS | {"to"}:
            break
        inner = widths.operand(function, at)
        if inner is None:
            break
        at = inner
    return found


def _bound(function: FunctionFacts, at: Reg, moved: Reg) -> Reg:
    """What a variable holds that is bound in the same turn and read by nothing but the move."""
    made = function.code[at]
    if not isinstance(made, p.Load):
        return at
    loads = [r for r in function.loads(made.slot) if r <= moved]
    before = origin(function, at)
    return before if len(loads) == 1 and function.loops(before) == function.loops(moved) else at


def _widens(function: FunctionFacts, at: Reg) -> bool:
    """True for a call that makes a tensor of the host larger."""
    name, inner, made = method(function, at), widths.operand(function, at), function.code[at]
    if inner is None or not isinstance(made, p.Call):
        return False
    value = function.values[inner]
    if called(function, at) == widths.ONE_HOT:
        return value.is_a(TENSOR) and value.places == HOST
    if not value.is_a(TENSOR) or value.places != HOST:
        return False
    if name in _COPIES | widths.EXPANDS:
        return bool(made.args) and not value.flags & SCALAR and not _all_ones(function, made)
    target = widths.target_type(function, at)
    source = widths.source_type(function, inner)
    return bool(target and source) and widths.BYTES[target] > widths.BYTES[source]


def _all_ones(function: FunctionFacts, made: p.Call) -> bool:
    """True for `expand(-1, -1)` and `repeat(1, 1)`, which leave the size."""
    texts = [function.text(r) for r in made.args if function.has_text(r)]
    return all(re.fullmatch(r"-?1", text) for text in texts)


RULE = Rule(
    code="TL406",
    name="widen-then-move",
    summary="host data is converted to a wider type, repeated or encoded before it is uploaded",
    category="wasteful",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import numpy as np
import torch

device = torch.device("cuda")
pixels = np.arange(12).reshape(3, 4)


def prepare(rows):
    mask = torch.from_numpy(rows) > 3
    return mask.float().to(device)  # expect: TL406


batches = [prepare(pixels) for _ in range(10)]
""",
            good="""\
import numpy as np
import torch

device = torch.device("cuda")
pixels = np.arange(12).reshape(3, 4)


def prepare(rows):
    mask = torch.from_numpy(rows) > 3
    return mask.to(device).float()


batches = [prepare(pixels) for _ in range(10)]
""",
        ),
        Example(
            bad="""\
import torch
import torch.nn.functional as F


def train(model, rows, classes, device):
    for row in rows:
        labels = torch.from_numpy(row)
        target = F.one_hot(labels, classes).to(device)  # expect: TL406
        F.cross_entropy(model(target), target.float()).backward()
""",
            good="""\
import torch
import torch.nn.functional as F


def train(model, rows, classes, device):
    for row in rows:
        labels = torch.from_numpy(row)
        target = F.one_hot(labels.to(device), classes)
        F.cross_entropy(model(target), target.float()).backward()
""",
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
)
