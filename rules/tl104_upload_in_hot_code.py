"""A device tensor is built from Python numbers or lists on every step.

What it does
------------
Reports, in code that runs on every step or for every element:

- `torch.tensor(values, device=d)`, `torch.as_tensor`, `x.new_tensor(values)` and `from_numpy(row).to(d)` on the device
- `torch.tensor(v)` as an operand of `torch.where` together with device tensors
- numbers that are assigned to elements of a device tensor (`x[rows] = 0` with an index tensor, `x[0, 0] = 0`)
- numbers given to a distribution beside device tensors (`Normal(mean, 0.1)`), and the counter that
  `AveragedModel.update_parameters` uploads

Why
---
The values are packed on the host and copied from pageable memory, and each of these small copies waits until the device
has done everything that was queued before it. A
number that is assigned by index, or to a single element, becomes a host tensor first and is then copied; for slices and
masks it is not.

Example
-------
    for sigma in sigmas:
        x = step(x, torch.tensor([sigma], device=x.device))

Use instead
-----------
    for sigma in torch.tensor(sigmas, device=x.device):   # one upload
        x = step(x, sigma)

When it is fine
---------------
Uploading each batch once, building a constant before the loop, and `torch.full((), v, device=d)`, which fills on the
device. New values that only the host has (an observation, the ids of a text) have to be copied, and are not reported:
only what the device can fill, what is known before the loop or the call (constants, settings, counters, tables), and
what came from the device.

Fix safety
----------
Safe if the value is certainly a number: `torch.full` creates the same values with the same dtype on the device.

Unsafe:

- if the value only may be a number (a numpy number keeps its own dtype in `torch.tensor`, and a list gives another
  shape)
- for fractions and negative numbers if the dtype is not a literal (`dtype=x.dtype`): unsigned dtypes accept them only
  in `torch.full`
- for `[n] * m`

Only shown, not applied:

- one upload before the loop, if the loop does not change the values: code that writes to the tensor then writes to the
  same tensor in every iteration
- an upload that does not wait, `torch.tensor(values).to(device, non_blocking=True)`: up to 2 MiB the memory need not be
  pinned (benchmarks/results/costs.md)
- an unsafe fix if the function also uploads other numbers or lists, if `torch.full` of a single number would be no
  shorter, or if the host waits in the function anyway

See also
--------
- TL401 for tensors that are created on the host and moved
- TL305 for lists used as indices
- https://docs.pytorch.org/docs/stable/generated/torch.full.html
- https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import BUILD, COPY_INTO, MOVE, TRUTH, Transfer
from transferlint.flow.lattice.values import CONTAINER, HOST_VALUE, TENSOR
from transferlint.model import Confidence, Edit, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p

from .code.chains import called, origin, remedy
from .examples import beside_torch
from .fixes import batch_lists, number_stores, remaining, uploading
from .questions.detection import Found, brief, clusters, each, only_shown, others, side_by_side, together
from .questions.round_trips import bounces, returns

_NUMBERS = frozenset(f"builtins.{name}" for name in ("float", "int", "round", "abs", "min", "max"))
_COUNTS = frozenset({"builtins.range", "builtins.enumerate"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Small uploads in hot code that are not half of a round trip."""
    trips = {f.index: {r for t in f.transfers for r in bounces(f, t)} | set(returns(f)) for f in facts.functions}
    found = [
        (f, t)
        for f, t in each(facts, BUILD, MOVE)
        if t.register not in trips[f.index] and (_hot(f, t) if t.kind == BUILD else _row(f, t)) and not _told(f, t)
    ]
    apart: dict[tuple[bool, str], list[Found]] = {}
    for function, transfer in found:
        once = batch_lists.crosses_once(function, transfer.register, transfer.register)
        apart.setdefault((once, _advised(function, transfer)), []).append((function, transfer))
    for function, group in (one for key in sorted(apart) for one in clusters(apart[key])):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uploads {_values(function, first)}",
            _instead(function, first),
            others(function, group),
            _sure(function, first),
            _whole(function, group, together(function, group, [_fix(function, t) for t in group])),
        )
    if any(True for _ in each(facts, COPY_INTO)):
        yield from number_stores.found(facts)


def _told(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the number that a distribution uploads which is told of as it checks its arguments."""
    return any(one.kind == TRUTH and not one.explicit for one in function.transfers_at(transfer.register))


def _values(function: FunctionFacts, transfer: Transfer) -> str:
    """What is uploaded, and how often."""
    warmth = function.warmth(transfer.register)
    if warmth.hot:
        return f"host values {warmth.level.each}"
    return "the same list on every call" if _listed(function, transfer) else "values that the device could create"


def _advised(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps where torch uploads something itself; "" where the source builds what is uploaded."""
    if transfer.api == "broadcast_all":
        return "pass a tensor that is on the device in place of the number, made once"
    return remedy(function, transfer)


def _instead(function: FunctionFacts, transfer: Transfer) -> str:
    if own := _advised(function, transfer):
        return own
    if _constant(function, transfer) and _listed(function, transfer):
        return "upload it once, as a buffer of the module or as one tensor per device"
    if uploading.made_before(function, transfer) is not None or _constant(function, transfer):
        return "build it once before the loop, in one upload, or fill it on the device (`torch.full`)"
    if uploading.filled(function, transfer) is not None:
        return "fill it on the device (`torch.full`), or upload all these numbers in one copy"
    return (
        "upload values that are known before the loop once, before it; upload new values in one copy, without waiting"
        " (`torch.tensor(values).to(device, non_blocking=True)`), or create them on the device"
    )


def _whole(function: FunctionFacts, group: list[Transfer], fix: Fix | None) -> Fix | None:
    """The fix, only shown where the function goes on to upload numbers or lists of the host, or the like of what it
    changes stands right beside it, or where `torch.full` is written and the host waits in the function anyway."""
    if fix is None or fix.safety is not Safety.UNSAFE:
        return fix
    known = {transfer.register for transfer in group}
    alike = [one for one in function.transfers if one.register not in known and _builds(function, one)]
    half = any(side_by_side(function, one, two) for one in alike for two in group)
    spelled = any(edit.text.endswith("full") for edit in fix.edits)  # no shorter than what was there
    vain = spelled and any(remaining.waits_as_well(function, one.register) for one in group)
    return only_shown(fix) if half or vain or remaining.builds_still(function, group) else fix


def _builds(function: FunctionFacts, transfer: Transfer) -> bool:
    return transfer.kind == BUILD or called(function, transfer.register) in ("torch.tensor", "torch.as_tensor")


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """Only possible where no more than the arguments say that it runs repeatedly, and for what has to cross once."""
    if batch_lists.crosses_once(function, transfer.register, transfer.register):
        return Confidence.POSSIBLE
    if not function.framework(transfer.register) and not _avoidable(function, transfer):
        return Confidence.POSSIBLE
    unsure = function.warmth(transfer.register).unsure and not _constant(function, transfer)
    return Confidence.POSSIBLE if unsure else Confidence.LIKELY


def _avoidable(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the upload can be left out: the device can make the values, they are the same at every call, or they
    come from the device. New values of the host have to be uploaded."""
    made = function.code[transfer.register]
    if transfer.kind != BUILD or transfer.inside is not None or not isinstance(made, p.Call) or not made.args:
        return True
    if remedy(function, transfer):
        return True
    if transfer.api == "broadcast_all":
        given = [r for r in (*made.args, *(r for _, r in made.keywords)) if function.values[r].is_a(HOST_VALUE)]
        return all(_steady(function, r) for r in given)
    if uploading.filled(function, transfer) is not None or uploading.made_before(function, transfer) is not None:
        return True
    return _steady(function, made.args[0]) or any(
        function.values[r].is_a(TENSOR) and function.values[r].on_device for r in function.expression(made.args[0])
    )


def _steady(function: FunctionFacts, reg: p.Reg) -> bool:
    """True for what is known before the loop, or before the call: what is written in the source, settings of an object,
    names of a module, counters, the elements of lists, and what is computed from such numbers."""
    made = function.code[reg]
    if isinstance(made, p.Load) and (start := origin(function, reg)) != reg:
        return _in_turn(function, reg, made.slot) or _steady(function, start)
    if isinstance(made, p.Sequence):
        return all(_steady(function, item) for item in made.items)
    if isinstance(made, p.Choice):
        return _steady(function, made.body) and _steady(function, made.orelse)
    if isinstance(made, p.Collect):
        return _steady(function, made.value)
    if isinstance(made, p.Unary):
        return _steady(function, made.operand)
    if isinstance(made, p.Binary):
        left = function.code[made.left]
        if made.operator == "*" and isinstance(left, p.Sequence):  # of whatever length: the device fills in one number
            return len(left.items) == 1 or _steady(function, made.left)
        return _steady(function, made.left) and _steady(function, made.right)
    if isinstance(made, p.Subscript):
        return _table(function, made.object) or (_steady(function, made.object) and _steady(function, made.index))
    if isinstance(made, p.Attr):
        return isinstance(function.code[origin(function, made.object)], p.Load | p.Outer | p.Attr)
    if isinstance(made, p.Call):
        callee = function.code[made.function]
        if called(function, reg) in _NUMBERS:
            return all(_steady(function, one) for one in made.args)
        return isinstance(callee, p.Attr) and callee.name == "get" and _steady(function, made.function)
    return isinstance(made, p.Const | p.Outer) or (isinstance(made, p.Load) and _in_turn(function, reg, made.slot))


def _table(function: FunctionFacts, reg: p.Reg) -> bool:
    """True for a list that is not made here: all of it can be uploaded once."""
    made = function.code[reg]
    kept = isinstance(made, p.Outer) or (isinstance(made, p.Load) and not function.stores(made.slot))
    return kept and _is_list(function, reg)


def _is_list(function: FunctionFacts, reg: p.Reg) -> bool:
    return bool(function.values[reg].kinds & (CONTAINER | HOST_VALUE)) and not function.values[reg].kinds & TENSOR


def _in_turn(function: FunctionFacts, reg: p.Reg, slot: p.Slot) -> bool:
    """True for the variable of a loop over numbers or a list."""
    for index in function.loops(reg):
        region = function.function.regions[index]
        if slot in region.target_slots and region.test is not None:
            return called(function, region.test) in _COUNTS or _is_list(function, region.test)
    return False


def _hot(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for an upload in hot code; that of a constant is in vain wherever it may run more than once."""
    warmth = function.warmth(transfer.register)
    if function.framework(transfer.register):
        return warmth.hot  # who is called now and then may be traced, and constants are part of what is compiled
    return warmth.hot or (not warmth.once and _constant(function, transfer))


def _constant(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for an upload of numbers of the source: they could be uploaded once, wherever the tensor is asked for."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or not made.args or not _written(function, made.args[0]):
        return False
    return _listed(function, transfer) or uploading.filled(function, transfer) is not None


def _listed(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for an upload of a list that stands in the call."""
    made = function.code[transfer.register]
    return isinstance(made, p.Call) and bool(made.args) and isinstance(function.code[made.args[0]], p.Sequence)


def _written(function: FunctionFacts, reg: p.Reg) -> bool:
    """True for a number of the source, and for a list of what is one."""
    made = function.code[reg]
    if isinstance(made, p.Sequence):
        return bool(made.items) and all(_written(function, item) for item in made.items)
    return isinstance(made, p.Const) or (isinstance(made, p.Unary) and _written(function, made.operand))


def _row(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `torch.from_numpy(row).to(device)` on every element of a loop."""
    warmth = function.warmth(transfer.register)
    if not warmth.hot or warmth.level < Level.PER_ELEMENT or transfer.subject is None:
        return False
    made = function.code[transfer.subject]
    return (
        isinstance(made, p.Call)
        and function.file.placement.names.dotted(function.function, made.function) == "torch.from_numpy"
    )


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The best that can be written: filled on the device, built before the loop, or uploaded without waiting."""
    if transfer.api == "torch.where":
        return _number(function, transfer)
    return (
        uploading.filled(function, transfer)
        or uploading.modern(function, transfer)
        or uploading.made_before(function, transfer)
        or uploading.unawaited(function, transfer)
    )


def _number(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The number itself in `torch.where(mask, x, torch.tensor(0))`, where no dtype is asked for; numbers leave the
    dtype of the other operand as it is, as tensors without dimensions do."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or made.keywords:
        return None
    start, end = function.span(transfer.register)
    return Fix("pass the number", Safety.UNSAFE, (Edit(start, end, function.outer_text(made.args[0])),))


RULE = Rule(
    code="TL104",
    name="upload-in-hot-code",
    summary="a device tensor built from host numbers or lists, on every step or for every element",
    category="repeated",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda")
x = torch.ones(3, device=device)
for step in range(10):
    x = x * torch.tensor(0.5, device=device)  # expect: TL104
""",
            good="""\
import torch

device = torch.device("cuda")
x = torch.ones(3, device=device)
half = torch.tensor(0.5, device=device)
for step in range(10):
    x = x * half
""",
            fixed="""\
import torch

device = torch.device("cuda")
x = torch.ones(3, device=device)
for step in range(10):
    x = x * torch.full((), 0.5, device=device)
""",
        ),
    ),
    more_examples=beside_torch.examples("TL104"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "create it on the device (`jnp.arange`, `jnp.full`), or upload all of it once before the loop"),
        ("tensorflow", "create it on the device (`tf.range`, `tf.fill`), or let `tf.data` copy batches there"),
        ("cupy", "create it on the device (`cp.arange`, `cp.full`), or upload all of it once before the loop"),
    ),
    doubted=(("jax", 0.0), ("tensorflow", 0.0), ("cupy", 0.33)),
    doc=__doc__,
)
