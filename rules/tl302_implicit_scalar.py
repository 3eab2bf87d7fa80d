"""Python asks a device tensor for a number.

What it does
------------
Reports `float(t)`, `int(t)`, `range(t)`, `x[:t]`, `[v] * t`, `xs[t]` on lists, `math.f(t)`, `max(tensors)`, and sizes
taken from `t`, in hot code, where `t` is a tensor on the device.

Why
---
Each of them calls `__float__`, `__int__` or `__index__`, which copies the value to the host and waits for the device.

Example
-------
    for i, length in enumerate(lengths):
        x[i, length:] = 0

Use instead
-----------
    x = x.masked_fill(torch.arange(x.size(1), device=x.device) >= lengths[:, None], 0)

When it is fine
---------------
Behind an interval, on an error path, or on a host copy that was made once (`lengths = lengths.tolist()` before the
loop).

Fix safety
----------
No automatic fix.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.flow.transfers import NUMBER
from transferlint.model import Finding
from transferlint.rule import Example, Rule

from .detection import brief, clusters, hot, likely, others, sure
from .round_trips import explained


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Numbers taken from device tensors in hot code."""
    found = ((f, t) for f, t in hot(facts, NUMBER) if likely(f, t) and not explained(f, t))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` takes a number from a device tensor ({first.api}): the host"
            f" waits {function.warmth(first.register).level.words}",
            "keep the arithmetic on the device, or read all values at once before",
            (*function.why(first.before), *others(function, group)),
            sure(function, first),
        )


RULE = Rule(
    code="TL302",
    name="implicit-scalar",
    summary="`float(t)`, `int(t)`, `range(t)`, `x[:t]` and the like on a device tensor",
    category="hidden-sync",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


class Cut(torch.nn.Module):
    def forward(self, x: torch.Tensor, lengths: torch.Tensor):
        for i in range(x.size(0)):
            n = int(lengths[i])  # expect: TL302
            x[i, n:] = 0
        return x
""",
            good="""\
import torch


class Cut(torch.nn.Module):
    def forward(self, x: torch.Tensor, lengths: torch.Tensor):
        steps = torch.arange(x.size(1), device=x.device)
        return x.masked_fill(steps >= lengths[:, None], 0)
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
