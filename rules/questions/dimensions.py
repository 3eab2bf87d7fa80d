"""Which tensors have a dimension for certain: one that has none is a number to torch, wherever it lives."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import CONTAINER, EXTENDED, TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import origin


def dimensional(function: FunctionFacts, reg: Reg) -> bool:
    """True where the tensor of a register has at least one dimension on every path."""
    if function.values[reg].flags & EXTENDED:
        return True
    made = function.code[origin(function, reg)]
    rows = function.values[made.iterable] if isinstance(made, p.Next) else None
    # A list of tensors: whoever wants numbers makes one tensor of them.
    return rows is not None and rows.kinds == CONTAINER and rows.item is not None and rows.item.is_a(TENSOR)
