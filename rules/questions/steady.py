"""What is known before a loop, or before a call: an upload of it could be left out, that of new values cannot."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import CONTAINER, HOST_VALUE, TENSOR
from transferlint.syntax import program as p

from ..code.chains import called, origin

_NUMBERS = frozenset(f"builtins.{name}" for name in ("float", "int", "round", "abs", "min", "max"))
_COUNTS = frozenset({"builtins.range", "builtins.enumerate"})


def steady(function: FunctionFacts, reg: p.Reg) -> bool:
    """True for what is known before the loop, or before the call: what is written in the source, settings of an object,
    names of a module, counters, the elements of lists, and what is computed from such numbers."""
    made = function.code[reg]
    if isinstance(made, p.Load) and (start := origin(function, reg)) != reg:
        return _in_turn(function, reg, made.slot) or steady(function, start)
    if isinstance(made, p.Sequence):
        return all(steady(function, item) for item in made.items)
    if isinstance(made, p.Choice):
        return steady(function, made.body) and steady(function, made.orelse)
    if isinstance(made, p.Collect):
        return steady(function, made.value)
    if isinstance(made, p.Unary):
        return steady(function, made.operand)
    if isinstance(made, p.Binary):
        left = function.code[made.left]
        if made.operator == "*" and isinstance(left, p.Sequence):  # of whatever length: the device fills in one number
            return len(left.items) == 1 or steady(function, made.left)
        return steady(function, made.left) and steady(function, made.right)
    if isinstance(made, p.Subscript):
        return _table(function, made.object) or (steady(function, made.object) and steady(function, made.index))
    if isinstance(made, p.Attr):
        return isinstance(function.code[origin(function, made.object)], p.Load | p.Outer | p.Attr)
    if isinstance(made, p.Call):
        callee = function.code[made.function]
        if called(function, reg) in _NUMBERS:
            return all(steady(function, one) for one in made.args)
        return isinstance(callee, p.Attr) and callee.name == "get" and steady(function, made.function)
    return isinstance(made, p.Const | p.Outer) or (isinstance(made, p.Load) and _in_turn(function, reg, made.slot))


def _table(function: FunctionFacts, reg: p.Reg) -> bool:
    """True for a list that is not made here: all of it can be uploaded once."""
    made = function.code[reg]
    kept = isinstance(made, p.Outer) or (isinstance(made, p.Load) and not function.stores(made.slot))
    return kept and _is_list(function, reg)


def _is_list(function: FunctionFacts, reg: p.Reg) -> bool:
    return bool(function.values[reg].kinds & (CONTAINER | HOST_VALUE)) and not function.values[reg].kinds & TENSOR


def _in_turn(function: FunctionFacts, reg: p.Reg, slot: p.Slot) -> bool:
    """True for the variable of a loop over numbers or a list."""
    for index in function.loops(reg):
        region = function.function.regions[index]
        if slot in region.target_slots and region.test is not None:
            return called(function, region.test) in _COUNTS or _is_list(function, region.test)
    return False
