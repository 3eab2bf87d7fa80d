"""Tensors that are given where an operator takes a number: they are read."""

from __future__ import annotations

from itertools import zip_longest

from transferlint.flow.lattice.transfers import NUMBER
from transferlint.flow.lattice.values import HOST, MOVED, ON_DEVICE, UNKNOWN, number_of_device
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge.torch_numbers import numbers
from transferlint.syntax.program import Call, Const, Load, Reg, Sequence, Subscript


def taken(frame: Frame, reg: Reg, made: Call, operator: str, behind: int) -> None:
    """Record what an operator reads: `x.view(n, -1)`, `F.pad(x, (0, n))`, `y.add(x, alpha=t)`: at the call, whose
    line a run sees, and whose arguments may stand on others. `behind`: how many arguments stand before those of its row
    (the tensor, where a function is called)."""
    row = numbers(operator)
    if row is None:
        return
    before_star = made.stars.index(True) if True in made.stars else len(made.args)
    api = f"{'' if behind else '.'}{operator}(t)"
    given = [(argument, api) for at, argument in enumerate(made.args[behind:before_star]) if row.takes(at)]
    given += [(argument, f"{name}=t") for name, argument in made.keywords if name in row.names]
    for argument, api in given:
        for part in _parts(frame, argument):
            value = frame.values[part]
            if number_of_device(value):
                frame.record(reg, NUMBER, part, value, HOST, api, explicit=False)
                return


def moved_element(frame: Frame, reg: Reg) -> bool:
    """True for `lengths[i]` of what was moved to the device, whatever else is known of it: where a number is needed,
    that is one element of a tensor. Under a name it may be anything that a batch holds."""
    made = frame.code[reg]
    if not isinstance(made, Subscript) or not isinstance(frame.code[made.object], Load):
        return False
    base, index = frame.values[made.object], frame.code[made.index]
    moved = base.kinds == UNKNOWN and bool(base.flags & MOVED) and not base.places & ~ON_DEVICE
    return moved and not (isinstance(index, Const) and isinstance(index.value, str))


def _parts(frame: Frame, argument: Reg) -> tuple[Reg, ...]:
    """What a sequence that is written out holds, else the argument itself."""
    made = frame.code[argument]
    if not isinstance(made, Sequence):
        return (argument,)
    return tuple(item for item, starred in zip_longest(made.items, made.stars, fillvalue=False) if not starred)
