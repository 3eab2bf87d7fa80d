"""A whole module is moved on every step.

What it does
------------
Reports `module.to(...)`, `.cuda()` and `.cpu()` on a module, in code that runs on every step or for every element.

Why
---
Every parameter is copied separately, and each copy blocks the host.

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
Offloading that is needed to fit a model into memory; suppress the finding and give that reason. A submodule that is
moved to the device of the input, and that nothing moves away, is already there and is not reported.

Fix safety
----------
No automatic fix.

See also
--------
- TL103 for tensors
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, MOVE, Transfer
from transferlint.flow.lattice.values import MODULE, ON_DEVICE, TENSOR
from transferlint.model import Confidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called
from .questions.detection import brief, hot

_PASSING = frozenset({"builtins.enumerate", "builtins.reversed"})
_DEPTH = 8
_MOVES = frozenset({"to", "cuda", "cpu", "xpu", "npu", "hpu", "mlu", "musa"})


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
        if _goes_along(function, transfer):
            continue
        text = brief(function.text(transfer.register))
        yield function.finding(
            transfer.register,
            f"`{text}` moves a whole module {function.warmth(transfer.register).level.each}",
            "move it once, before the loop",
            (),
            Confidence.LIKELY,
        )


def _goes_along(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a part of `self` that is brought to where a tensor is (`layer.to(x.device)`), and that no method of the
    class takes away: it has moved with the whole."""
    made = function.code[transfer.register]
    info = function.file.placement.class_of(function.function)
    if info is None or not info.module or not isinstance(made, p.Call) or transfer.subject is None:
        return False
    given = [*made.args, *(r for key, r in made.keywords if key == "device")][:1]
    target = function.code[given[0]] if given else None
    if not isinstance(target, p.Attr) or target.name != "device" or not function.values[target.object].is_a(TENSOR):
        return False
    if not _of_self(function, transfer.subject):
        return False
    return not any(
        one.kind in (MOVE, DOWNLOAD) and one.before.kinds & MODULE and not one.places & ON_DEVICE
        for other in function.file.functions
        if function.file.placement.class_of(other.function) is info
        for one in other.transfers
    )


def _of_self(function: FunctionFacts, reg: Reg, depth: int = _DEPTH) -> bool:
    """True for `self.layers[i]`, and for what a loop over `self.layers` gives."""
    made = function.code[reg]
    if depth == 0:
        return False
    if isinstance(made, p.Load):
        stores = [i for r in function.stores(made.slot) if isinstance(i := function.code[r], p.Store)]
        return bool(stores) and all(_of_self(function, i.value, depth - 1) for i in stores)
    if isinstance(made, p.Next):
        return _of_self(function, made.iterable, depth - 1)
    if isinstance(made, p.Unpack):
        return _of_self(function, made.value, depth - 1)
    if isinstance(made, p.Subscript):
        return _of_self(function, made.object, depth - 1)
    if isinstance(made, p.Call) and called(function, reg) in _PASSING and len(made.args) == 1:
        return _of_self(function, made.args[0], depth - 1)
    if not isinstance(made, p.Attr):
        return False
    owner = function.code[made.object]
    return isinstance(owner, p.Load) and function.function.slot_names[owner.slot] == "self"


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
    summary="`module.to()`, `.cuda()` or `.cpu()`, on every step or for every element",
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
    advice=(),
    doc=__doc__,
)
