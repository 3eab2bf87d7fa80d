"""A whole module is moved on every step.

What it does
------------
Reports `module.to(...)`, `.cuda()` and `.cpu()` on a module in code that runs for every step or element.

Why
---
Every parameter crosses the bus, one copy after another, and the host waits for each.

Example
-------
    for x in loader:
        teacher.to(device)
        y = teacher(x)
        teacher.cpu()

Use instead
-----------
    teacher.to(device)
    for x in loader:
        y = teacher(x)

When it is fine
---------------
Offloading that keeps a model within memory; say so in a suppression.

Fix safety
----------
No automatic fix.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import DOWNLOAD, MOVE
from transferlint.flow.values import MODULE, ON_DEVICE
from transferlint.model import Confidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .detection import brief, hot

_MOVES = frozenset({"to", "cuda", "cpu", "xpu", "npu", "hpu"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves of modules in hot code."""
    for function, transfer in hot(facts, MOVE, DOWNLOAD):
        before = transfer.before
        if not before.is_a(MODULE):
            continue
        loops, made = function.loops(transfer.register), set(before.why)
        if not loops or (transfer.kind == MOVE and not before.places & ~ON_DEVICE):
            continue
        if transfer.subject is not None:
            made.add(transfer.subject)
        if any(r >= 0 and _makes(function, r) and function.loops(r)[:1] == loops[:1] for r in made):
            continue  # a module that is new in every turn has to be moved
        text = brief(function.text(transfer.register))
        yield function.finding(
            transfer.register,
            f"`{text}` moves a whole module {function.warmth(transfer.register).level.words}",
            "move it once, before the loop",
            (),
            Confidence.LIKELY,
        )


def _makes(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call that makes a module, not one that moves it."""
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return False
    callee = function.code[made.function]
    return not (isinstance(callee, p.Attr) and callee.name in _MOVES)


RULE = Rule(
    code="TL105",
    name="module-move-in-hot-code",
    summary="`module.to()`, `.cuda()` or `.cpu()`, for every step or element",
    category="repeated",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def distil(loader, student, optimizer):
    teacher = torch.nn.Linear(4, 4)
    for x in loader:
        teacher.to("cuda")  # expect: TL105
        y = teacher(x.to("cuda"))
        teacher.cpu()  # expect: TL105
        torch.nn.functional.mse_loss(student(x.to("cuda")), y).backward()
        optimizer.step()
""",
            good="""\
import torch


def distil(loader, student, optimizer):
    teacher = torch.nn.Linear(4, 4).to("cuda")
    for x in loader:
        x = x.to("cuda")
        torch.nn.functional.mse_loss(student(x), teacher(x)).backward()
        optimizer.step()
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
