"""Device data is copied to the host and back.

What it does
------------
Reports uploads of data that was copied from the device to the host before, or that the host computed from such data, in
hot code: through numpy, through a list, through a scalar (`torch.tensor(x.item(), device=d)`), or through a cast to a
CPU tensor type (`mask.type(torch.FloatTensor).to(d)`).

Why
---
The copy to the host waits for the device, the host computes what the device could compute, and the upload blocks again.

Example
-------
    order = np.argsort(scores.cpu().numpy())
    order = torch.from_numpy(order).to(scores.device)

Use instead
-----------
    order = torch.argsort(scores)

When it is fine
---------------
If the host has to do the work (a library without a GPU version) and it happens rarely.

Fix safety
----------
Safe for `torch.tensor(x.item(), device=x.device)` if `x` is known to be 0-d and the dtype is kept (`dtype=x.dtype`, or
a boolean): it becomes `x.detach().clone()`.

Unsafe for other simple detours:

- the dtype may differ (a Python number gets torch's default dtype), as may the shape of an empty list and which tensors
  share memory
- a numpy function is replaced by the torch function of the same name, which may differ in the order of equal elements,
  in dtypes and in rounding
- `x.float()` for `x.type(torch.FloatTensor)` shares the memory of a tensor that already has that dtype

A sum or list that is read once after the loop, and one copy before the loop, are handled as for TL101.

Only shown, not applied: edits where a tensor works as well as the host value; `torch.stack(values)` for
`torch.tensor(values)` with a list of 0-d tensors; and `from_dlpack` for a torch tensor that another framework takes.

See also
--------
- TL202 for the opposite round trip, from the host
- TL203 for a decision in between
- TL102 for the copy alone
- https://docs.pytorch.org/docs/stable/tensors.html#data-types
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
- https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import NUMBER, SCALAR_READ, Transfer
from transferlint.flow.lattice.values import framework_of
from transferlint.knowledge.framework import Framework
from transferlint.model import Evidence, Finding, Fix, Part, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax.program import Reg

from .examples import beside_torch
from .fixes import detours, dlpack, leaving
from .questions.detection import brief, clusters, others, sure, together
from .questions.round_trips import READS, bounces, came_back, returns, trips


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Round trips, at the download."""
    for function, group in clusters(((f, t) for f in facts.functions for t in trips(f)), _of_one_upload):
        first = group[0]
        back = came_back(function)[first.register]
        what = "reads a value" if first.kind in (SCALAR_READ, NUMBER) else "copies data to the host"
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` {what} that is uploaded again at line"
            f" {function.site(back).line}",
            _instead(function, first, back),
            (
                *function.why(first.before),
                Evidence(function.site(back), "back on the device here", part=Part.RETURN),
                *others(function, group),
                *_read_again(function, group),
            ),
            sure(function, first),
            _fix(function, group, back),
        )


def _fix(function: FunctionFacts, group: list[Transfer], back: Reg) -> Fix | None:
    other = _other(function, group[0], back)
    if other is not None:
        return dlpack.shared(function, back, other)
    return together(function, group, [detours.detour(function, t) for t in group]) or leaving.shown(
        leaving.offered(function, group)
    )


def _instead(function: FunctionFacts, down: Transfer, up: Reg) -> str:
    other = _other(function, down, up)
    if other is None and down.api.startswith(".type("):
        return "use a cast that keeps the device, such as `.float()`: this type is a CPU tensor type"
    if other is None:
        return "keep the computation on the device"
    return f"share the memory without a copy: {other.title} takes a tensor through DLPack (`{other.from_dlpack}`)"


def _other(function: FunctionFacts, down: Transfer, up: Reg) -> Framework | None:
    """The framework that data goes to, where it comes from another."""
    came, went = framework_of(down.before.flags), framework_of(function.values[up].flags)
    return went if went is not came else None


def _of_one_upload(function: FunctionFacts, transfer: Transfer) -> str:
    return str(came_back(function)[transfer.register])


def _read_again(function: FunctionFacts, group: list[Transfer]) -> Iterator[Evidence]:
    """Where what went back is brought to the host a second time."""
    downs = {transfer.register for transfer in group}
    ups = {up for up, brought in returns(function).items() if downs.intersection(brought)}
    for transfer in function.transfers:
        if transfer.kind not in READS or not function.has_text(transfer.register) or transfer.register in downs:
            continue
        if ups.intersection(bounces(function, transfer)):
            yield Evidence(function.site(transfer.register), "read again here", part=Part.TRANSFER)


RULE = Rule(
    code="TL201",
    name="device-host-device",
    summary="device data is copied to the host and back, directly or after a host computation",
    category="round-trip",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import numpy as np
import torch


class Sorter(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        order = np.argsort(scores.detach().cpu().numpy())  # expect: TL201
        return torch.from_numpy(order).to(scores.device)
""",
            good="""\
import torch


class Sorter(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        return torch.argsort(scores)
""",
            fixed="""\
import numpy as np
import torch


class Sorter(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        order = torch.argsort(scores.detach())
        return order
""",
            unsafe=True,
        ),
        Example(
            bad="""\
import torch


def lowered(x: torch.Tensor, steps: int):
    x = x.cuda()
    for _ in range(steps):
        top = x.max()
        start = torch.tensor(top.item(), dtype=top.dtype, device=top.device)  # expect: TL201
        x = x - start
    return x


out = lowered(torch.arange(6.0), 3)
""",
            good="""\
import torch


def lowered(x: torch.Tensor, steps: int):
    x = x.cuda()
    for _ in range(steps):
        top = x.max()
        start = top.detach().clone()
        x = x - start
    return x


out = lowered(torch.arange(6.0), 3)
""",
            fixed="""\
import torch


def lowered(x: torch.Tensor, steps: int):
    x = x.cuda()
    for _ in range(steps):
        top = x.max()
        start = top.detach().clone()
        x = x - start
    return x


out = lowered(torch.arange(6.0), 3)
""",
        ),
    ),
    more_examples=beside_torch.examples("TL201"),
    detect=detect,
    waits=True,
    advice=(
        (
            "jax",
            "keep the computation on the device with `jax.numpy`; take another framework's array through `jax.dlpack`",
        ),
        (
            "tensorflow",
            "keep the computation on the device; take another framework's tensor through `tf.experimental.dlpack`",
        ),
        (
            "cupy",
            "keep the computation on the device with `cupy`; take another framework's array through `cp.from_dlpack`",
        ),
    ),
    doc=__doc__,
)
