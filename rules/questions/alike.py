"""What transfers of one function have in common, so that one change serves them."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import SHAPE, Transfer
from transferlint.flow.lattice.values import TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, receiver


def alike(function: FunctionFacts, transfer: Transfer) -> str:
    """A key that transfers share which one change serves: calls of the same wrapper, selections by the same mask, reads
    of the same tensor, and else what has the same text."""
    if transfer.inside is not None:
        return "calls of {}#{}@{}".format(*transfer.inside)
    tensor = tensor_of(function, transfer)
    return f"reads of {tensor}" if tensor else function.text(transfer.register)


def tensor_of(function: FunctionFacts, transfer: Transfer) -> str:
    """The variable or attribute, bound once, of which a transfer reads an element, a comparison or a reduction, or by
    which it selects; "" where there is none, or more than one."""
    by = _mask(function, transfer) if transfer.kind == SHAPE else transfer.subject
    return _base(function, by) if by is not None else ""


def _mask(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """What decides the size of a selection: the mask of `x[mask]` and `torch.masked_select(x, mask)`."""
    made = function.code[transfer.register]
    selects = called(function, transfer.register) == "torch.masked_select"
    return made.args[1] if selects and isinstance(made, p.Call) and len(made.args) == 2 else transfer.subject


def _base(function: FunctionFacts, reg: Reg) -> str:
    """The variable or attribute, bound once, that a value is an element, a comparison or a reduction of; "" where there
    is none, or more than one."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        given = any(one.slot == made.slot for one in function.function.parameters)
        return function.function.slot_names[made.slot] if len(function.stores(made.slot)) + given == 1 else ""
    if isinstance(made, p.Attr) and isinstance(function.code[made.object], p.Load):
        return "" if _binds(function, made.name) else function.text(reg)
    of: tuple[Reg, ...] = ()
    if isinstance(made, p.Subscript):
        of = (made.object,)
    elif isinstance(made, p.Unary):
        of = (made.operand,)
    elif isinstance(made, p.Binary):
        of = (made.left, made.right)
    elif isinstance(made, p.Compare):
        of = made.operands
    elif isinstance(made, p.Call):
        inner = receiver(function, reg)
        of = made.args[:1] if called(function, reg).startswith("torch.") else () if inner is None else (inner,)
    bases = {_base(function, r) for r in of if function.values[r].is_a(TENSOR) and not function.values[r].on_host}
    return bases.pop() if len(bases) == 1 else ""


def _binds(function: FunctionFacts, attribute: str) -> bool:
    return bool(function.attributes(attribute, p.SetAttr))
