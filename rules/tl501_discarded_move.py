"""The result of a move is discarded: nothing was moved.

What it does
------------
Reports `x.to(d)`, `x.cuda()` and `x.cpu()` as statements if `x` is a tensor, or if its assignments or uses show that it
is one; and statements that call a function of the project which does nothing but return moved copies of tensors or
containers (`move_to(batch, device)`).

Why
---
These methods return a copy and leave the tensor where it is. (On a module they move its parameters in place, which is
correct and not reported.)

Example
-------
    inputs.to(device)
    outputs = model(inputs)      # raises, or silently computes on the host

Use instead
-----------
    inputs = inputs.to(device)
    outputs = model(inputs)

When it is fine
---------------
Never for a tensor.

Fix safety
----------
Only shown, because too few of these edits were worth taking. Assigning the result makes the program do what it says,
which is not what it did before. A move of an expression without a name (`x.detach().cpu()`) is removed: its result was
not used, but the host no longer waits there.

Before you assign: `.numpy()` and array libraries reject device tensors, and if nothing else in the computation is known
to be on the device, the program may be running on the host as it is.

See also
--------
- TL502 for the error that follows
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, MOVE, Transfer
from transferlint.flow.lattice.values import HOST_VALUE, MODULE, TENSOR, UNKNOWN, Value
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import notebooks
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code import rewriting
from .code.chains import alone, method, receiver
from .questions import batch_parts, moved_copies
from .questions import shown as shown_of
from .questions.detection import brief, each

_ASSIGNABLE = (p.Load, p.Attr, p.Subscript)
_WITHOUT_EFFECT = frozenset("detach clone float double half bfloat16 contiguous".split())


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves of tensors whose result nobody takes."""
    for function, transfer in each(facts, MOVE, DOWNLOAD, discarded=True):
        if transfer.subject is None or not moved_copies.discarded(function, transfer.register):
            continue
        if transfer.inside is not None:
            continue  # what the wrapper returns is not all that it does
        shown = facts.path.endswith(notebooks.SUFFIX) and notebooks.displayed(
            facts.text, *function.outer_span(transfer.register)
        )
        if shown or function.role.testing:
            continue
        tensor = transfer.before.is_a(TENSOR)
        either = transfer.before.may_be(TENSOR) and transfer.before.is_a(TENSOR | MODULE)  # `x: Tensor | Module`
        known = (
            tensor
            or either
            or _or_none(transfer.before)
            or batch_parts.of_a_batch(function, transfer.subject)
            or _used(function, transfer)
            or _computed(function, transfer.subject)
        )
        if not known:
            continue
        text = brief(function.text(transfer.register))
        named = alone(function, transfer.register) and _assignable(function, transfer.subject)
        yield function.finding(
            transfer.register,
            f"`{text}` has no effect: it returns a moved copy, which is discarded",
            f"assign it: `{brief(function.text(transfer.subject))} = {text}`"
            if named
            else "use the returned tensor, or remove the call",
            (),
            Confidence.CERTAIN if tensor else Confidence.LIKELY,
            _fix(function, transfer),
            heated=False,
        )
    for function, reg in moved_copies.dropped(facts):
        text = brief(function.text(reg))
        yield function.finding(
            reg,
            f"`{text}` has no effect: it returns moved copies, which are discarded",
            "use what it returns, or remove the call",
            (),
            Confidence.LIKELY,
            heated=False,
        )


def _assignable(function: FunctionFacts, reg: Reg) -> bool:
    """True for a name that somebody reads afterwards: the variable of a loop holds nothing for the next turn."""
    made, regions = function.code[reg], function.function.regions
    if isinstance(made, p.Load) and any(made.slot in regions[at].target_slots for at in function.loops(reg)):
        return function.loads(made.slot)[-1] > reg
    return isinstance(made, _ASSIGNABLE)


def _or_none(value: Value) -> bool:
    """True for what is a tensor, or nothing that has a move at all."""
    return bool(value.kinds & TENSOR) and not value.kinds & ~(TENSOR | HOST_VALUE)


def _used(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what is used as a tensor elsewhere, and may be one by all else that is known."""
    assert transfer.subject is not None
    return bool(transfer.before.kinds & (UNKNOWN | TENSOR)) and shown_of.moved_tensor(function, transfer.subject)


def _computed(function: FunctionFacts, reg: Reg) -> bool:
    """True for the result of an operator, by variables too: no module is computed, and of what is, tensors move."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        stores = [one for at in function.stores(made.slot) if isinstance(one := function.code[at], p.Store)]
        return bool(stores) and all(isinstance(function.code[one.value], p.Binary) for one in stores)
    return isinstance(made, p.Binary)


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    assert transfer.subject is not None
    if not alone(function, transfer.register):
        return None  # no place for an assignment
    if not isinstance(function.code[transfer.subject], p.Load | p.Attr):
        return _removed(function, transfer)
    if not _assignable(function, transfer.subject):
        return None
    start, _ = function.span(transfer.register)
    return Fix(
        "assign the moved tensor", Safety.DISPLAY, (Edit(start, start, f"{function.text(transfer.subject)} = "),)
    )


def _removed(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Take `x.detach().cpu()` away: nobody has what it gives, not even by another name."""
    at = transfer.subject
    while at is not None and method(function, at) in _WITHOUT_EFFECT:
        made = function.code[at]
        if not isinstance(made, p.Call) or made.args or made.keywords:
            return None
        at = receiver(function, at)
    edit = (
        rewriting.remove(function, transfer.register) if isinstance(function.code[at or 0], p.Load | p.Attr) else None
    )
    return Fix("remove it", Safety.DISPLAY, (edit,)) if at is not None and edit is not None else None


RULE = Rule(
    code="TL501",
    name="discarded-move",
    summary="`x.to(d)` as a statement, on a tensor: the result is discarded",
    category="mistake",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

x = torch.ones(3)
x.to("cuda")  # expect: TL501
""",
            good="""\
import torch

x = torch.ones(3)
x = x.to("cuda")
model = torch.nn.Linear(3, 3)
model.to("cuda")
""",
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
)
