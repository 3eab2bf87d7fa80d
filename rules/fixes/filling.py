"""How a tensor of one number is written: `torch.zeros(n)`, `torch.ones(n)`, `torch.full((n,), value)`."""

from __future__ import annotations

import re

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import ARRAY, CONTAINER, DTYPE, TENSOR
from transferlint.model import Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, rewriting
from ..code.chains import called
from ..proofs import proven, widths
from . import creating

_SMALL = 2**7  # what every type holds
_NUMBERS = frozenset(
    {"builtins.float", "builtins.int", "builtins.len", "builtins.bool"}
    | {f"{root}.{name}" for root in ("math", "numpy") for name in ("pi", "e", "inf", "nan")}
)
_ANNOTATIONS = frozenset({"int", "float", "bool"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_DEEP = 8


@late.dataclass(frozen=True, slots=True)
class Filling:
    """A function of torch that fills with one number, and its arguments but for those that the other text had."""

    maker: str
    arguments: tuple[str, ...]
    shape: str
    value: Reg
    safety: Safety


def filling(function: FunctionFacts, data: Reg, torch: str, dtype: Reg | str | None) -> Filling | None:
    """What `torch.tensor(data)` is filled by; None where the data is not one number. `dtype`: the one that stands
    beside it, or its text.

    Safe where the number is proven to be one. `zeros` and `ones` are told the type that the number has where none is
    given (`torch` is what the module is called); where the one given may be None, which asks for that of the number,
    `full` of a number for which there are these is only shown."""
    shape, value, safety = _content(function, data)
    if value is None:
        return None
    made = function.code[value]
    number = made.value if isinstance(made, p.Const) else None
    if number not in (0, 1) or type(number) is bool:
        if shape == "()" and safety is Safety.UNSAFE:
            safety = Safety.DISPLAY  # the number itself may do
        return Filling("full", (shape, function.outer_text(value)), shape, value, safety)
    size = shape[1:-2] if shape.endswith(",)") else shape
    size = size[1:-1] if re.fullmatch(r"\([^()]*\)", size) and size != "()" else size
    arguments: tuple[str, ...] = (size,)
    if dtype is None and type(number) is not float:
        arguments = (size, f"dtype={torch}long")
    elif isinstance(dtype, Reg) and not (named := _named(function, dtype)):
        if named is None:
            return Filling("full", (shape, function.outer_text(value)), shape, value, Safety.DISPLAY)
        safety = Safety.UNSAFE
    return Filling("ones" if number else "zeros", arguments, shape, value, safety)


def spread(function: FunctionFacts, data: Reg, arguments: tuple[str, ...]) -> str:
    """The text of arguments in place of `data`: each on a line of its own where that has one."""
    text = function.file.text
    start, end = function.outer_span(data)
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    apart = not text[line:start].strip() and re.match(r"\s*,[ \t]*[\r\n]", text[end:]) is not None
    return (f",{rewriting.newline(function)}{text[line:start]}" if apart else ", ").join(arguments)


def _named(function: FunctionFacts, reg: Reg) -> bool | None:
    """True for a dtype of torch's, or a tensor's; False for what is one by all that is written, and None for others:
    with `dtype=None` the number would say which one it is."""
    made = function.code[reg]
    owner = made.object if isinstance(made, p.Attr) and made.name == "dtype" else None
    owned = owner is not None
    if bindings.api(function, reg).startswith("torch.") or (owner is not None and function.values[owner].is_a(TENSOR)):
        return True
    absent = isinstance(made, p.Load) and any(
        one.slot == made.slot and one.default == "None" for one in function.function.parameters
    )
    return False if owned or (function.values[reg].kinds == DTYPE and not absent) else None


def fits(function: FunctionFacts, made: p.Call, value: Reg) -> bool:
    """True where the number is the same in the type that is asked for: none, one of those that both functions convert
    to alike, or any, for a number that each of them holds."""
    asked = dict(made.keywords).get("dtype")
    if asked is None or bindings.api(function, asked).removeprefix("torch.") in widths.BYTES:
        return True
    number = function.code[value]
    return isinstance(number, p.Const) and type(number.value) in (int, bool) and 0 <= number.value < _SMALL


def _content(function: FunctionFacts, reg: Reg) -> tuple[str, Reg | None, Safety]:
    """The shape and the number that fills it; None where it is not one number."""
    made = function.code[reg]
    if isinstance(made, p.Binary) and made.operator == "*" and not made.inplace:
        inner, value, _ = _content(function, made.left)
        if inner == "(1,)" and value is not None and _countable(function, made.right):
            return f"({function.outer_text(made.right)},)", value, Safety.UNSAFE
        return "", None, Safety.UNSAFE
    if isinstance(made, p.Sequence):
        same = made.kind == "list" and bool(made.items) and not any(made.stars)
        same = same and len({repr(getattr(function.code[r], "value", r)) for r in made.items}) == 1
        if not same or (len(made.items) > 1 and not isinstance(function.code[made.items[0]], p.Const)):
            return "", None, Safety.UNSAFE
        if len(made.items) > 1:
            how = _number(function, made.items[0])
            return (f"({len(made.items)},)", made.items[0], how) if how is not None else ("", None, Safety.UNSAFE)
        how = _number(function, made.items[0])
        return ("(1,)", made.items[0], how) if how is not None else ("", None, Safety.UNSAFE)
    how = _number(function, reg)
    return ("()", reg, how) if how is not None else ("", None, Safety.UNSAFE)


def _countable(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return creating.integer(function, reg) or not value.kinds & (TENSOR | ARRAY | CONTAINER)


def _number(function: FunctionFacts, reg: Reg) -> Safety | None:
    """Safe for what is a number of Python for certain, unsafe for what its annotation says is one; None for all else:
    a list, a size or a tensor would be another tensor."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        known = type(made.value) in (int, float, bool) and proven.representable(function, reg)
        return Safety.SAFE if known else None
    if proven.number(function, reg) and proven.representable(function, reg):
        return Safety.SAFE
    if isinstance(made, p.Unary) and made.operator in ("-", "+"):
        how = _number(function, made.operand)
        return Safety.UNSAFE if how is not None else None
    name = called(function, reg) or function.file.placement.names.dotted(function.function, reg)
    if name in _NUMBERS:
        return Safety.UNSAFE
    value = function.values[reg]
    if value.kinds & (TENSOR | ARRAY | CONTAINER) or isinstance(made, p.Sequence | p.Collect | p.Mapping):
        return None
    return Safety.UNSAFE if _numeric(function, reg, _DEEP) else None


def _numeric(function: FunctionFacts, reg: Reg, depth: int) -> bool:
    """True for a number by all that is written: constants, annotations, and what is computed from numbers."""
    made = function.code[reg]
    if depth == 0:
        return False
    if isinstance(made, p.Const):
        return type(made.value) in (int, float, bool)
    if isinstance(made, p.Load):
        given = next((one for one in function.function.parameters if one.slot == made.slot), None)
        if given is not None and given.annotation not in _ANNOTATIONS:
            return False
        stores = [one.value for r in function.stores(made.slot) if isinstance(one := function.code[r], p.Store)]
        known = all(_numeric(function, r, depth - 1) for r in stores) and len(stores) == len(function.stores(made.slot))
        return known and (bool(stores) or given is not None)
    if isinstance(made, p.Binary) and made.operator in _ARITHMETIC:
        return _numeric(function, made.left, depth - 1) and _numeric(function, made.right, depth - 1)
    if isinstance(made, p.Unary) and made.operator in ("-", "+"):
        return _numeric(function, made.operand, depth - 1)
    if isinstance(made, p.Choice):
        return _numeric(function, made.body, depth - 1) and _numeric(function, made.orelse, depth - 1)
    name = called(function, reg) or function.file.placement.names.dotted(function.function, reg)
    return name in _NUMBERS or creating.integer(function, reg)
