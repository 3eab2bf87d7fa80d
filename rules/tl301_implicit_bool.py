"""A device tensor is used as a condition.

What it does
------------
Reports `if t`, `while t`, `assert t`, `not t`, `t and u`, `bool(t)`, `torch.equal(t, u)` and `x in t` in hot code,
where `t` is a tensor on the device.

Also reports functions that check their arguments on the device: the validation in `torch.distributions`, `std` of
`torch.normal`, `torch.linalg.inv` and `solve`. Functions that hardly can avoid it (`torch.linalg.eigh`,
`torch.linalg.eigh`) are only reported as `possible`.

Why
---
No read is visible in the source, but Python needs a `bool`: the result of the comparison is copied to the host, which
waits for the device.

Example
-------
    if torch.isnan(loss):
        continue

Use instead
-----------
    loss = torch.nan_to_num(loss)          # or torch.where, clamp, a mask
    torch._assert_async(torch.isfinite(loss))   # a check without a sync

When it is fine
---------------
Not reported: conditions every N steps, behind a debug switch, on an error path, or on host tensors; and conditions on
names that usually hold more than one number (`bias`, `mask`, `weight`): a tensor would raise an error there, so the
code checks for None.

Fix safety
----------
Only shown, because too few of these edits were worth taking:

- `if mask.any(): x[mask] = v` loses its branch. The assignment then always runs, also for an empty mask, and its
  right-hand side is always computed.
- A random number that only the host checks is drawn on the host, from another generator, so its value changes.
- The elements that a loop checks are read from one copy made before the loop.
- `torch.where` replaces a branch. Both sides are computed, including their errors and random numbers.
- `torch._assert_async` replaces an assertion, or an `if` that only raises. The error comes later, as a device error
  instead of the exception that callers may expect; a computed message is lost; and the device is unusable afterwards.
  Not offered inside a `try`, in the function or around a call of it.
- Argument checks of torch are turned off (`validate_args=False`, `torch.linalg.inv_ex`). These checks are how people
  notice a NaN.
- A branch or early exit for an empty mask is removed; check that the rest does nothing for an empty mask.

A loop whose exit depends on a device value has no fix: checking less often means more iterations.

See also
--------
- TL203 for a decision on a value that was read explicitly
- TL302 for numbers
- https://docs.pytorch.org/docs/stable/generated/torch.where.html
- https://docs.pytorch.org/docs/stable/generated/torch.nan_to_num.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import EQUAL, TRUTH, Transfer
from transferlint.flow.lattice.values import CONTAINER
from transferlint.model import Confidence, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax.program import Reg, Test

from .code import derived
from .code.chains import method, receiver
from .examples import beside_torch
from .fixes import branchless, host_numbers, reading_ahead, unchecked
from .questions import own_checks, presence
from .questions.detection import Found, brief, clusters, hot, likely, only_shown, others, sure, together

_BRANCHED = "compute without a branch (`torch.where`, `clamp`, a mask), or check less often"
_ASSERTED = "check on the device with `torch._assert_async`, which does not block the host, or check less often"
_TAKES = frozenset({"pop", "popleft", "remove"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Truth tests of device tensors in hot code."""
    asked = [(f, t) for f, t in hot(facts, TRUTH) if not f.claimed(t.register)]
    found = [
        (f, t) for f, t in asked if likely(f, t, loops=False) and own_checks.looks(f, t) is None and not _given(f, t)
    ]
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}`{_in_condition(function, first)} synchronizes with the GPU"
            f" {function.warmth(first.register).level.each}",
            _ASSERTED if all(_asserts(function, t) for t in group) else _BRANCHED,
            (*function.why(first.before), *others(function, group)),
            _sure(function, first),
            only_shown(together(function, group, [_fix(function, t) for t in group])),
        )
    for sure_enough in (True, False):
        yield from _checks([pair for pair in asked if _expected(*pair) is sure_enough])


def _in_condition(function: FunctionFacts, transfer: Transfer) -> str:
    """What tells of a test, whose text is that of its tensor alone."""
    test = transfer.inside is None and isinstance(function.code[transfer.register], Test)
    return " in a condition" if test else ""


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """How sure it is that the test waits. `torch.equal` does not look at tensors of different shapes, nor at two views
    of the same memory, and which they are is not known: aten/src/ATen/native/cuda/Equal.cpp."""
    if function.framework(transfer.register) and _fills(function, transfer.register):
        return Confidence.POSSIBLE
    found = sure(function, transfer, loops=False)
    return min(found, Confidence.LIKELY) if transfer.api in EQUAL else found


def _asserts(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a test that is an assertion's, or a part of it: `assert t`, `assert t or u`."""
    around = (function.code[register] for register in function.around(transfer.register))
    return any(isinstance(one, Test) and one.kind == "assert" for one in around)


def _fills(function: FunctionFacts, reg: Reg) -> bool:
    """True for a test whose arms change a list or a table of the host, which no `where` does."""
    around = function.around(reg)
    arms = [at for at, one in enumerate(function.function.regions) if one.test in around and not one.implied]
    inside = (at for arm in arms for at in function.within(arm))
    return any(
        (method(function, at) in _TAKES or method(function, at) in derived.INTO)
        and (owner := receiver(function, at)) is not None
        and bool(function.values[owner].kinds & CONTAINER)
        for at in inside
    )  # fmt: skip


def _given(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a test that asks whether something is there, or that is not asked of a tensor at all."""
    return presence.asks_whether_given(function, transfer) or presence.switched_apart(function, transfer)


def _expected(function: FunctionFacts, transfer: Transfer) -> bool | None:
    """Whether a check of torch's own is one to report by default; None for other tests."""
    row = own_checks.looks(function, transfer)
    return None if row is None else own_checks.surely(function, transfer, row) is not Confidence.POSSIBLE


def _checks(found: list[Found]) -> Iterator[Finding]:
    """Calls that look at what they are given."""
    for function, group in clusters(found):
        first = group[0]
        row = own_checks.looks(function, first)
        assert row is not None
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` validates its arguments on the device and waits for the result"
            f" {function.warmth(first.register).level.each}",
            row.instead,
            (*function.why(first.before), *others(function, group)),
            own_checks.surely(function, first, row),
            only_shown(together(function, group, [unchecked.unchecked(function, t) for t in group])),
        )


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    return (
        host_numbers.for_host(function, transfer)
        or branchless.without_waiting(function, transfer)
        or reading_ahead.ahead(function, transfer)
    )


RULE = Rule(
    code="TL301",
    name="implicit-bool",
    summary="`if t`, `while t`, `assert t`, `not t` on a device tensor",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.DISPLAY,
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
        ),
        Example(
            bad="""\
import torch


class Padded(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if all(x.flatten() > 9):  # expect: TL301
            return x * 0
        return x
""",
            good="""\
import torch


class Padded(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.where((x > 9).all(), x * 0, x)
""",
        ),
    ),
    more_examples=beside_torch.examples("TL301"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "decide on the device (`jnp.where`, `jax.lax.cond`), or check only every N steps"),
        (
            "tensorflow",
            "decide on the device (`tf.where`, `tf.cond` in a `tf.function`), or check only every N steps",
        ),
        ("cupy", "decide on the device (`cp.where`), or check only every N steps"),
    ),
    doc=__doc__,
)
