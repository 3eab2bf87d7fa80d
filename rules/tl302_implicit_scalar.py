"""A device tensor is implicitly converted to a Python number.

What it does
------------
Reports `float(t)`, `int(t)`, `range(t)`, `x[:t]`, `[v] * t`, `xs[t]` on lists, `math.f(t)`, `max(tensors)`, and sizes
given by `t`, in hot code, where `t` is a tensor on the device.

Why
---
Each of these calls `__float__`, `__int__` or `__index__`, which copies the value to the host and waits for the device.

Example
-------
    for i, length in enumerate(lengths):
        x[i, length:] = 0

Use instead
-----------
    x = x.masked_fill(torch.arange(x.size(1), device=x.device) >= lengths[:, None], 0)

When it is fine
---------------
Every N steps, on an error path, or on a host copy that was made once (`lengths = lengths.tolist()` before the loop).

Fix safety
----------
Only shown, because too few of these edits were worth taking:

- The largest of several tensors is computed on the device (`torch.stack([...]).max()` for `max(...)`). NaN is then the
  largest value, and an empty list, or tensors of different shapes or devices, raise a different error.
- `max(t, 0)` becomes `torch.clamp(t, min=0)`. The result is always a tensor, while `max` returns the number if that is
  larger.
- `total += float(t)` and `values.append(float(t))` stay on the device, as for `.item()` (TL101).
- A tensor whose elements a loop reads is copied once before the loop.
- `t.detach()` replaces `float(t)` if a tensor works as well as the number.
- The slice is removed (`x[:, : lengths.max()]` becomes `x`), if the padding does no harm because the lengths or a mask
  mark what is valid.

See also
--------
- TL301 for conditions
- TL107 for a loop over the elements
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import NUMBER, SELECTED, SORTED, Transfer
from transferlint.model import Confidence, Finding, Safety
from transferlint.rule import Example, Rule

from .examples import beside_torch
from .fixes import extremes, leaving
from .questions import read_purposes
from .questions.detection import brief, clusters, hot, likely, only_shown, others, sure, together
from .questions.round_trips import explained

_HELP = "keep the arithmetic on the device, or read all values in one copy first"
_SELECT = "use `index_select(0, t.reshape(1))`: a 1-d index stays on the device"


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Numbers taken from device tensors in hot code."""
    found = ((f, t) for f, t in hot(facts, NUMBER) if likely(f, t) and not explained(f, t))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            _message(function, first),
            _SELECT if first.api.startswith(SELECTED) else _HELP,
            (*function.why(first.before), *others(function, group)),
            _sure(function, first),
            only_shown(
                together(function, group, [extremes.extreme(function, t) for t in group])
                or leaving.offered(function, group)
            ),
        )


def _message(function: FunctionFacts, transfer: Transfer) -> str:
    text, api = brief(function.text(transfer.register)), transfer.api
    often = function.warmth(transfer.register).level.each
    if transfer.inside is None and transfer.subject == transfer.register:
        return f"`{text}` is used as a Python number ({api}): the host waits for the GPU {often}"
    if api == SORTED:
        return f"`{text}` compares device tensors on the host, and waits for the GPU for each pair, {often}"
    return f"`{text}` converts a device tensor to a Python number ({api}) and waits for the GPU {often}"


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """As for every read; of a framework beside torch only what is put aside in that turn: what else takes a number may
    have to have one."""
    if function.framework(transfer.register) and not read_purposes.put_aside(function, transfer.register):
        return Confidence.POSSIBLE
    return sure(function, transfer)


RULE = Rule(
    code="TL302",
    name="implicit-scalar",
    summary="`float(t)`, `int(t)`, `range(t)`, `x[:t]` and the like on a device tensor",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.DISPLAY,
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
        Example(
            bad="""\
import torch


class Norms(torch.nn.Module):
    def forward(self, grads: list[torch.Tensor]):
        return max(g.abs().max() for g in grads)  # expect: TL302
""",
            good="""\
import torch


class Norms(torch.nn.Module):
    def forward(self, grads: list[torch.Tensor]):
        return torch.stack([g.abs().max() for g in grads]).max()
""",
        ),
    ),
    more_examples=beside_torch.examples("TL302"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "keep the arithmetic on the device, or read all values in one copy after the loop (`jax.device_get`)"),
        ("tensorflow", "keep the arithmetic on the device, or read all values in one copy after the loop"),
        ("cupy", "keep the arithmetic on the device, or read all values in one copy after the loop"),
    ),
    doc=__doc__,
)
