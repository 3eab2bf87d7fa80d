"""Conditions as one tensor on the device, written as a person would: few parentheses, no double negation.

Operators bind as in The Python reference, 6.17. Tensors of booleans are joined by `&`, `|` and `~` (docs.pytorch.org
torch.logical_and and torch.bitwise_and are the same for them), others by torch's functions.
"""

from __future__ import annotations

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import BOOLEAN, ON_DEVICE, TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method, receiver

# From what binds least to what binds most.
_COMPARISON, _OR, _XOR, _AND, _SHIFT, _SUM, _PRODUCT, _SIGN, _POWER, _CLOSED = range(10)
_LEVELS = {"|": _OR, "^": _XOR, "&": _AND, "<<": _SHIFT, ">>": _SHIFT, "+": _SUM, "-": _SUM, "**": _POWER}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_DUAL = {"any": "all", "all": "any"}
_TRUTHS = frozenset(
    "any all isnan isinf isfinite logical_not logical_and logical_or isclose bool eq ne lt le gt ge".split()
)


@late.dataclass(frozen=True, slots=True)
class Written:
    """The text of an expression, how strongly its outermost operator binds, and whether it gives booleans."""

    text: str
    level: int = _CLOSED
    truth: bool = True

    def within(self, level: int) -> str:
        """The text as an operand of an operator that binds as strongly as `level`."""
        return self.text if self.level > level else f"({self.text})"


def condition(function: FunctionFacts, reg: Reg, torch: str, negated: bool = False) -> str:
    """The text of a condition, or of its opposite, as one tensor; "" for what is none."""
    made = _written(function, reg, torch, negated)
    return made.text if made is not None else ""


def binding(function: FunctionFacts, reg: Reg) -> int:
    """How strongly the outermost operator of an expression binds, as it stands in the text without its parentheses."""
    made = function.code[reg]
    if isinstance(made, p.Binary):
        return _LEVELS.get(made.operator, _PRODUCT)
    if isinstance(made, p.Unary):
        return _SIGN if made.operator != "not" else _COMPARISON - 1
    if isinstance(made, p.Compare):
        return _COMPARISON
    if isinstance(made, p.Const):
        return _SIGN if function.text(reg).startswith(("-", "+")) else _CLOSED
    if isinstance(made, p.Load | p.Outer | p.Attr | p.Subscript | p.Call | p.Collect | p.Mapping | p.Format):
        return _CLOSED
    return _CLOSED if isinstance(made, p.Sequence) and made.kind != "tuple" else _COMPARISON - 1


def factor(function: FunctionFacts, reg: Reg) -> str:
    """The text of an expression as a factor of a product, with parentheses only where it needs them."""
    return _operand(function, reg, _SUM)


def _operand(function: FunctionFacts, reg: Reg, level: int) -> str:
    whole = function.outer_text(reg)
    return whole if whole != function.text(reg) or binding(function, reg) > level else f"({whole})"


def _written(function: FunctionFacts, reg: Reg, torch: str, negated: bool) -> Written | None:
    made = function.code[reg]
    if isinstance(made, p.Unary) and made.operator == "not":
        return _written(function, made.operand, torch, not negated)
    if isinstance(made, p.Boolean):
        return _joined(function, made, torch, negated)
    if not function.has_text(reg):
        return None
    if called(function, reg) == "torch.equal" and isinstance(made, p.Call) and len(made.args) == 2:
        one, other = (_operand(function, r, _COMPARISON) for r in made.args)
        return Written(f"({one} != {other}).any()" if negated else f"({one} == {other}).all()")
    value = function.values[reg]
    if value.kinds != TENSOR or not value.places & ON_DEVICE:
        return None
    if negated:
        return _opposite(function, reg, torch)
    return Written(function.text(reg), binding(function, reg), _truth(function, reg))


def _joined(function: FunctionFacts, made: p.Boolean, torch: str, negated: bool) -> Written | None:
    """`a and b`, or its opposite `not a or not b`."""
    found = [_written(function, r, torch, negated) for r in made.operands]
    parts = [one for one in found if one is not None]
    if len(parts) < len(found):
        return None
    word = {"and": "or", "or": "and"}[made.operator] if negated else made.operator
    if all(one.truth for one in parts):
        sign, level = ("&", _AND) if word == "and" else ("|", _OR)
        return Written(f" {sign} ".join(one.within(level - 1) for one in parts), level)
    text = parts[0].text
    for one in parts[1:]:
        text = f"{torch}.logical_{word}({text}, {one.text})"
    return Written(text)


def _opposite(function: FunctionFacts, reg: Reg, torch: str) -> Written:
    """What is true where a tensor is not. A comparison that a NaN takes part in is false either way."""
    made = function.code[reg]
    if isinstance(made, p.Compare) and len(made.operators) == 1 and made.operators[0] in _OPPOSITE:
        one, other = (function.outer_text(r) for r in made.operands)
        return Written(f"{one} {_OPPOSITE[made.operators[0]]} {other}", _COMPARISON)
    name = called(function, reg)
    last = method(function, reg) or name.removeprefix("torch.")
    inner = receiver(function, reg) if method(function, reg) else None
    if inner is None and isinstance(made, p.Call) and len(made.args) == 1 and name.startswith("torch."):
        inner = made.args[0]
    whole = isinstance(made, p.Call) and not made.keywords and (not made.args or inner in made.args)
    if last in _DUAL and inner is not None and whole and _comparison(function, inner):
        return Written(f"({_opposite(function, inner, torch).text}).{_DUAL[last]}()")
    if last == "logical_not" and inner is not None and whole and function.has_text(inner):
        return Written(function.outer_text(inner), binding(function, inner), _truth(function, inner))
    if isinstance(made, p.Unary) and made.operator == "~":
        return Written(function.outer_text(made.operand), binding(function, made.operand), True)
    if _truth(function, reg):
        return Written(f"~{_operand(function, reg, _SIGN - 1)}", _SIGN)
    return Written(f"{torch}.logical_not({function.text(reg)})")


def _comparison(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Compare) and len(made.operators) == 1 and made.operators[0] in _OPPOSITE


def _truth(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor of booleans for certain."""
    made = function.code[reg]
    last = method(function, reg) or called(function, reg).removeprefix("torch.")
    if last in ("any", "all"):  # those of bytes give bytes, of all others booleans
        return True
    return bool(function.values[reg].flags & BOOLEAN) or isinstance(made, p.Compare) or last in _TRUTHS
