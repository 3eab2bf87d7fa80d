"""The host reads a device value to decide what the device does next.

What it does
------------
Reports, in hot code, a branch or loop condition that rests on an explicit read of a device value (`.item()`, `.cpu()`,
`.tolist()`, `float(t)`) and whose body computes on the device.

Why
---
The device finishes, the host reads, decides, and only then queues the work: the device idles for the whole round trip.

Example
-------
    if check(weights.cpu()) == 0:
        weights += 1

Use instead
-----------
    weights += (check_on_device(weights) == 0).to(weights.dtype)     # or torch.where

When it is fine
---------------
Behind an interval, for a decision once an epoch (early stopping), on an error path.

Fix safety
----------
No automatic fix: a branch-free form is another program.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.model import Evidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p

from .detection import brief, sure
from .round_trips import decisions


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Conditions on explicit reads that steer device work; at the read where it stands in the condition."""
    for function in facts.functions:
        if function.role.skip:
            continue
        by_register = {t.register: t for t in function.transfers}
        for test, read in decisions(function).items():
            made = function.code[test]
            assert isinstance(made, p.Test)
            if not function.has_text(read) or not function.has_text(test):
                continue
            evidence = function.why(by_register[read].before)
            if read not in set(function.expression(made.value)):
                evidence = (*evidence, Evidence(function.site(read), "read back here"))
            yield function.finding(
                test,
                f"`{brief(function.text(test))}` waits for the device to decide what it does next"
                f" {function.warmth(test).level.words}",
                "decide on the device: `torch.where`, a mask, `clamp`, or a check that is deferred",
                evidence,
                sure(function, by_register[read]),
            )


RULE = Rule(
    code="TL203",
    name="host-decision",
    summary="a host branch, taken from a device value, steers device work",
    category="round-trip",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def cpu_only_func(x):
    return int(x.numpy().sum())


model = torch.nn.Linear(4, 4).cuda()
x = torch.ones(4).cuda()
weights = torch.zeros(4, device="cuda")
for step in range(1000):
    grads = model(x)
    weights += grads
    if cpu_only_func(weights.cpu()) == 0:  # expect: TL203
        weights += 1
""",
            good="""\
import torch

model = torch.nn.Linear(4, 4).cuda()
x = torch.ones(4).cuda()
weights = torch.zeros(4, device="cuda")
for step in range(1000):
    grads = model(x)
    weights += grads
    weights += (weights.sum() == 0).to(weights.dtype)
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
