"""A device value is read as a Python number on every step.

What it does
------------
Reports `.item()` and `.tolist()` on a tensor that is on the device, in code that runs for every step or element.

Why
---
The read copies the value to the host and waits until the device has finished everything queued before it. Until then no
new work is queued, so the device runs dry once a step.

Example
-------
    total += loss.item()

Use instead
-----------
    total += loss.detach()   # and total.item() once, after the loop

When it is fine
---------------
Behind an interval (`if step % 100 == 0:`), once an epoch, on the last line before leaving the loop, or one bulk
`.tolist()` before a loop over its elements. None of these is reported.

Fix safety
----------
No automatic fix: an accumulator that stays on the device changes the type of what later code reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.flow.transfers import SCALAR_READ
from transferlint.model import Finding
from transferlint.rule import Example, Rule

from .detection import brief, clusters, hot, likely, others, sure
from .round_trips import explained


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Scalar reads in hot code that no round-trip rule explains better."""
    found = ((f, t) for f, t in hot(facts, SCALAR_READ) if likely(f, t) and not explained(f, t))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` makes the host wait for the device"
            f" {function.warmth(first.register).level.words}",
            "keep the value on the device (`.detach()`) and read it once, after the loop or at log time",
            (*function.why(first.before), *others(function, group)),
            sure(function, first),
        )


RULE = Rule(
    code="TL101",
    name="scalar-read-in-hot-code",
    summary="`.item()` or `.tolist()` on a device value, for every step or element",
    category="repeated",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def train(model, loader, optimizer, device):
    total = 0.0
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()  # expect: TL101
    return total
""",
            good="""\
import torch


def train(model, loader, optimizer, device):
    total = torch.zeros((), device=device)
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
