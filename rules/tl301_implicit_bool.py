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
Unsafe: an assertion, or an `if` that does nothing but raise, becomes `torch._assert_async`. Its error comes later, as
one of the device (a `RuntimeError`) and not as the exception that was raised, and it leaves the device unusable; the
shapes that `torch.equal` compares have to be the same. `if mask.any(): x[mask] = v` loses its branch: the assignment
then always happens, to nothing where the mask is empty, and what it computes is computed every time. Only shown:
`torch.where` in place of a branch (both sides are computed, errors and random numbers included), a check on every 16th
turn (up to 15 turns more), and checks whose message is computed, which they lose.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.flow.transfers import TRUTH
from transferlint.model import Finding, Safety
from transferlint.rule import Example, Rule

from .branchless import without_waiting
from .detection import brief, clusters, hot, likely, others, sure, together


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Truth tests of device tensors in hot code."""
    found = ((f, t) for f, t in hot(facts, TRUTH) if likely(f, t, loops=False) and not f.claimed(t.register))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"the truth of `{brief(function.text(first.register))}` makes the host wait for the device"
            f" {function.warmth(first.register).level.words}",
            "compute without a branch (`torch.where`, `clamp`, a mask), or check behind an interval",
            (*function.why(first.before), *others(function, group)),
            sure(function, first, loops=False),
            together([without_waiting(function, t) for t in group]),
        )


RULE = Rule(
    code="TL301",
    name="implicit-bool",
    summary="`if t`, `while t`, `assert t`, `not t` on a device tensor",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.UNSAFE,
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
        Example(
            bad="""\
import torch


class Checked(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        assert torch.isfinite(x).all(), "x overflows"  # expect: TL301
        return x.exp()
""",
            good="""\
import torch


class Checked(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        torch._assert_async(torch.isfinite(x).all(), "x overflows")
        return x.exp()
""",
            fixed="""\
import torch


class Checked(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        torch._assert_async(torch.isfinite(x).all(), "x overflows")
        return x.exp()
""",
            unsafe=True,
        ),
    ),
    detect=detect,
    doc=__doc__,
)
