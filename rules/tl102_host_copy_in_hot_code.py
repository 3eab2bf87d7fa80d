"""A device tensor is copied to the host on every step.

What it does
------------
Reports `.cpu()`, `.to("cpu")` and `.numpy()` after them on device tensors, in code that runs for every step or element.

Why
---
Each copy waits until the device has finished all queued work, then moves the data over the bus; many small copies cost
many waits where one copy would do.

Example
-------
    for inputs, labels in loader:
        scores.append(model(inputs.to(device)).cpu())

Use instead
-----------
    for inputs, labels in loader:
        scores.append(model(inputs.to(device)))
    scores = torch.cat(scores).cpu()

When it is fine
---------------
Where the results of an evaluation do not fit on the device, behind an interval, in saving code, or once after the loop.

Fix safety
----------
No automatic fix: collecting on the device takes device memory, which a person has to judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import DOWNLOAD, Transfer
from transferlint.flow.values import MODULE, TENSOR
from transferlint.model import Confidence, Finding
from transferlint.rule import Example, Rule

from .detection import brief, clusters, hot, others, sure
from .round_trips import explained


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Downloads in hot code that no round-trip rule explains better."""
    found = (
        (f, t)
        for f, t in hot(facts, DOWNLOAD)
        if not (t.before.kinds & MODULE and not t.before.kinds & TENSOR) and _sure(f, t) and not explained(f, t)
    )
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` copies to the host and waits for the device"
            f" {function.warmth(first.register).level.words}",
            "collect on the device and copy once after the loop",
            (*function.why(first.before), *others(function, group)),
            _sure(function, first),
        )


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """As for every read; but who writes `.cpu()` believes that it may be elsewhere."""
    confidence = sure(function, transfer)
    if confidence is Confidence.POSSIBLE and transfer.api in (".cpu()", ".to(cpu)"):
        return Confidence.POSSIBLE if function.warmth(transfer.register).weak else Confidence.LIKELY
    return confidence


RULE = Rule(
    code="TL102",
    name="host-copy-in-hot-code",
    summary="`.cpu()`, `.to('cpu')` or `.numpy()` of a device tensor, for every step or element",
    category="repeated",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def predict(model, loader, device):
    scores = []
    for inputs in loader:
        top = model(inputs.to(device)).argmax(1)
        scores.append(top.cpu().numpy())  # expect: TL102
    return scores
""",
            good="""\
import torch


def predict(model, loader, device):
    scores = []
    for inputs in loader:
        scores.append(model(inputs.to(device)).argmax(1))
    return torch.cat(scores).cpu().numpy()
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
