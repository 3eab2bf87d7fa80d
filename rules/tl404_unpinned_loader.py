"""A loader does not pin the batches that are moved to the device.

What it does
------------
Reports `DataLoader(...)` with workers and without `pin_memory=True`, or with `pin_memory=False`, if the same file moves
its batches to the device in hot code. For TensorFlow, reports a `tf.data.Dataset` without `prefetch` from which a
training loop or `fit` takes its batches.

Why
---
A batch in pageable memory is copied twice, and the host does the first copy and waits for it. From pinned memory the
device fetches the batch by itself, and with `non_blocking=True` the host continues meanwhile (docs.pytorch.org
torch.utils.data, 'Memory Pinning').

Example
-------
    loader = DataLoader(data, batch_size=32, num_workers=4)
    for x, y in loader:
        x, y = x.to(device), y.to(device)

Use instead
-----------
    loader = DataLoader(data, batch_size=32, num_workers=4, pin_memory=True)
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)

When it is fine
---------------
For loaders without workers, which pin their batches in the loop itself (not reported), for small batches, on machines
with little memory, and for batches of custom classes that do not define how they are pinned. The rule is therefore off
by default. Also, TensorFlow 2.12 and later adds `prefetch` at the end of a data set automatically (tensorflow.org
tf.data.experimental.OptimizationOptions, `inject_prefetch`: "If None, defaults to True"). A loader whose batches are
all moved with `non_blocking=True` is reported by TL403.

Fix safety
----------
Unsafe: pinning takes memory from the machine and starts a thread, and a data set that yields device tensors raises an
error. TL402 then finds the moves that still block.

See also
--------
- TL402 for the move that goes with it
- TL403 for `non_blocking` without it
- https://docs.pytorch.org/docs/stable/data.html#memory-pinning
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.callgraph.tracing import NOTHING_TRACED
from transferlint.flow.facts import FileFacts
from transferlint.flow.lattice.transfers import MOVE
from transferlint.flow.lattice.values import CONTAINER, ON_DEVICE, TENSOR, UNKNOWN
from transferlint.knowledge.torch_names import COLLATING
from transferlint.model import Confidence, Evidence, Finding, Part, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax.program import Reg

from .examples import beside_torch
from .questions import loaders as loaders_of
from .questions import prefetching
from .questions.detection import Found, brief, hot

_SHOWN = 3


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Loaders without `pin_memory` whose batches hot code moves, and data sets of TensorFlow without `prefetch`."""
    for function, reg in prefetching.unprepared(facts) if facts.placement.tracing is not NOTHING_TRACED else ():
        yield function.finding(
            reg,
            f"`{brief(function.text(reg))}` does not prefetch: the next batch is not prepared while a step runs",
            confidence=Confidence.LIKELY,
            heated=False,
        )
    loaders: dict[tuple[int, Reg], loaders_of.Loader] = {}
    moves: dict[tuple[int, Reg], list[Found]] = {}
    for function, transfer in hot(facts, MOVE):
        before = transfer.before
        if transfer.subject is None or not transfer.places & ON_DEVICE or before.places & ON_DEVICE:
            continue
        loader = loaders_of.batch_of(function, transfer.subject, transfer.register)
        if loader is None or not loader.could_pin or not before.is_a(TENSOR | CONTAINER | UNKNOWN):
            continue
        key = loader.function.index, loader.register
        loaders[key] = loader
        moves.setdefault(key, []).append((function, transfer))
    for key in sorted(moves):
        loader, found = loaders[key], moves[key]
        if all(t.non_blocking for _, t in found) or loader.collates("pin_memory", ".to(", ".cuda(") is not False:
            continue
        if loader.has_collate and not loader.collates(*COLLATING):
            continue
        function, reg = loader.function, loader.register
        yield function.finding(
            reg,
            f"`{brief(function.text(reg))}` does not pin its batches, which are moved to the device",
            "add `pin_memory=True`, and `non_blocking=True` where the batches are moved",
            tuple(Evidence(f.site(t.register), "moved here", part=Part.TRANSFER) for f, t in found[:_SHOWN]),
            Confidence.LIKELY,
            loaders_of.pinning(loader),
            heated=False,
        )


RULE = Rule(
    code="TL404",
    name="unpinned-loader",
    summary="a `DataLoader` without `pin_memory` whose batches are moved to the device",
    category="wasteful",
    default=False,
    fix_safety=Safety.UNSAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=32, num_workers=4)  # expect: TL404
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
        loss.backward()
""",
            good="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=32, num_workers=4, pin_memory=True)
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
""",
            fixed="""\
import torch
from torch.utils.data import DataLoader


def train(model, data, device):
    loader = DataLoader(data, batch_size=32, num_workers=4, pin_memory=True)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
        loss.backward()
""",
            unsafe=True,
        ),
    ),
    more_examples=beside_torch.examples("TL404"),
    detect=detect,
    advice=(
        ("tensorflow", "end it with `.prefetch(tf.data.AUTOTUNE)`; TensorFlow 2.12 and later add it automatically"),
    ),
    doc=__doc__,
)
