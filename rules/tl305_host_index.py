"""A device tensor is indexed with host data.

What it does
------------
Reports `x[[2, 1, 0]]` and `x[index]` in hot code, read or written, where `x` is a tensor on the device and the index is
a Python list or a host tensor with at least one dimension.

Why
---
The index is converted to a tensor if necessary and copied to the device each time. This is an implicit upload from
pageable memory that blocks the host (aten/src/ATen/native/TensorAdvancedIndexing.cpp,
aten/src/ATen/native/IndexingUtils.h: indices move to the device of `self`).

Example
-------
    def forward(self, x, last):
        return x[torch.arange(x.size(0)), last]

Use instead
-----------
    def forward(self, x, last):
        return x[torch.arange(x.size(0), device=x.device), last]

A constant index can be a slice, a `flip`, a `stack` of its rows, or a buffer of the module.

When it is fine
---------------
None of these is reported: indexing once or every N steps, or with a number. `x[0]`, `x[i, :n]` and a 0-d host tensor
need no upload.

Fix safety
----------
An index that a torch function creates inside the brackets gets `device=x.device`:

- Safe if it has the same values there and `x` is proven to be a tensor.
- Otherwise only shown, also for an index that a torch function creates further up and that is used only as an index. A
  random index is drawn from another generator on the device.

Consecutive numbers in a list become a slice, other numbers a `torch.stack` of the rows. This is unsafe: a slice is a
view of `x` (cloned if the function writes to it), and the stack has another memory layout.

Only shown in a file that defines a data set, if nothing shows that the tensor is on the device, if the host reads the
result in the same expression, and if another index, or another tensor that the function creates, is still uploaded. An
index that comes from elsewhere has no automatic fix.

See also
--------
- TL304 for masks
- TL104 for lists that are uploaded explicitly
- https://docs.pytorch.org/docs/stable/tensors.html
- https://docs.pytorch.org/docs/stable/generated/torch.index_select.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import HOST_INDEX, MOVE, Transfer
from transferlint.flow.lattice.values import (
    ARRAY,
    BOOLEAN,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_VALUE,
    ON_DEVICE,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.model import Confidence, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import origin, user
from .examples import beside_torch
from .fixes import host_indices, remaining
from .questions import dimensions
from .questions.detection import brief, clusters, hot, only_shown, others, put_there, together


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Indices on the host, of tensors on the device, in hot code."""
    found = (pair for pair in hot(facts, HOST_INDEX) if _needs_upload(*pair))
    for function, group in clusters(found):
        first = group[0]
        base = function.values[host_indices.indexed(function, first).object]
        assert first.subject is not None
        yield function.finding(
            first.register,
            f"`{brief(function.outer_text(first.subject))}` is on the host and indexes a device tensor: it is uploaded"
            f" {function.warmth(first.register).level.each}",
            "create the index on the device once, or use a slice",
            (*function.why(base), *others(function, group)),
            _sure(function, first, base),
            _gains(function, group, together(function, group, [host_indices.index_fix(function, t) for t in group])),
        )


def _sure(function: FunctionFacts, transfer: Transfer, base: Value) -> Confidence:
    """Certain where the tensor is on the device for certain; a mask in which nothing is true uploads nothing."""
    masked = transfer.subject is not None and function.values[transfer.subject].flags & BOOLEAN
    return Confidence.CERTAIN if base.places == DEVICE and not masked else Confidence.LIKELY


def _gains(function: FunctionFacts, group: list[Transfer], fix: Fix | None) -> Fix | None:
    """The fix, only shown beside the code of a data set, whose tensors are on the host, where the function does not
    show that this one is on the device; where the host reads what is computed from it at once; and where the like
    stays."""
    of_data = any(info.data for info in function.file.placement.classes.values())
    if of_data and not all(put_there(function, host_indices.indexed(function, one).object) for one in group):
        return only_shown(fix)
    if any(remaining.asked_at_once(function, one.register) for one in group) or remaining.uploads_still(
        function, group
    ):
        return only_shown(fix)
    return only_shown(fix) if remaining.indices_still(function, group) else fix


def _needs_upload(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the tensor is on the device on every path that says something, and the index no number in disguise."""
    if transfer.inside is not None:
        return False  # told where it stands
    base = function.values[host_indices.indexed(function, transfer).object]
    if function.warmth(transfer.register).weak or base.places & HOST or not base.is_a(TENSOR | UNKNOWN):
        return False
    assert transfer.subject is not None
    following = user(function, transfer.register)
    if any(t.register == following and t.kind == MOVE and t.places & ON_DEVICE for t in function.transfers):
        return False  # `x[index].to(device)`: whoever writes that holds `x` on the host
    if _one_of(function, transfer.subject):
        return False
    if transfer.before.is_a(CONTAINER | ARRAY) or transfer.before.flags & BOOLEAN:
        return True
    return dimensions.dimensional(function, transfer.subject)


def _one_of(function: FunctionFacts, reg: Reg) -> bool:
    """True for one element of an array, `rows[i]`: a number, where the array is a row, which torch takes as one."""
    made = function.code[origin(function, reg)]
    if not isinstance(made, p.Subscript) or not function.values[made.object].is_a(ARRAY):
        return False
    return function.values[made.index].is_a(HOST_VALUE) and not isinstance(function.code[made.index], p.Slice)


RULE = Rule(
    code="TL305",
    name="host-index",
    summary="a device tensor indexed with a Python list or a host tensor",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda")
x = torch.ones(4, 3, device=device)
last = torch.zeros(4, dtype=torch.long, device=device)
for step in range(10):
    x = x + x[torch.arange(4), last].sum()  # expect: TL305
""",
            good="""\
import torch

device = torch.device("cuda")
x = torch.ones(4, 3, device=device)
last = torch.zeros(4, dtype=torch.long, device=device)
rows = torch.arange(4, device=device)
for step in range(10):
    x = x + x[rows, last].sum() + x[0].sum()
""",
            fixed="""\
import torch

device = torch.device("cuda")
x = torch.ones(4, 3, device=device)
last = torch.zeros(4, dtype=torch.long, device=device)
for step in range(10):
    x = x + x[torch.arange(4, device=x.device), last].sum()
""",
        ),
        Example(
            bad="""\
import torch


class Swap(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        return images[:, [2, 1, 0]] / 255  # expect: TL305
""",
            good="""\
import torch


class Swap(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        return images.flip(1) / 255
""",
        ),
    ),
    more_examples=beside_torch.examples("TL305"),
    detect=detect,
    waits=True,
    advice=(("cupy", "keep the index on the device: `cp.asarray(index)` once, before the loop"),),
    doubted=(("cupy", 0.25),),
    doc=__doc__,
)
