"""Expressions that read like a transfer, and why nothing was recorded for them.

A reader who asks about a line asks about these: `x.to(torch.float16)`, `array.item()`, `scores[mask]` on the host.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import ARRAY, DTYPE, HOST_VALUE, NAME, OBJECT, TENSOR, UNKNOWN, Value
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_METHODS = frozenset(
    "to cuda cpu xpu type item tolist numpy nonzero masked_select unique synchronize pin_memory copy_"
    " new_tensor".split()
)
_BUILTINS = frozenset({"float", "int", "bool", "complex", "round"})
_FUNCTIONS = frozenset(
    "nonzero unique masked_select bincount tensor as_tensor from_numpy asarray array synchronize equal allclose".split()
)


def lookalikes(function: FunctionFacts, line: int) -> Iterator[tuple[Reg, Reg | None]]:
    """Expressions of a line that read like a transfer, recorded as one or not, with the register of what would
    cross (None: nothing is given that could)."""
    for reg, made in enumerate(function.code):
        if not isinstance(made, p.Call | p.Subscript | p.Test) or not function.has_text(reg):
            continue
        site = function.site(reg)
        if not site.line <= line <= site.end_line:
            continue
        if isinstance(made, p.Call):
            yield from _call(function, reg, made)
        elif isinstance(made, p.Subscript):
            if _may_be_tensor(function, made.index):
                yield reg, made.index
        elif _may_be_tensor(function, made.value) and function.has_text(made.value):
            yield reg, made.value


def _may_be_tensor(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor, and for what is computed on the device or from a comparison of what may be."""
    value = function.values[reg]
    return bool(value.kinds & TENSOR) or (bool(value.kinds & UNKNOWN) and value.on_device)


def _call(function: FunctionFacts, reg: Reg, made: p.Call) -> Iterator[tuple[Reg, Reg | None]]:
    callee = function.code[made.function]
    first = made.args[0] if made.args else None
    if isinstance(callee, p.Attr):
        module = function.values[callee.object].is_a(NAME)
        if callee.name in (_FUNCTIONS if module else _METHODS):
            yield reg, first if module else callee.object
        return
    asked = isinstance(callee, p.Outer) and callee.name in _BUILTINS and first is not None
    if asked and first is not None and not isinstance(function.code[first], p.Const):
        yield reg, first


def nothing_recorded(function: FunctionFacts, reg: Reg, value: Value | None) -> str:
    """Why nothing was recorded for what reads like a transfer."""
    made = function.code[reg]
    if function.role.skip:
        return "this function is compiled for the device; the host does not run it"
    if value is None:
        return "it is called without data that could be transferred"
    if isinstance(made, p.Call) and _names_dtype(function, made):
        return "it names a dtype and no device: no transfer"
    if value.is_a(ARRAY | HOST_VALUE | DTYPE) or value.on_host:
        return "host value: no transfer"
    if value.is_a(OBJECT):
        return "an object of another class, not a tensor"
    if value.kinds & TENSOR and value.on_device:
        return "no transfer is known for this operation"
    if value.kinds & TENSOR:
        return "it is not known which device this tensor is on"
    return "it is not known to be a tensor"


def _names_dtype(function: FunctionFacts, made: p.Call) -> bool:
    callee = function.code[made.function]
    if not isinstance(callee, p.Attr) or callee.name not in ("to", "type"):
        return False
    given = [*made.args, *(reg for key, reg in made.keywords if key in ("dtype", "memory_format"))]
    return bool(given) and all(function.values[reg].is_a(DTYPE) or _is_dtype(function, reg) for reg in given)


def _is_dtype(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Attr) and (made.name == "dtype" or made.name.endswith("_format"))
