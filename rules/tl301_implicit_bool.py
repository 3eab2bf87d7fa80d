"""Python asks for the truth of a device tensor.

What it does
------------
Reports `if t`, `while t`, `assert t`, `not t`, `t and u`, `bool(t)`, `torch.equal(t, u)` and `x in t` in hot code,
where `t` is a tensor on the device.

Why
---
The source shows no read, but Python needs a `bool`: the comparison's result is copied to the host, which waits for the
device.

Example
-------
    if torch.isnan(loss):
        continue

Use instead
-----------
    loss = torch.nan_to_num(loss)          # or torch.where, clamp, a mask
    torch._assert_async(torch.isfinite(loss))   # a check that does not wait

When it is fine
---------------
Behind an interval or a debug switch, on an error path, on host tensors. None of these is reported.

Fix safety
----------
No automatic fix: a branch-free form is another program.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.flow.transfers import TRUTH
from transferlint.model import Finding
from transferlint.rule import Example, Rule

from .detection import brief, clusters, hot, likely, others, sure


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Truth tests of device tensors in hot code."""
    found = ((f, t) for f, t in hot(facts, TRUTH) if likely(f, t, loops=False))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"the truth of `{brief(function.text(first.register))}` makes the host wait for the device"
            f" {function.warmth(first.register).level.words}",
            "compute without a branch (`torch.where`, `clamp`, a mask), or check behind an interval",
            (*function.why(first.before), *others(function, group)),
            sure(function, first, loops=False),
        )


RULE = Rule(
    code="TL301",
    name="implicit-bool",
    summary="`if t`, `while t`, `assert t`, `not t` on a device tensor",
    category="hidden-sync",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def guarded(loader, model, device):
    for x in loader:
        loss = torch.nn.functional.mse_loss(model(x.to(device)), x.to(device))
        if torch.isnan(loss):  # expect: TL301
            continue
        loss.backward()
""",
            good="""\
import torch


def guarded(loader, model, device):
    for x in loader:
        loss = torch.nn.functional.mse_loss(model(x.to(device)), x.to(device))
        torch.nan_to_num(loss).backward()
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
