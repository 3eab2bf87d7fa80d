"""What is left of a read where the tensor is kept on the device: `x.detach()` for `x.item()`."""

from __future__ import annotations

from transferlint.flow.callgraph.names import ident
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import BOOLEAN, HOST_VALUE, INTEGER
from transferlint.knowledge.torch_names import NO_GRADIENT
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, rewriting
from ..code.chains import called, method, receiver
from ..questions import number_kinds
from ..questions.detection import calls

_REDUCES = frozenset("sum mean norm abs square pow max min".split())
_DETACHES = frozenset({"detach", "detach_"})
_CALLS = 4  # how far up the calls


def kept(function: FunctionFacts, transfer: Transfer, snapshot: bool = False) -> Edit | None:
    """The edit that leaves a tensor where its number is read: `x.detach()` for `x.item()` and `float(x)`. `snapshot`:
    it must not change when `x` does. None where the read does more than that."""
    reg, subject = transfer.register, transfer.subject
    if subject is None or transfer.inside is not None or not function.has_text(subject):
        return None
    wanted = "" if detached(function, subject) or _no_gradient(function, transfer) else ".detach()"
    wanted += ".clone()" if snapshot and not fresh(function, subject) else ""
    if method(function, reg) == "item" and receiver(function, reg) == subject:
        cut = rewriting.after(function, reg, subject)
        return None if cut is None else rewriting.unbracketed(function, subject, Edit(cut.start, cut.end, wanted))
    name = called(function, reg)
    if name == "builtins.float" or (name == "builtins.int" and number_kinds.counts(function, transfer)):
        made = function.code[reg]
        text = rewriting.operand(function, subject)
        if isinstance(made, p.Call) and made.args == (subject,) and not made.keywords and text:
            return Edit(*function.span(reg), f"{text}{wanted}")
    return None


def _no_gradient(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for whole numbers and masks, and where the source says that no gradients are computed."""
    if transfer.before.flags & (INTEGER | BOOLEAN) or number_kinds.counts(function, transfer):
        return True
    return _under_no_gradient(function, transfer.register)


def _under_no_gradient(function: FunctionFacts, reg: Reg, depth: int = _CALLS) -> bool:
    """True within `with torch.no_grad()`, in a function that is decorated so, and where all calls of the file stand
    there."""
    if any(decorator.partition("(")[0] in NO_GRADIENT for decorator in function.function.decorators):
        return True
    regions = bindings.around(function, reg)
    entered = (function.code[reg] for reg in function.of(p.Enter))
    if any(
        isinstance(made, p.Enter) and made.region in regions and called(function, made.context) in NO_GRADIENT
        for made in entered
    ):
        return True
    calling = calls(function.file.functions[0]).get(ident(function.file.path, function.index), ())
    return bool(calling and depth) and all(_under_no_gradient(other, at, depth - 1) for other, at in calling)


def detached(function: FunctionFacts, subject: Reg) -> bool:
    """True for what has no part in gradients by how it was computed: a detached tensor, a gradient, and what is
    computed of such ones and numbers."""
    made = function.code[subject]
    if isinstance(made, p.Attr):
        return made.name in ("data", "grad")
    if method(function, subject) in _DETACHES:
        return True
    if isinstance(made, p.Call) and called(function, subject).startswith("torch.") and made.args:
        return all(detached(function, r) for r in made.args if not function.values[r].is_a(HOST_VALUE))
    if isinstance(made, p.Call) and not made.args and (inner := receiver(function, subject)) is not None:
        return method(function, subject) in _REDUCES and detached(function, inner)
    return False


def fresh(function: FunctionFacts, subject: Reg) -> bool:
    """True for what this turn of the loop computed and nothing in the function changes in place."""
    while method(function, subject) == "detach" and (inner := receiver(function, subject)) is not None:
        subject = inner
    made = function.code[subject]
    if isinstance(made, p.Call | p.Binary | p.Unary | p.Compare):
        return True
    if not isinstance(made, p.Load):
        return False
    stores = [s for r in function.stores(made.slot) if isinstance(s := function.code[r], p.Store)]
    turn = function.loops(subject)[:1]
    inside = [s for s in stores if function.loops(s.value)[:1] == turn]
    bound = [_whole(function, s.value) for s in inside]
    before = any(s.value < subject and function.region(s.value) in bindings.around(function, subject) for s in inside)
    if not stores or not (before or len(bound) == len(stores)):
        return False
    if not all(isinstance(b, p.Call | p.Unary) or (isinstance(b, p.Binary) and not b.inplace) for b in bound):
        return False
    return not _changed(function, made.slot)


def _whole(function: FunctionFacts, reg: Reg) -> p.Instruction:
    """What a value was computed by; of a part that an assignment takes apart the whole."""
    made = function.code[reg]
    return function.code[made.value] if isinstance(made, p.Unpack) else made


def _changed(function: FunctionFacts, slot: int) -> bool:
    """True where a tensor in a variable is written in place by its name."""
    for made in function.code:
        target = None
        named = isinstance(made, p.Attr) and made.name.endswith("_") and not made.name.startswith("_")
        if isinstance(made, p.SetItem) or (named and isinstance(made, p.Attr)):
            target = made.object
        if target is not None and isinstance(load := function.code[target], p.Load) and load.slot == slot:
            return True
    return False
