"""The fixes of an upload of host numbers: fill them in on the device, or upload them without waiting."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import HOST_VALUE, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import arguments, bindings, rewriting
from ..code.chains import called, user
from . import filling, hoisting, modernising

_SAME_MEANING = frozenset({"device", "dtype", "requires_grad"})  # of torch.tensor and torch.full
_ONE = ("()", "(1,)")  # shapes
_TITLE = "fill it on the device"


def filled(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.tensor(2.0, device=d)` to `torch.full((), 2.0, device=d)`: numbers alone, of a dtype that is the same.

    Safe where it is proven that the value is a number of Python (`proven.number`), which both functions take alike
    (`proven.representable`: one raises for what is too large, where the other gives inf or another error) and make the
    same of in the type that is asked for (`fits`), and that `torch` is torch (`api`). Its keywords mean the same in
    both and stay where they are; whatever else `device` is, both refuse. No fix with `*`, `**` or any other keyword.
    """
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or transfer.api != "torch.tensor" or len(made.args) != 1 or any(made.stars):
        return None
    head, given = function.text(made.function), dict(made.keywords)
    found = filling.filling(function, made.args[0], head.removesuffix("tensor"), given.get("dtype"))
    start, end = function.outer_span(made.args[0])
    if found is None or not {key for key, _ in made.keywords} <= _SAME_MEANING or not head.endswith(".tensor"):
        return None
    if "#" in function.file.text[start:end]:
        return None
    safety = found.safety
    if bindings.api(function, made.function) != "torch.tensor" or not filling.fits(function, made, found.value):
        safety = min(safety, Safety.UNSAFE)
    content = filling.spread(function, made.args[0], found.arguments) if made.keywords else ", ".join(found.arguments)
    edits = (Edit(*function.span(made.function), head.removesuffix("tensor") + found.maker), Edit(start, end, content))
    seldom = _seldom(function, transfer.register)
    if safety is Safety.UNSAFE and found.shape == "()" and (seldom or _operand(function, transfer.register)):
        safety = Safety.DISPLAY  # it reads no better, and is hardly run, or the number itself would do
    if safety is Safety.UNSAFE and found.maker == "full" and found.shape in _ONE:
        safety = Safety.DISPLAY  # more text for one number: 4 of 6 such edits were taken
    return Fix(_TITLE, safety, edits)


def _operand(function: FunctionFacts, reg: Reg) -> bool:
    """True for what takes part in arithmetic or a comparison, or is an argument of torch's, as a number could be."""
    following = user(function, reg)
    if following is None:
        return False
    computed = isinstance(function.code[following], p.Binary | p.Compare)
    return computed or called(function, following).startswith("torch.")


def _seldom(function: FunctionFacts, reg: Reg) -> bool:
    """True under a condition of the function, and in code of which nothing says that it is hot."""
    if not function.warmth(reg).hot:
        return True
    around = function.function.regions[function.region(reg)]
    return around.kind in ("then", "else") and around.test is not None and not around.implied


def made_before(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The upload before the outermost loop that leaves it alone; only shown: who writes to the tensor in the loop would
    write to the same one in every turn."""
    outermost: int | None = None
    for region in function.loops(transfer.register):
        loop = function.function.regions[region]
        if loop.kind not in ("for", "while") or not invariance(function, region).holds(transfer.register, makes=True):
            break
        outermost = region
    if outermost is None or rewriting.switched(function, transfer.register, outermost, any_test=True):
        return None
    fix = hoisting.hoist(function, transfer.register, outermost)
    return fix and Fix("build it once, before the loop", Safety.DISPLAY, fix.edits)


def modern(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.cuda.LongTensor([0])` to `torch.full((1,), 0, dtype=torch.long, device="cuda")`, for a number."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or not called(function, transfer.register).startswith("torch.cuda."):
        return None
    changed = modernising.modernised(function, transfer.register, '"cuda"')
    filled = 3  # edits: the function, the number, the device
    return Fix(_TITLE, Safety.UNSAFE, changed[0]) if changed is not None and len(changed[0]) == filled else None


def unawaited(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.tensor(v, device=d)` to `torch.tensor(v).to(d, non_blocking=True)`: the first waits for the device, the
    second does not, though the memory is not pinned (up to 2 MiB: benchmarks/results/costs.md). Not of one number,
    which the device can be told to fill in."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or transfer.api not in ("torch.tensor", "torch.as_tensor") or any(made.stars):
        return None
    given = dict(made.keywords)
    device = given.pop("device", None)
    if device is None or len(made.args) != 1 or given.keys() - {"dtype"}:
        return None
    if function.values[made.args[0]].kinds & (TENSOR | HOST_VALUE):
        return None
    text = function.file.text
    head = function.text(made.function)
    start, end = function.span(transfer.register)
    where = function.outer_text(device)
    if re.search(r"[\n\r#]", where) or function.file.spans.commented(start, end):
        return None
    first, last = function.outer_span(device)
    keyword = re.search(r",\s*device\s*=\s*$", text[start:first])
    if keyword is None:
        return None
    edits = [Edit(start + keyword.start(), last, ""), Edit(end, end, f".to({where}, non_blocking=True)")]
    if head.endswith(".as_tensor"):
        callee = function.span(made.function)
        edits.insert(0, Edit(callee[0], callee[1], head.removesuffix("as_tensor") + "tensor"))
    before = text[start : start + keyword.start()]
    if not arguments.parses(f"{before}{text[last:end]}.to()"):
        return None
    return Fix("do not wait for the upload", Safety.DISPLAY, tuple(edits))
