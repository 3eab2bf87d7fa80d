"""Several device values are read one at a time, where one read would do.

What it does
------------
Reports three or more scalar reads (`.item()`, `float(t)`, `int(t)`) of different tensors next to each other in hot
code, and a comprehension or loop that reads every tensor of a list or dictionary. All reads are reported as one
finding.

Why
---
Each read is a separate copy with its own sync. If the values are stacked on the device, one copy and one sync bring all
of them to the host.

Example
-------
    logs = {"loss": loss.item(), "accuracy": accuracy.item(), "norm": norm.item()}

Use instead
-----------
    names = ("loss", "accuracy", "norm")
    logs = dict(zip(names, torch.stack([loss, accuracy, norm]).tolist()))

or keep them on the device and read them together when logging.

When it is fine
---------------
Reads every N steps, once per epoch, or of host tensors. None of these is reported, nor are only two reads of two
tensors.

Fix safety
----------
Only shown: `torch.stack` needs tensors of the same shape on the same device and gives all numbers the same dtype, so
integers among floats become floats (large ones lose digits). The new variables also need better names.

See also
--------
- TL101 for a single read
- TL107 for a loop over the elements
- https://docs.pytorch.org/docs/stable/generated/torch.stack.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.tolist.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import NUMBER, SCALAR_READ, Transfer
from transferlint.flow.lattice.values import CONTAINER, ON_DEVICE, SCALAR, TENSOR
from transferlint.model import Finding, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, method, receiver
from .examples import beside_torch
from .fixes import same_tensor, stacking
from .questions.alike import tensor_of
from .questions.detection import apart, brief, clusters, each_of, likely, others, sure
from .questions.round_trips import told

_SEVERAL = 3


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Groups of reads, at the first of each."""
    for function in facts.functions:
        groups = list(_groups(function))
        for group in groups:
            first = group[0]
            many = len(group) if len(group) > 1 else "all"
            what = "values" if len(group) > 1 else f"values of `{brief(_gone_over(function, first), 32)}`"
            yield function.finding(
                first.register,
                f"`{brief(function.text(first.register))}`: {many} {what} are read one at a time, each with a sync,"
                f" {function.warmth(first.register).level.each}",
                "read them in one copy (`torch.stack([...]).tolist()`), or keep them on the device",
                (*function.why(first.before), *others(function, group)),
                sure(function, first),
                stacking.stack(function, group),
            )
        for group in _of_one(function, groups):
            yield from _told_once(function, group)


def _once(tensor: str, transfer: Transfer) -> str:
    """What helps: a number is read, anything else copied."""
    if transfer.before.flags & SCALAR:
        return f"read it once (`value = {tensor}.item()`) and use that number"
    return f"copy what is needed to the host once (`{tensor}.tolist()` if it is small) and use that copy"


def _told_once(function: FunctionFacts, group: list[Transfer]) -> Iterator[Finding]:
    """Reads of one tensor in several ways, as one; those that are suppressed or in the baseline apart."""
    for part in apart(function, group):
        first = part[0]
        tensor = tensor_of(function, first)
        yield function.finding(
            first.register,
            f"`{tensor}` is read in {len(group)} places, each with a sync,"
            f" {function.warmth(first.register).level.each}",
            _once(tensor, first),
            (*function.why(first.before), *others(function, part)),
            sure(function, first),
        )


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The reads that are reported here, and those of the same values among them."""
    groups = list(_groups(function))
    for group in (*groups, *_of_one(function, groups)):
        yield from (transfer.register for transfer in group)


def _of_one(function: FunctionFacts, groups: list[list[Transfer]]) -> list[list[Transfer]]:
    """Reads of one tensor in several ways, none of which stands among several tensors' reads, the `groups`."""
    taken = {transfer.register for group in groups for transfer in group}
    several = same_tensor.in_several_ways(function, "TL106")
    return [group for group in several if not taken.intersection(transfer.register for transfer in group)]


def _groups(function: FunctionFacts) -> Iterator[list[Transfer]]:
    """Reads that one copy can replace: of different tensors, in the same region, none of which rests on another."""
    regions: dict[int, list[Transfer]] = {}
    for transfer in each_of(function, SCALAR_READ, NUMBER):
        if not function.warmth(transfer.register).hot:
            continue
        if not _scalar(function, transfer) or not likely(function, transfer):
            continue
        if function.claimed(transfer.register, above="TL106") or told(function, transfer):
            continue
        if _of_collection(function, transfer):
            yield [transfer]
        else:
            regions.setdefault(function.region(transfer.register), []).append(transfer)
    for found in regions.values():
        for _, group in clusters((function, transfer) for transfer in found):
            if len({_normal(function.text(t.subject)) for t in group if t.subject is not None}) < _SEVERAL:
                continue
            if not _rests_on(function, group):
                yield group


def _scalar(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `.item()`, `float(t)` and `int(t)` of what is a tensor."""
    if transfer.subject is None or not function.has_text(transfer.subject):
        return False
    reg = transfer.register
    return transfer.before.is_a(TENSOR) and (
        method(function, reg) == "item" or called(function, reg) in stacking.NUMBERS
    )


def _rests_on(function: FunctionFacts, group: list[Transfer]) -> bool:
    """True where what is read last was computed with what was read first."""
    regs = {t.register for t in group}
    return any(t.before.reads & regs for t in group)


def _normal(text: str) -> str:
    return re.sub(r"\s", "", text.replace(".detach()", ""))


def _of_collection(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the read of an element of a list or dictionary in a loop over it."""
    return bool(_gone_over(function, transfer))


def _gone_over(function: FunctionFacts, transfer: Transfer) -> str:
    """The text of the list or dictionary of device tensors over which a loop goes that reads each; "" for others."""
    loops = function.loops(transfer.register)
    if not loops or transfer.subject is None:
        return ""
    loop = function.function.regions[loops[0]]
    if loop.kind == "while" or loop.test is None or not function.has_text(loop.test):
        return ""
    subject = transfer.subject
    while method(function, subject) in ("detach", "mean", "sum") and (of := receiver(function, subject)) is not None:
        subject = of
    element = function.code[subject]
    if not isinstance(element, p.Load) or element.slot not in loop.target_slots:
        return ""
    over = function.values[loop.test]
    item = over.item
    if item is not None and item.is_a(CONTAINER) and item.items is not None and len(item.items) == 2:
        item = item.items[1]
    if not over.is_a(CONTAINER) or item is None or not item.is_a(TENSOR) or not item.places & ON_DEVICE:
        return ""
    return function.text(loop.test)


RULE = Rule(
    code="TL106",
    name="scattered-reads",
    summary="several device values are read one at a time, where one read would do",
    category="repeated",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def train(model, loader, criterion, device, logger):
    for inputs, labels in loader:
        scores = model(inputs.to(device))
        labels = labels.to(device)
        loss = criterion(scores, labels)
        accuracy = (scores.argmax(1) == labels).float().mean()
        loss.backward()
        logger.log({"loss": loss.item(), "accuracy": accuracy.item(), "scale": scores.norm().item()})  # expect: TL106
""",
            good="""\
import torch


def train(model, loader, criterion, device, logger):
    names = ("loss", "accuracy", "scale")
    for inputs, labels in loader:
        scores = model(inputs.to(device))
        labels = labels.to(device)
        loss = criterion(scores, labels)
        accuracy = (scores.argmax(1) == labels).float().mean()
        loss.backward()
        logger.log(dict(zip(names, torch.stack([loss, accuracy, scores.norm()]).tolist())))
""",
        ),
        Example(
            bad="""\
import torch


class Heads(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        losses = [head(x).mean() for head in self.heads]
        self.last = [loss.item() for loss in losses]  # expect: TL106
        return sum(losses)
""",
            good="""\
import torch


class Heads(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        losses = torch.stack([head(x).mean() for head in self.heads])
        self.last = losses.tolist()
        return losses.sum()
""",
        ),
    ),
    more_examples=beside_torch.examples("TL106"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "read them in one copy: `a, b = jax.device_get((a, b))`"),
        ("tensorflow", "read them in one copy: `tf.stack([a, b]).numpy()`"),
        ("cupy", "read them in one copy: `cp.stack([a, b]).get()`"),
    ),
    claims=claims,
    doc=__doc__,
)
