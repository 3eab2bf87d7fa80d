"""`non_blocking=True` from memory that is not pinned: the host still does the copy.

What it does
------------
Reports uploads with `non_blocking=True` in hot code of batches of a `DataLoader` with workers and without `pin_memory`.

Why
---
The device can only fetch data by itself from pinned memory. From pageable memory, the driver first copies the data into
its own buffer, and the host does that copy (docs.pytorch.org "A guide on good usage of non_blocking and pin_memory()").
On an H200, an upload of 1 MiB keeps the host for 65 µs so, and for 6 µs from pinned memory; one of 4 MiB also waits
until the device has done everything that was queued before it (benchmarks/results/costs.md).

Example
-------
    loader = DataLoader(data, batch_size=32, num_workers=4)
    for x, y in loader:
        x = x.to(device, non_blocking=True)

Use instead
-----------
    loader = DataLoader(data, batch_size=32, num_workers=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)

When it is fine
---------------
Uploads of up to 64 KiB take some 5 µs more. What would be pinned in the loop itself is not reported, for that is a copy
on the host, too: batches of a loader without workers, and tensors that the loop makes. Nor is memory that is pinned, or
may be.

Fix safety
----------
Unsafe: the loader gets `pin_memory=True`, which takes memory from the machine and starts a thread.

See also
--------
- TL402 for pinned memory without `non_blocking`
- TL404 for the loader
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import ON_DEVICE, PINNED
from transferlint.model import Confidence, Evidence, Finding, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .questions import loaders as loaders_of
from .questions.detection import Found, brief, clusters, hot, others, together


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Uploads that ask not to keep the host, from memory that it has to copy."""
    loaders: dict[tuple[int, Reg], loaders_of.Loader] = {}
    found: list[Found] = []
    for function, transfer in hot(facts, MOVE):
        if not _asks(function, transfer) or function.warmth(transfer.register).weak:
            continue
        loader = _unpinned(function, transfer)
        if loader is not None:
            loaders[function.index, transfer.register] = loader
            found.append((function, transfer))
    for function, group in clusters(found):
        first = group[0]
        sources = [loaders[function.index, one.register] for one in group]
        made = sources[0].function.site(sources[0].register)
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` occupies the host in spite of `non_blocking=True`: the loader"
            " does not pin its batches",
            "pin the batches",
            (Evidence(made, "made here, without `pin_memory`"), *others(function, group)),
            Confidence.LIKELY,
            together(function, group, [loaders_of.pinning(source) for source in sources]),
        )


def _asks(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for an upload with `non_blocking=True` written out."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or not transfer.non_blocking or transfer.before.places & ON_DEVICE:
        return False
    hint = function.code[dict(made.keywords).get("non_blocking", -1)] if made.keywords else None
    return isinstance(hint, p.Const) and hint.value is True and bool(transfer.places & ON_DEVICE)


def _unpinned(function: FunctionFacts, transfer: Transfer) -> loaders_of.Loader | None:
    """The loader of the batch that is moved, where it does not pin."""
    if transfer.subject is None or transfer.before.flags & PINNED:
        return None
    loader = loaders_of.batch_of(function, transfer.subject, transfer.register)
    if loader is None or not loader.could_pin or loader.collates("pin_memory", ".to(", ".cuda("):
        return None
    return loader


RULE = Rule(
    code="TL403",
    name="pageable-non-blocking",
    summary="`non_blocking=True` from host memory that is not pinned",
    category="wasteful",
    default=True,
    fix_safety=Safety.UNSAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=32, num_workers=4)
    for x, y in loader:
        x = x.to(device, non_blocking=True)  # expect: TL403
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            good="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=32, num_workers=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            fixed="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=32, num_workers=4, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
""",
            unsafe=True,
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
)
