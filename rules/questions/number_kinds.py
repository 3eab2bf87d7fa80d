"""What is known of a tensor by how it was computed: a single number, a count, a fraction, or much less than it came
from."""

from __future__ import annotations

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import HOST_VALUE, INTEGER, SCALAR, TENSOR
from transferlint.knowledge.torch_names import HALF, LOADED_AS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method, origin, receiver

_REDUCES = frozenset("argmax argmin max min amax amin sum mean any all norm var std topk count_nonzero".split())
_COMPARES = frozenset("eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not".split())
_HALVES = frozenset({"half", "bfloat16", "to"})
_DEEP = 8


def reduced(function: FunctionFacts, subject: Reg) -> bool:
    """True for what is known to be much smaller than what it was computed from: whole outputs of a model, kept for each
    step, may not fit on the device, and who copies them one by one may have meant that."""
    for _ in range(_DEEP):
        subject = origin(function, subject)
        made = function.code[subject]
        if isinstance(made, p.Compare) or function.values[subject].flags & SCALAR:
            return True
        last = method(function, subject) or called(function, subject).removeprefix("torch.")
        if last in _REDUCES:
            return True
        inner = receiver(function, subject) if method(function, subject) else None
        if inner is None:
            return False
        subject = inner
    return False


@once
def halved(module: FunctionFacts) -> bool:
    """True for a file (given by its module's function) that makes a model compute in half precision, or anything else
    that may be one: `model.half()`, `model.to(torch.bfloat16)`, `from_pretrained(..., torch_dtype=...)`."""
    for function in module.file.functions:
        for reg in function.of(p.Call):
            made = function.code[reg]
            assert isinstance(made, p.Call)
            last = method(function, reg)
            inner = receiver(function, reg) if last in _HALVES else None
            given = [*made.args, *(value for key, value in made.keywords if key in ("dtype", LOADED_AS))]
            wanted = last in ("half", "bfloat16") or any(_half(function, one) for one in given)
            if wanted and inner is not None and not function.values[inner].is_a(TENSOR):
                return True
            if LOADED_AS in dict(made.keywords) and any(_half(function, one) for one in given):
                return True
    return False


def _half(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    name = function.file.placement.names.dotted(function.function, reg) if not isinstance(made, p.Const) else made.value
    return name in HALF


def counts(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a tensor of integers: known as one, or a sum of comparisons."""
    if transfer.before.flags & INTEGER:
        return True
    subject = transfer.subject
    summed = receiver(function, subject) if subject is not None and method(function, subject) == "sum" else None
    if summed is None:
        return False
    return isinstance(function.code[summed], p.Compare) or method(function, summed) in _COMPARES


def fraction(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what is no count: gradients are computed of it or it is computed of them, or it is a mean or a loss of
    torch's."""
    subject = transfer.subject
    if subject is None or transfer.before.flags & INTEGER:
        return False
    whole = [function.code[r] for r in function.expression(subject)]
    if any(isinstance(one, p.Attr) and one.name == "grad" for one in whole):
        return not any(isinstance(one, p.Compare) for one in whole)
    while (made := function.code[subject]) is not None:
        if method(function, subject) == "detach" and (inner := receiver(function, subject)) is not None:
            subject = inner
        elif isinstance(made, p.Binary) and function.values[made.left].is_a(TENSOR):
            subject = made.left
        else:
            break
    start = origin(function, subject)
    last = method(function, start) or called(function, start).rpartition(".")[2]
    made = function.code[subject]
    if last == "mean" or last.endswith(("_loss", "cross_entropy")):
        return True
    return isinstance(made, p.Load) and any(
        isinstance(one, p.Attr)
        and one.name == "backward"
        and isinstance(load := function.code[one.object], p.Load)
        and load.slot == made.slot
        for one in function.code
    )


def single(function: FunctionFacts, subject: Reg | None, depth: int = _DEEP) -> bool:
    """True for a tensor without dimensions by how it was computed: means, sums and losses of all, and what is computed
    of such ones and numbers."""
    if subject is None or depth == 0:
        return False
    if function.values[subject].flags & SCALAR or function.values[subject].is_a(HOST_VALUE):
        return True
    made = function.code[subject]
    if isinstance(made, p.Load):
        if any(q.slot == made.slot for q in function.function.parameters):
            return False
        stores = [one.value for r in function.stores(made.slot) if isinstance(one := function.code[r], p.Store)]
        return bool(stores) and all(single(function, r, depth - 1) for r in stores)
    if isinstance(made, p.Unary):
        return single(function, made.operand, depth - 1)
    if isinstance(made, p.Binary):
        return single(function, made.left, depth - 1) and single(function, made.right, depth - 1)
    if not isinstance(made, p.Call) or any(key in ("dim", "axis", "reduction", "keepdim") for key, _ in made.keywords):
        return False
    name = called(function, subject)
    last = method(function, subject) or name.rpartition(".")[2]
    if name.startswith("torch.nn.functional."):
        return last.endswith(("_loss", "cross_entropy"))
    whole = len(made.args) == (1 if name.startswith("torch.") else 0)
    if last == "detach" and (inner := receiver(function, subject)) is not None:
        return single(function, inner, depth - 1)
    return whole and last in ("mean", "sum", "max", "min", "norm", "std", "var")
