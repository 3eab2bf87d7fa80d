"""A whole module is moved on every step.

What it does
------------
Reports `module.to(...)`, `.cuda()` and `.cpu()` on a module, in code that runs on every step or for every element.

Why
---
Every parameter is copied separately, and each copy blocks the host. A function that moves a module to the device, uses
it and moves it away again copies all of it in both directions on every call.

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

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, MOVE, Transfer
from transferlint.flow.lattice.values import MODULE, ON_DEVICE, TENSOR
from transferlint.flow.sharing import Path, path
from transferlint.model import Confidence, Evidence, Finding, Part
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import alone, called
from .questions.detection import brief, hot

_PASSING = frozenset({"builtins.enumerate", "builtins.reversed"})
_DEPTH = 8
_MOVES = frozenset({"to", "cuda", "cpu", "xpu", "npu", "hpu", "mlu", "musa"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves of modules in hot code: in its loops, and there and back in one call."""
    swapped: set[tuple[int, Reg]] = set()
    moves = list(hot(facts, MOVE, DOWNLOAD))
    for function, transfer in moves:
        away = _taken_away(function).get(transfer.register)
        if away is None:
            continue
        swapped |= {(function.index, transfer.register), (function.index, away)}
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` copies a whole module to the device"
            f" {function.warmth(transfer.register).level.each}, and it is moved away again",
            "keep it on the device; if it does not fit, move it once for many steps",
            (Evidence(function.site(away), "moved away here", function.text(away), Part.SAME),),
            Confidence.LIKELY,
        )
    for function, transfer in moves:
        before = transfer.before
        if (function.index, transfer.register) in swapped or not before.is_a(MODULE):
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


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The moves there and back that are one mistake."""
    for there, away in _taken_away(function).items():
        yield from (there, away)


@once
def _taken_away(function: FunctionFacts) -> dict[Reg, Reg]:
    """The moves of a module to the device after which the same turn moves it away, each with that move. Only modules
    move in place: what is moved there and back by statements whose results nobody takes is one."""
    found: dict[Reg, Reg] = {}
    there: dict[Path, Transfer] = {}
    for transfer in function.transfers:
        if transfer.kind not in (MOVE, DOWNLOAD) or transfer.subject is None or transfer.inside is not None:
            continue
        named = path(function, transfer.subject)
        if named is None or not function.has_text(transfer.register) or not _in_place(function, transfer):
            continue
        if transfer.places and not transfer.places & ~ON_DEVICE:
            there[named] = transfer
        elif not transfer.places & ON_DEVICE and named in there:
            first = there.pop(named).register
            if function.loops(first)[:1] == function.loops(transfer.register)[:1]:
                found[first] = transfer.register
    return found


def _in_place(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a move of what is a module for certain, or may be one and whose result nobody takes."""
    if transfer.before.is_a(MODULE):
        return True
    return alone(function, transfer.register) and not transfer.before.is_a(TENSOR)


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
        teacher.cpu()
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
    claims=claims,
    doc=__doc__,
)
