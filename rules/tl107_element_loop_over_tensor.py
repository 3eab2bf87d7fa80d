"""A Python loop reads a device tensor element by element.

What it does
------------
Reports a `for` loop or comprehension that iterates over a device tensor, or over its indices, and reads a value from it
in every iteration: `v.item()`, `int(x[i])`, `if x[i] > 0`. There is one finding per loop, at the first such read.

Why
---
Every element is a separate copy, and the host waits for the device each time: a loop over a thousand elements waits a
thousand times.

Example
-------
    for i in range(len(lengths)):
        total += rows[i][: lengths[i].item()].sum()

Use instead
-----------
    for row, length in zip(rows, lengths.tolist()):   # one copy, before the loop
        total += row[:length].sum()

or without a loop, on the device:

    mask = torch.arange(rows.size(1), device=rows.device) < lengths[:, None]
    total = (rows * mask).sum()

When it is fine
---------------
Loops over a host tensor, after one `.tolist()` or `.cpu()` before the loop, over a few constants, and in code that runs
rarely. None of these is reported.

Fix safety
----------
Only shown: the whole tensor is copied before the loop (`x_on_host = x.cpu()`), and its elements are read from the copy.
Check that the loop does not change the tensor under another name. Computations with the elements then happen on the
host, and if they are combined with other device values, or other reads remain, the loop still waits. Whether to
vectorize the loop instead is up to you.

See also
--------
- TL101 for a single read
- TL302 for `range(t)` and `x[:t]`
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.tolist.html
- https://docs.pytorch.org/docs/stable/generated/torch.where.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import MOVE, NUMBER, SCALAR_READ, TRUTH, Transfer
from transferlint.flow.lattice.values import HOST_VALUE, MOVED, ON_DEVICE, TENSOR, UNKNOWN
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.model import Evidence, Finding, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called
from .examples import beside_torch
from .fixes import reading_ahead, reading_elements
from .questions.detection import apart, brief, hot, likely, others, sure, together
from .questions.round_trips import told

_GOES_OVER = frozenset(f"builtins.{name}" for name in ("enumerate", "zip", "reversed"))
_KINDS = (SCALAR_READ, NUMBER, TRUTH)


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Reads of elements, one finding for each loop."""
    found: dict[tuple[int, int], list[Transfer]] = {}
    for function, transfer in hot(facts, *_KINDS):
        where = _loop(function, transfer)
        if where is not None and likely(function, transfer):
            found.setdefault((function.index, where[0]), []).append(transfer)
    parts = ((key, part) for key, group in found.items() for part in apart(facts.functions[key[0]], group))
    for (index, region), group in parts:
        function = facts.functions[index]
        group.sort(key=lambda t: function.span(t.register))
        first = group[0]
        where = _loop(function, first)
        assert where is not None
        line = facts.line(facts.spans.of(function.function.regions[region].node)[0])
        tensor = brief(function.text(where[1]), 32)
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` reads `{tensor}` element by element in the loop at line {line}",
            f"copy it to the host before the loop (`{tensor}.tolist()`), or compute on the whole tensor",
            (
                *function.why(first.before),
                Evidence(function.site(where[1]), "the loop iterates over this"),
                *others(function, group),
            ),
            sure(function, first),
            reading_elements.read_before(function, region, where[1], group)
            or together(function, group, [reading_ahead.ahead(function, one) for one in group]),
        )


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The reads that are reported here."""
    for transfer in function.transfers:
        if transfer.kind not in _KINDS or not function.has_text(transfer.register):
            continue
        if not function.warmth(transfer.register).hot or not likely(function, transfer):
            continue
        if _loop(function, transfer) is not None:
            yield transfer.register


def _loop(function: FunctionFacts, transfer: Transfer) -> tuple[int, Reg] | None:
    """The loop whose elements a read takes, and the tensor that it goes over; None for other reads."""
    reg = transfer.register
    if transfer.subject is None or function.claimed(reg, above="TL107") or told(function, transfer):
        return None
    for region in function.loops(reg):
        tensor = _goes_over(function, transfer.subject, region) or _indexed(function, transfer.subject, region)
        if tensor is not None and function.has_text(tensor):
            return region, tensor
    return None


def _goes_over(function: FunctionFacts, subject: Reg, region: int) -> Reg | None:
    """The tensor of the device that a loop goes over, where what is read is computed from its element alone."""
    loop = function.function.regions[region]
    if loop.test is None or loop.kind == "while":
        return None
    candidates = [loop.test]
    made = function.code[loop.test]
    if isinstance(made, p.Call) and called(function, loop.test) in _GOES_OVER:
        candidates = list(made.args)
    tensors = [r for r in candidates if _on_device(function, r)]
    if not tensors:
        return None
    slots = set(loop.target_slots)
    for at in function.expression(subject):
        load = function.code[at]
        if isinstance(load, p.Load) and load.slot in slots and function.values[at].is_a(TENSOR | UNKNOWN):
            return _of_target(function, region, load.slot, candidates, tensors)
    return None


def _on_device(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor on the device, and for what was moved there as only a tensor is; not for what a call gives that
    was given such: it may give one tensor after the other, or a list of them."""
    value = function.values[reg]
    if not value.places & ON_DEVICE or value.is_a(TENSOR):
        return bool(value.places & ON_DEVICE)
    if not value.is_a(UNKNOWN) or not value.flags & MOVED:
        return False
    made = function.code[reg]
    bound = [function.code[store] for store in function.stores(made.slot)] if isinstance(made, p.Load) else []
    given = {reg, *(one.value for one in bound if isinstance(one, p.Store))}
    given -= {transfer.register for transfer in function.transfers if transfer.kind == MOVE}
    return not any(isinstance(function.code[one], p.Call) for one in given)


def _of_target(
    function: FunctionFacts, region: int, slot: int, candidates: list[Reg], tensors: list[Reg]
) -> Reg | None:
    """Which of the iterables a target takes its values from, where that is one of the tensors."""
    for store in function.stores(slot):
        made = function.code[store]
        assert isinstance(made, p.Store)
        value = function.code[made.value]
        if isinstance(value, p.Next) and value.region == region:
            return tensors[0] if len(candidates) == 1 else None
        while isinstance(value, p.Unpack) and isinstance(function.code[value.value], p.Unpack):
            value = function.code[value.value]
        if not isinstance(value, p.Unpack) or not isinstance(function.code[value.value], p.Next):
            return None
        if len(candidates) == 1 and value.index == 1:  # enumerate
            return tensors[0]
        if len(candidates) > 1 and value.index < len(candidates) and candidates[value.index] in tensors:
            return candidates[value.index]
    return None


def _indexed(function: FunctionFacts, subject: Reg, region: int) -> Reg | None:
    """`x` of `x[i]`, where `i` counts the turns of the loop and the loop does not change `x`."""
    slots = set(function.function.regions[region].target_slots)
    for at in function.expression(subject):
        made = function.code[at]
        if not isinstance(made, p.Subscript):
            continue
        whole = function.values[made.object]
        if not (whole.is_a(TENSOR) and whole.places & ON_DEVICE) or not _counts(function, made.index, slots):
            continue
        named = path(function, made.object)
        inside = function.within(region)
        if named is not None and not Writes(function, inside).changed(named):
            return made.object
    return None


def _counts(function: FunctionFacts, index: Reg, slots: set[int]) -> bool:
    """True for an index of the host in which a target of the loop stands."""
    parts = ((r, function.code[r]) for r in function.expression(index))
    own = [r for r, made in parts if isinstance(made, p.Load) and made.slot in slots]
    return bool(own) and all(function.values[r].is_a(HOST_VALUE) for r in own)


RULE = Rule(
    code="TL107",
    name="element-loop-over-tensor",
    summary="a Python loop that reads a device tensor element by element",
    category="repeated",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


class Pool(torch.nn.Module):
    def forward(self, rows: torch.Tensor, lengths: torch.Tensor):
        total = rows.new_zeros(())
        for i in range(len(lengths)):
            n = lengths[i].item()  # expect: TL107
            total = total + rows[i, :n].sum()
        return total
""",
            good="""\
import torch


class Pool(torch.nn.Module):
    def forward(self, rows: torch.Tensor, lengths: torch.Tensor):
        steps = torch.arange(rows.size(1), device=rows.device)
        return (rows * (steps < lengths[:, None])).sum()
""",
        ),
        Example(
            bad="""\
import torch


class Names(torch.nn.Module):
    def forward(self, scores: torch.Tensor, names: list[str]):
        best = scores.argmax(1)
        return [names[int(label)] for label in best]  # expect: TL107
""",
            good="""\
import torch


class Names(torch.nn.Module):
    def forward(self, scores: torch.Tensor, names: list[str]):
        best = scores.argmax(1)
        return [names[label] for label in best.tolist()]
""",
        ),
    ),
    more_examples=beside_torch.examples("TL107"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "compute on the whole array (`jax.vmap`), or copy it once before the loop: `jax.device_get(x)`"),
        ("tensorflow", "compute on the whole tensor, or copy it once before the loop: `x.numpy()`"),
        ("cupy", "compute on the whole array, or copy it once before the loop: `x.get()`"),
    ),
    claims=claims,
    doubted=(("jax", 0.25),),
    doc=__doc__,
)
