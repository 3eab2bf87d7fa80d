"""A device value is read as a Python number on every step.

What it does
------------
Reports `.item()` and `.tolist()` on a tensor on the device, in code that runs on every step or for every element.

Why
---
The read copies the value to the host and waits until the device has finished all work queued before it. Meanwhile the
host queues no new work, so the device runs idle on every step.

Example
-------
    total += loss.item()

Use instead
-----------
    total += loss.detach()   # and total.item() once, after the loop

When it is fine
---------------
None of these is reported:

- reads every N steps (`if step % 100 == 0:`), once per epoch, or on the last line before leaving the loop
- one bulk `.tolist()` before a loop over its elements
- a value that all processes have agreed on and that is read to decide

Fix safety
----------
Unsafe if a number is added to a sum, or appended to a list, that nothing reads before the loop ends. The value stays on
the device, and one read after the loop gives the number or the list. Note:

- A sum is accumulated in the tensor's dtype, not in Python's double precision. In half precision it loses digits; add
  `.float()` there.
- A loop that is left by an exception leaves a tensor behind instead of a number.
- A random number that only the host uses is drawn on the host, from another generator, so its value changes.

Only shown, not applied:

- values that would have to be copied to be kept, lists whose elements may not be 0-d tensors, and several lists in one
  loop
- reads in a loop where another sync remains, also for an upload of data that does not come from a loader
- `x.detach()` for `x.item()` if a tensor works as well as a number (later users of the value get a tensor; the same for
  `x.tolist()` that is returned or stored)
- one copy of the whole tensor before a loop that reads its elements
- `torch.stack(values)` for `torch.tensor(values)` with a list of 0-d tensors
- `torch._assert_async` for a number that is only compared to raise an error; the error message is lost

See also
--------
- TL106 for several reads next to each other
- TL107 for a loop over the elements
- TL302 for implicit reads
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import SCALAR_READ, Transfer
from transferlint.model import Finding, Safety
from transferlint.rule import Example, Rule

from .code.chains import remedy
from .examples import beside_torch
from .fixes import leaving
from .questions import read_purposes
from .questions.detection import brief, clusters, hot, likely, others, sure
from .questions.round_trips import decided_together, explained


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Scalar reads in hot code that no round-trip rule explains better."""
    found = ((f, t) for f, t in hot(facts, SCALAR_READ) if _costs(f, t))
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` waits for the GPU (device-to-host copy and sync)"
            f" {function.warmth(first.register).level.each}",
            _instead(function, first),
            (*function.why(first.before), *others(function, group)),
            sure(function, first),
            leaving.offered(function, group),
        )


def _instead(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps: that depends on whether the host goes on by what it reads."""
    if own := remedy(function, transfer):
        return own
    if transfer.inside is None and read_purposes.decides(function, transfer.register):
        return "evaluate it on the device and read the result only every N steps, or drop it if nothing depends on it"
    return "keep the value on the device (`.detach()`) and read it once, after the loop or at log time"


def _costs(function: FunctionFacts, transfer: Transfer) -> bool:
    return likely(function, transfer) and not explained(function, transfer) and not decided_together(function, transfer)


RULE = Rule(
    code="TL101",
    name="scalar-read-in-hot-code",
    summary="`.item()` or `.tolist()` on a device tensor, on every step or for every element",
    category="repeated",
    default=True,
    fix_safety=Safety.UNSAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def train(model, loader, optimizer, device):
    total = 0.0
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()  # expect: TL101
    return total
""",
            good="""\
import torch


def train(model, loader, optimizer, device):
    total = torch.zeros((), device=device)
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
""",
            fixed="""\
import torch


def train(model, loader, optimizer, device):
    total = 0.0
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    total = float(total)
    return total
""",
            unsafe=True,
        ),
        Example(
            bad="""\
import torch


def losses(model, loader, device):
    values = []
    for inputs in loader:
        loss = model(inputs.to(device)).mean()
        values.append(loss.item())  # expect: TL101
    return values
""",
            good="""\
import torch


def losses(model, loader, device):
    values = []
    for inputs in loader:
        loss = model(inputs.to(device)).mean()
        values.append(loss.detach())
    return torch.stack(values).tolist()
""",
            fixed="""\
import torch


def losses(model, loader, device):
    values = []
    for inputs in loader:
        loss = model(inputs.to(device)).mean()
        values.append(loss.detach())
    if values:
        values = torch.stack(values).tolist()
    return values
""",
            unsafe=True,
        ),
    ),
    more_examples=beside_torch.examples("TL101"),
    detect=detect,
    waits=True,
    advice=(
        (
            "jax",
            "keep the array on the device and read it once, after the loop or at log time (`jax.device_get`)",
        ),
        (
            "tensorflow",
            "keep the tensor, or accumulate it in a `keras.metrics.Mean`, and read it once, after the loop",
        ),
        ("cupy", "keep the array on the device and read it once, after the loop or at log time"),
    ),
    doc=__doc__,
)
