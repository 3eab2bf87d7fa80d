"""What `isinstance` tests say of a variable in the branches they guard."""

from __future__ import annotations

from transferlint.flow.names import Names
from transferlint.flow.values import ANYWHERE, CONTAINER, HOST_VALUE, PYTHON, UNKNOWN, Value
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

_PYTHON_TYPES = frozenset(
    f"builtins.{name}" for name in "int float str bool bytes complex list tuple dict set range slice".split()
) | {"numbers.Number", "numbers.Real", "numbers.Integral", "numpy.ndarray", "pathlib.Path"}
_TENSOR_TYPES = frozenset({"torch.Tensor", "torch.nn.Parameter"})
_ELSE = Value(HOST_VALUE | CONTAINER | UNKNOWN, ANYWHERE)


def narrowed(names: Names, function: Function) -> dict[int, dict[Slot, tuple[Value, Reg]]]:
    """By region: the variables that its test shows to be no tensors, each with the register from which on that is no
    longer so, because the region binds it anew."""
    found: dict[int, dict[Slot, tuple[Value, Reg]]] = {}
    stores: dict[Slot, list[tuple[Reg, int]]] | None = None
    for number, region in enumerate(function.regions):
        if region.kind not in ("then", "else") or region.test is None:
            continue
        for slot, value in _says(names, function, region.test, region.kind == "then"):
            if stores is None:
                stores = _stores(function)
            found.setdefault(number, {})[slot] = value, _bound(function, number, stores.get(slot, []))
    return found


def _says(names: Names, function: Function, reg: Reg, when: bool) -> list[tuple[Slot, Value]]:
    made = function.code[reg]
    if isinstance(made, p.Unary) and made.operator == "not":
        return _says(names, function, made.operand, not when)
    if isinstance(made, p.Boolean) and (made.operator == "and") == when:
        return [fact for operand in made.operands for fact in _says(names, function, operand, when)]
    if not isinstance(made, p.Call) or not made.args:
        return []
    subject = function.code[made.args[0]]
    callee = names.dotted(function, made.function)
    if not isinstance(subject, p.Load):
        return []
    if callee == "torch.is_tensor":
        return [] if when else [(subject.slot, _ELSE)]
    if callee != "builtins.isinstance" or len(made.args) != 2:
        return []
    kinds = function.code[made.args[1]]
    types = [names.dotted(function, r) for r in (kinds.items if isinstance(kinds, p.Sequence) else (made.args[1],))]
    if when and all(t in _PYTHON_TYPES for t in types):
        scalars = all(t not in ("builtins.list", "builtins.tuple", "builtins.dict", "builtins.set") for t in types)
        return [(subject.slot, PYTHON if scalars else _ELSE)]
    if not when and any(t in _TENSOR_TYPES for t in types):
        return [(subject.slot, _ELSE)]
    return []


def _stores(function: Function) -> dict[Slot, list[tuple[Reg, int]]]:
    """Where each variable is stored: register and region, in program order."""
    found: dict[Slot, list[tuple[Reg, int]]] = {}
    for block in function.blocks:
        for reg in range(block.start, block.end):
            made = function.code[reg]
            if isinstance(made, p.Store):
                found.setdefault(made.slot, []).append((reg, block.region))
    return found


def _bound(function: Function, region: int, stores: list[tuple[Reg, int]]) -> Reg:
    """The first of the stores that stands in the region or one inside it; beyond the code if none does."""
    for reg, at in stores:
        while at > region:  # a region's number is higher than that of what encloses it
            at = function.regions[at].parent
        if at == region:
            return reg
    return len(function.code)
