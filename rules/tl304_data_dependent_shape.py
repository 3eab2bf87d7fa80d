"""The size of a result depends on device data.

What it does
------------
Reports `nonzero`, one-argument `torch.where`, `x[mask]` with a boolean mask (read, or assigned a tensor),
`masked_select`, `unique`, `bincount`, `repeat_interleave` without `output_size` and `one_hot` without `num_classes`, on
device tensors in hot code.

Why
---
The host has to know the size to allocate the result, so it waits until the device has counted.

Example
-------
    loss = losses[mask].mean()

Use instead
-----------
    loss = (losses * mask).sum() / mask.sum().clamp(min=1)

When it is fine
---------------
If the result is much smaller than its source and everything after it becomes cheaper; then it is worth the sync.

Fix safety
----------
Only shown, not applied:

- `x[mask].mean()` becomes a masked sum divided by a count, which adds in a different order.
- `x[mask] = t` becomes `masked_fill_`.
- Elements that the host reads come from one copy made before the loop.
- `torch.where` replaces `x[mask] += t`, which binds a new tensor, and `x[mask] = y[mask]`.
- Masks that may not have the shape of the tensor they select from.

See also
--------
- TL301 for a check whether a mask is empty
- https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html
- https://docs.pytorch.org/docs/stable/generated/torch.where.html
- https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import SHAPE, Transfer
from transferlint.flow.lattice.values import TENSOR
from transferlint.knowledge.catalogue import rows
from transferlint.model import Confidence, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p

from .code.chains import called, method
from .examples import beside_torch
from .fixes import fixed_size, reading_ahead, selecting
from .questions import read_purposes
from .questions.detection import brief, clusters, hot, likely, others, sure, together

# What tells the size of a result (docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html, one_hot).
_SIZED: Mapping[str, tuple[str, ...]] = types.MappingProxyType(
    {"repeat_interleave": ("output_size",), "one_hot": ("num_classes",)}
)
_OTHERWISE: Mapping[str, str] = types.MappingProxyType(
    {
        "bincount": "count into a tensor of known size: `torch.zeros(n).scatter_add_(0, x, ones)`",
        "unique": "compute it once if the data does not change, or on the host before the upload",
        "unique_consecutive": "compute it once if the data does not change, or on the host before the upload",
    }
)


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Results whose size the device decides, in hot code."""
    found = ((f, t) for f, t in hot(facts, SHAPE) if t.before.is_a(TENSOR) and likely(f, t, loops=_by_rows(f, t)))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"the size of `{brief(function.text(first.register))}` depends on device data ({first.api}): the host waits"
            f" for the GPU {function.warmth(first.register).level.each}",
            _instead(function, first),
            (*function.why(first.before), *others(function, group)),
            _sure(function, first),
            together(function, group, [_fix(function, t) for t in group]),
        )


def _instead(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps: the argument that tells the size, where the function has one, else a form of fixed size."""
    made = function.code[transfer.register]
    name = method(function, transfer.register) or called(function, transfer.register)
    last = name.rpartition(".")[2]
    if transfer.inside is not None or not isinstance(made, p.Call) or not name:
        return "use a fixed-size form: `torch.where`, `masked_fill`, a weighted sum"
    row = rows().get(name)
    told = _SIZED.get(last) or (row.unless if row is not None else ())
    if told:
        return f"pass {' and '.join(f'`{one}=`' for one in told)} if known"
    return _OTHERWISE.get(last, "use a fixed-size form: `torch.where`, `masked_fill`, a weighted sum")


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """As for every wait; of a framework beside torch only where a mask of fixed size surely serves as well: where
    nothing is done with the selection but to count it or to reduce it."""
    if function.framework(transfer.register) and not read_purposes.counted(function, transfer.register):
        return Confidence.POSSIBLE
    return sure(function, transfer, loops=_by_rows(function, transfer))


def _by_rows(function: FunctionFacts, transfer: Transfer) -> bool:
    """True in a loop over the elements of a device tensor: it waits for each, however often the function is called."""
    for index in function.loops(transfer.register)[:1]:
        test = function.function.regions[index].test
        over = function.values[test] if test is not None else None
        return over is not None and over.is_a(TENSOR) and over.on_device
    return False


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    return (
        fixed_size.of_fixed_size(function, transfer)
        or selecting.selected(function, transfer)
        or reading_ahead.ahead(function, transfer)
    )


RULE = Rule(
    code="TL304",
    name="data-dependent-shape",
    summary="`nonzero`, `x[mask]`, `unique`, `repeat_interleave` without `output_size`, on device data",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


class Masked(torch.nn.Module):
    def forward(self, losses: torch.Tensor, lengths: torch.Tensor):
        mask = losses > 0
        return losses[mask].mean()  # expect: TL304
""",
            good="""\
import torch


class Masked(torch.nn.Module):
    def forward(self, losses: torch.Tensor, lengths: torch.Tensor):
        mask = losses > 0
        return (losses * mask).sum() / mask.sum().clamp(min=1)
""",
        ),
    ),
    more_examples=beside_torch.examples("TL304"),
    detect=detect,
    waits=True,
    advice=(
        (
            "jax",
            "pass `size=`, or use the three-argument `jnp.where`: a data-dependent shape has to be read first",
        ),
        (
            "cupy",
            "use the three-argument `cp.where`, or weights: a data-dependent shape has to be read first",
        ),
    ),
    doc=__doc__,
)
