"""A device tensor is built from Python numbers or lists on every step.

What it does
------------
Reports `torch.tensor(values, device=d)`, `torch.as_tensor`, `x.new_tensor(values)` and `from_numpy(row).to(d)` on the
device, in code that runs for every step or element.

Why
---
The values are packed on the host and copied from pageable memory: the host waits for each of these small copies.

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
Uploading each batch once, building a constant before the loop, `torch.full((), v, device=d)`, which fills on the
device.

Fix safety
----------
A constant is rewritten to `torch.full`, `torch.zeros` or `torch.ones` of the same shape, on the device: same values.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import BUILD, MOVE, Transfer
from transferlint.model import Confidence, Edit, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .detection import brief, clusters, hot, others, together
from .round_trips import bounces, returns

_SAME_MEANING = frozenset({"device", "dtype", "requires_grad"})  # of torch.tensor and torch.full
_LONG = 2**63


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Small uploads in hot code that are not half of a round trip."""
    trips = {f.index: {r for t in f.transfers for r in bounces(f, t)} | set(returns(f)) for f in facts.functions}
    found = (
        (f, t)
        for f, t in hot(facts, BUILD, MOVE)
        if t.register not in trips[f.index] and (t.kind == BUILD or _row(f, t))
    )
    for function, group in clusters(found):
        first = group[0]
        warmth = function.warmth(first.register)
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` uploads host values {warmth.level.words}",
            "build it once before, in one upload, or fill it on the device (`torch.full`)",
            others(function, group),
            Confidence.POSSIBLE if warmth.unsure else Confidence.LIKELY,
            together([_fix(function, t) for t in group]),
        )


def _row(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `torch.from_numpy(row).to(device)` on every element of a loop."""
    if function.warmth(transfer.register).level < Level.PER_ELEMENT or transfer.subject is None:
        return False
    made = function.code[transfer.subject]
    return (
        isinstance(made, p.Call)
        and function.file.placement.names.dotted(function.function, made.function) == "torch.from_numpy"
    )


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.tensor(2.0, device=d)` to `torch.full((), 2.0, device=d)`: numbers alone, of a dtype that is the same."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or transfer.api != "torch.tensor" or len(made.args) != 1 or made.stars:
        return None
    content = function.code[made.args[0]]
    numbers: list[Reg] = [made.args[0]]
    shape = "()"
    if (
        isinstance(content, p.Sequence)
        and content.kind == "list"
        and not any(content.stars)
        and len(content.items) == 1
    ):
        numbers, shape = list(content.items), "(1,)"
    constant = function.code[numbers[0]]
    if not isinstance(constant, p.Const) or type(constant.value) not in (int, float, bool):
        return None
    if type(constant.value) is int and not -_LONG <= constant.value < _LONG:
        return None
    if not {key for key, _ in made.keywords} <= _SAME_MEANING:
        return None
    spans, nodes, text = function.file.spans, function.function.nodes, function.file.text
    (first, last), (start, end) = spans.outer(nodes[numbers[0]]), spans.outer(nodes[made.args[0]])
    value = text[first:last]
    callee = function.span(made.function)
    head = function.text(made.function)
    if not head.endswith(".tensor") or "#" in text[start:end]:
        return None
    edits = (Edit(callee[0], callee[1], head[: -len("tensor")] + "full"), Edit(start, end, f"{shape}, {value}"))
    return Fix("fill it on the device", Safety.SAFE, edits)


RULE = Rule(
    code="TL104",
    name="upload-in-hot-code",
    summary="a device tensor built from host numbers or lists, for every step or element",
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
    detect=detect,
    doc=__doc__,
)
