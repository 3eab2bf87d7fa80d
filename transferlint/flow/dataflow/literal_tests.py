"""Arms of a function that a call does not take, because it gives a literal of which their tests ask.

`def bring(x, device): if device == "numpy": ...`: with "numpy" the other arm does not run, with "cpu" this one.
"""

from __future__ import annotations

from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot


def left_out(function: Function, reg: Reg, slot: Slot, text: str) -> bool:
    """True for code that does not run where a parameter is given this text. What is bound anew tells nothing."""
    if function.lookup.about(p.Store, slot) or function.lookup.about(p.Delete, slot):
        return False
    for region in function.ancestors(function.lookup.regions[reg]):
        if region.kind in ("then", "else") and region.test is not None:
            held = _holds(function, region.test, slot, text)
            if held is not None and held is not (region.kind == "then"):
                return True
    return False


def _holds(function: Function, test: Reg, slot: Slot, text: str) -> bool | None:
    """Whether a test is true where a parameter is this text; None where that does not decide it."""
    made = function.code[test]
    if isinstance(made, p.Unary) and made.operator == "not":
        held = _holds(function, made.operand, slot, text)
        return None if held is None else not held
    if isinstance(made, p.Boolean):
        parts = [_holds(function, part, slot, text) for part in made.operands]
        decides = made.operator == "or"
        if decides in parts:
            return decides
        return None if None in parts else not decides
    if not isinstance(made, p.Compare) or len(made.operators) != 1:
        return None
    left, right = made.operands
    operator = made.operators[0]
    if operator in ("==", "!=") and function.code[right] == p.Load(slot):
        left, right = right, left
    if function.code[left] != p.Load(slot):
        return None
    if operator in ("is", "is not"):
        other = function.code[right]
        none = isinstance(other, p.Const) and other.value is None
        return operator == "is not" if none else None  # whether two equal texts are one object, nobody says
    among = _texts(function, right, operator in ("in", "not in"))
    if among is None or operator not in ("==", "!=", "in", "not in"):
        return None
    return (text in among) is (operator in ("==", "in"))


def _texts(function: Function, reg: Reg, several: bool) -> tuple[object, ...] | None:
    """The literals that a value is compared with; None where not all are written out."""
    made = function.code[reg]
    if not several:
        return (made.value,) if isinstance(made, p.Const) else None
    if not isinstance(made, p.Sequence) or any(made.stars):
        return None
    parts = [function.code[one] for one in made.items]
    values = tuple(one.value for one in parts if isinstance(one, p.Const))
    return values if len(values) == len(parts) else None
