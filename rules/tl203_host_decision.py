"""The host reads a device value to decide what the device does next.

What it does
------------
Reports, in hot code, an `if` or `while` condition that depends on an explicit read of a device value (`.item()`,
`.cpu()`, `.tolist()`, `float(t)`) and whose body computes on the device.

Why
---
The device finishes its work, the host reads the value, decides, and only then queues new work: the device is idle for
the whole round trip.

Example
-------
    if check(weights.cpu()) == 0:
        weights += 1

Use instead
-----------
    weights += (check_on_device(weights) == 0).to(weights.dtype)     # or torch.where

When it is fine
---------------
Decisions every N steps, once per epoch (early stopping), or on an error path.

Fix safety
----------
Only shown: an element that decides is read from one copy of the whole tensor, made before the loop, which must not
change it. Other branches have no automatic fix: a branch-free form is a different program, and checking a loop's exit
condition less often means more iterations.

See also
--------
- TL301 for a condition that is itself a tensor
- TL101 for the read alone
- https://docs.pytorch.org/docs/stable/generated/torch.where.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.model import Confidence, Evidence, Finding, Part, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .examples import beside_torch
from .fixes import reading_ahead
from .questions.detection import brief, sure
from .questions.round_trips import agreed, decisions


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Conditions on explicit reads that steer device work; at the read where it stands in the condition."""
    for function in facts.functions:
        if function.role.skip:
            continue
        by_register = {t.register: t for t in function.transfers}
        for test, read in decisions(function).items():
            made = function.code[test]
            assert isinstance(made, p.Test)
            if not function.has_text(read) or not function.has_text(test) or agreed(function, by_register[read]):
                continue
            evidence = function.why(by_register[read].before)
            if read not in set(function.expression(made.value)):
                evidence = (*evidence, Evidence(function.site(read), "read back here", part=Part.TRANSFER))
            asked = _asked(function, test, read)
            yield function.finding(
                asked,
                f"the condition `{brief(function.text(asked))}` depends on a device value: the host waits for the GPU"
                f" {function.warmth(asked).level.each}",
                "decide on the device (`torch.where`, a mask, `clamp`), or defer the check",
                evidence,
                _sure(function, asked, by_register[read]),
                reading_ahead.ahead(function, by_register[read]),
            )


def _asked(function: FunctionFacts, test: Reg, read: Reg) -> Reg:
    """The whole test, or the part of it with the read where that is computed only if another part is so."""
    made = function.code[test]
    within = set(function.expression(made.value)) if isinstance(made, p.Test) else set[Reg]()
    at = read
    while (user := next((u for u in function.users(at) if u in within), None)) is not None:
        region = function.region(at)
        if function.region(user) != region and function.function.regions[region].kind in ("then", "else"):
            return at
        at = user
    return test


def _sure(function: FunctionFacts, asked: Reg, read: Transfer) -> Confidence:
    """As sure as the read; likely at most where the test can be reached without it, on another branch or first turn."""
    at, around = function.region(asked), {0}
    while at > 0:
        around.add(at)
        at = function.function.regions[at].parent
    found = sure(function, read)
    before = read.register <= asked and function.region(read.register) in around
    inside = read.register in set(function.expression(asked))
    return found if before or inside else min(found, Confidence.LIKELY)


RULE = Rule(
    code="TL203",
    name="host-decision",
    summary="a host branch on a device value controls device work",
    category="round-trip",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def cpu_only_func(x):
    return int(x.numpy().sum())


model = torch.nn.Linear(4, 4).cuda()
x = torch.ones(4).cuda()
weights = torch.zeros(4, device="cuda")
for step in range(1000):
    grads = model(x)
    weights += grads
    if cpu_only_func(weights.cpu()) == 0:  # expect: TL203
        weights += 1
""",
            good="""\
import torch

model = torch.nn.Linear(4, 4).cuda()
x = torch.ones(4).cuda()
weights = torch.zeros(4, device="cuda")
for step in range(1000):
    grads = model(x)
    weights += grads
    weights += (weights.sum() == 0).to(weights.dtype)
""",
        ),
        Example(
            bad="""\
import torch


class Decoder(torch.nn.Module):
    def forward(self, scores: torch.Tensor, states: torch.Tensor):
        best = scores.argmax(dim=1)
        for i in range(best.size(0)):
            if best[i].item() != 0:  # expect: TL203
                states[i] += 1
        return states
""",
            good="""\
import torch


class Decoder(torch.nn.Module):
    def forward(self, scores: torch.Tensor, states: torch.Tensor):
        best = scores.argmax(dim=1)
        return states + (best != 0).to(states.dtype)[:, None]
""",
        ),
    ),
    more_examples=beside_torch.examples("TL203"),
    detect=detect,
    waits=True,
    advice=(
        (
            "jax",
            "decide on the device (`jnp.where`, `jax.lax.cond`, `jax.lax.while_loop`), or decide only every N steps",
        ),
        ("tensorflow", "decide in the graph (`tf.where`, `tf.cond` in a `tf.function`), or decide only every N steps"),
        ("cupy", "decide on the device (`cp.where`), or decide only every N steps"),
    ),
    doc=__doc__,
)
