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
Safe for one conversion to a wider dtype and for `repeat` and `tile`, if the source is proven to be a tensor and the
target is proven to be a device: the device computes the same numbers.

Only shown: with `non_blocking`; for conversions from fractions to integers, where values that are too large give
different results; for `expand`, whose rows then share memory; and for `one_hot`, which reports an out-of-range class
differently on the device.

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
from transferlint.model import Confidence, Edit, Evidence, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, method, origin
from .proofs import proven, widths
from .questions.detection import brief, each

_COPIES = frozenset({"repeat", "tile"})
_ASKS = frozenset({"size", "dim", "numel"})
_DENSE = frozenset("view reshape unsqueeze squeeze flatten ravel contiguous clone detach".split())
_PLAIN = frozenset({"builtins.len", "torch.device", "torch.cuda.current_device"})


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
            _fix(function, transfer, wide),
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


def _fix(function: FunctionFacts, transfer: Transfer, wide: Reg) -> Fix | None:
    """`x.float().to(d)` to `x.to(d).float()`; only where all of it is one expression.

    Safe where it is proven that `x` is a tensor and `d` the name of a place; that host and device convert alike
    (`_exact`); that what stands between leaves nothing out of the tensor, as the move would pack it then
    (`_kept_dense`); that the place is the same when it is asked for earlier; and that the copy is not asked to go on
    while the host writes to what it copies (`non_blocking`): it was a tensor of its own, and is `x` itself now.
    """
    inner = widths.operand(function, wide)
    subject = transfer.subject
    if inner is None or subject is None or wide not in set(function.expression(transfer.register)):
        return None
    text, spans, nodes = function.file.text, function.file.spans, function.function.nodes
    end = function.span(transfer.register)[1]
    between = spans.outer(nodes[subject])[1]
    if not function.has_text(inner):
        return None
    at = spans.outer(nodes[inner])[1]
    moved = text[between:end]
    whole = text[function.span(transfer.register)[0] : end]
    if not moved.lstrip().startswith(".") or "#" in whole or "\n" in moved or "\r" in moved:
        return None
    made = function.code[wide]
    assert isinstance(made, p.Call)
    hot = called(function, wide) == widths.ONE_HOT
    if hot and len(made.args) + len(made.keywords) < 2:
        return None  # without the number of classes the device would be asked for the largest label
    if not hot and any(not _host_only(function, r) for r in (*made.args, *(r for _, r in made.keywords))):
        return None
    safe = not hot and _name(function, wide) not in widths.EXPANDS and _names_place(function, transfer, inner)
    safe = safe and proven.tensor(function, inner) and _exact(function, subject, wide)
    safe = safe and _kept_dense(function, subject, wide)
    moved = moved.lstrip()
    edits = (Edit(at, at, moved), Edit(between, end, ""))
    return Fix("move it first", Safety.SAFE if safe else Safety.DISPLAY, edits)


def _exact(function: FunctionFacts, subject: Reg, wide: Reg) -> bool:
    """True where host and device convert alike: fractions to whole numbers they round differently at the ends."""
    casts = [r for r in function.expression(subject) if r >= wide and widths.target_type(function, r)]
    if not casts:
        return True
    inner = widths.operand(function, wide)
    source = widths.source_type(function, inner) if inner is not None else ""
    return casts == [wide] and (
        source not in widths.FRACTIONS or widths.target_type(function, wide) in widths.FRACTIONS
    )


def _host_only(function: FunctionFacts, reg: Reg) -> bool:
    """True for an argument that is a number or type of the host, and computed without effects."""
    kinds = p.Const | p.Load | p.Outer | p.Attr | p.Subscript | p.Unary | p.Binary | p.Call
    for at in function.expression(reg):
        made = function.code[at]
        if not isinstance(made, kinds):
            return False
        if isinstance(made, p.Call) and method(function, at) not in _ASKS and called(function, at) not in _PLAIN:
            return False
    return True


def _kept_dense(function: FunctionFacts, subject: Reg, wide: Reg) -> bool:
    """True where the steps behind the conversion keep the whole tensor, in the order of its elements."""
    steps = [r for r in function.expression(subject) if r > wide and isinstance(function.code[r], p.Call | p.Subscript)]
    return all(method(function, r) in _DENSE for r in steps)


def _names_place(function: FunctionFacts, transfer: Transfer, inner: Reg) -> bool:
    """True for a move that is proven to name a place, the same before the conversion, and nothing else: a type would be
    another conversion."""
    made = function.code[transfer.register]
    assert isinstance(made, p.Call)
    names = {key for key, _ in made.keywords}
    if any(made.stars) or len(made.args) + len(names) > 1 or not names <= {"device"}:
        return False
    given = [*made.args, *(r for _, r in made.keywords)]
    return all(proven.device(function, r) and proven.unchanged(function, r, inner + 1, r) for r in given)


RULE = Rule(
    code="TL406",
    name="widen-then-move",
    summary="host data is converted to a wider type, repeated or encoded before it is uploaded",
    category="wasteful",
    default=True,
    fix_safety=Safety.SAFE,
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
            fixed="""\
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
