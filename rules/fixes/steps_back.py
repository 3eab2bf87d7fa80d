"""The steps back from what is moved to the creation that it comes from: views, casts, numbers it is computed with, a
variable; and how safe it is that they compute the same on the device (`recreating.py` says what is proven)."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import ARRAY, CONTAINER, DTYPE, HOST_VALUE, TENSOR
from transferlint.model import Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings
from ..code.chains import called, captured
from ..proofs import proven, widths
from . import creating, modernising

_SAME_VALUES = frozenset(
    "unsqueeze squeeze view reshape repeat flatten ravel t transpose permute swapaxes contiguous clone detach"
    " long int short byte bool half bfloat16 float double char tril triu flip roll".split()
)
_OTHERWISE = frozenset("expand mul add sub div clamp neg abs pow cumsum sum fill_ mul_ add_ sub_ zero_".split())
_FUNCTIONS = frozenset({"tril", "triu", "unsqueeze", "squeeze", "reshape", "round", "floor", "ceil", "transpose"})
_OPERATORS = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_TYPES = frozenset({"int", "float", "bool"})
_SIZES = frozenset({"shape", "size", "dim", "numel", "ndim", "dtype"})


def origin_of(function: FunctionFacts, reg: Reg) -> tuple[Reg, Safety, bool] | None:
    """The creation that a moved tensor comes from, how safe it is that what stands between computes the same on the
    device, and whether a variable is among it; None where that cannot be said."""
    safety, variable, rounded = Safety.SAFE, False, False
    for _ in range(16):
        root, _, last = called(function, reg).rpartition(".")
        if root in ("torch", "torch.cuda") and last in creating.MAKERS | modernising.LEGACY.keys():
            return reg, Safety.DISPLAY if rounded and _spaced(function, reg) else safety, variable
        found = _step(function, reg)
        if found is None:
            return None
        step, (reg, least) = reg, found
        if _rounds(function, step, reg):
            least, rounded = min(least, Safety.UNSAFE), True
        safety = min(safety, least)
        if isinstance(store := function.code[reg], p.Store):
            reg, variable = store.value, True
    return None


def _step(function: FunctionFacts, reg: Reg) -> tuple[Reg, Safety] | None:
    """What a register was computed from on the way to the creation, and how safe that is."""
    at = function.code[reg]
    if isinstance(at, p.Call):
        return _call(function, reg, at)
    if isinstance(at, p.Attr):
        return (at.object, Safety.SAFE) if at.name in ("T", "mT") else None
    if isinstance(at, p.Subscript):
        inner = [r for r in function.expression(at.index)]
        if any(function.values[r].kinds & (TENSOR | ARRAY) for r in inner):
            return None
        return at.object, Safety.SAFE if all(_whole(function.code[r]) for r in inner) else Safety.UNSAFE
    if isinstance(at, p.Binary) and not at.inplace and at.operator in _OPERATORS:
        left = function.values[at.left].is_a(TENSOR)
        other = function.values[at.right if left else at.left].kinds
        if other & (TENSOR | ARRAY | CONTAINER):
            return None
        return (at.left if left else at.right), (Safety.UNSAFE if other == HOST_VALUE else Safety.DISPLAY)
    if isinstance(at, p.Load):
        store = _kept(function, reg, at.slot)
        return None if store is None else (store, Safety.UNSAFE)
    return None


def _whole(index: p.Instruction) -> bool:
    """True for a part of an index that takes all there is: None, `...`, `:`."""
    if isinstance(index, p.Const):
        return index.value is None or index.value is ...
    if isinstance(index, p.Slice):
        return index.lower is index.upper is index.step is None
    return isinstance(index, p.Sequence)


def _rounds(function: FunctionFacts, step: Reg, inner: Reg) -> bool:
    """True for a cast to whole numbers of what may be fractions: all but ones, zeros and ranges of whole numbers."""
    target = widths.target_type(function, step)
    if not target or target in widths.FRACTIONS or target == "bool":
        return False
    return not counts(function, inner)


def _spaced(function: FunctionFacts, reg: Reg) -> bool:
    """True for fractions at equal distances, which the device may round to another whole number."""
    return called(function, reg).rpartition(".")[2] in ("linspace", "logspace", "arange") and not counts(function, reg)


def counts(function: FunctionFacts, made: Reg) -> bool:
    """True for a creation of whole numbers that every type holds."""
    root, _, last = called(function, made).rpartition(".")
    create = function.code[made]
    whole = root == "torch" and last in ("zeros", "ones", "eye", "arange")
    return whole and isinstance(create, p.Call) and creating.exact(function, create)


def _call(function: FunctionFacts, reg: Reg, made: p.Call) -> tuple[Reg, Safety] | None:
    callee = function.code[made.function]
    name = called(function, reg)
    keywords = [r for _, r in made.keywords]
    if any(made.stars) and (name or not isinstance(callee, p.Attr)):
        return None
    if name:
        root, _, last = name.rpartition(".")
        rest = [*made.args[1:], *keywords]
        if root != "torch" or last not in _FUNCTIONS or not made.args:
            return None
        subject, safety = made.args[0], Safety.SAFE if last in _SAME_VALUES else Safety.UNSAFE
    elif isinstance(callee, p.Attr):
        rest = [*made.args, *keywords]
        subject, safety = callee.object, Safety.SAFE if callee.name in _SAME_VALUES else Safety.UNSAFE
        if callee.name in ("to", "type"):
            if len(rest) != 1 or not (function.values[rest[0]].kinds == DTYPE or function.text(rest[0]) in _TYPES):
                return None
            known = callee.name == "to" and (proven.dtype(function, rest[0]) or bool(bindings.api(function, rest[0])))
            safety = Safety.SAFE if known else Safety.UNSAFE
        elif callee.name not in _SAME_VALUES | _OTHERWISE:
            return None
    else:
        return None
    return None if any(function.values[r].kinds & (TENSOR | ARRAY) for r in rest) else (subject, safety)


def _kept(function: FunctionFacts, reg: Reg, slot: int) -> Reg | None:
    """Where the variable was bound that is moved, if nobody else reads the tensor on the host before or after."""
    if any(q.slot == slot for q in function.function.parameters) or captured(function, slot):
        return None
    stores = function.stores(slot)
    before = [r for r in stores if r < reg]
    after = min((r for r in stores if r > reg), default=len(function.code))
    if len(before) != 1 or function.loops(before[0]) != function.loops(reg) or not function.has_text(before[0]):
        return None
    if function.function.kind in ("module", "class"):
        return None
    for other, load in enumerate(function.code):
        if not isinstance(load, p.Load) or load.slot != slot or other == reg or other > after:
            continue
        if other < before[0] or other > reg or not all(_harmless(function, other, u) for u in function.users(other)):
            return None
    return before[0]


def _harmless(function: FunctionFacts, load: Reg, user: Reg) -> bool:
    """True for a use that is the same on the device: asking for the size, setting numbers."""
    made = function.code[user]
    if isinstance(made, p.Attr):
        return made.name in _SIZES
    if not isinstance(made, p.SetItem) or made.object != load or function.values[made.value].kinds != HOST_VALUE:
        return False
    return not any(function.values[r].kinds & (TENSOR | ARRAY) for r in function.expression(made.index))
