"""What a safe fix must know, one function for each obligation. Each answers True on proof alone; what is not known is
no proof (`kinds.py` says what counts).

The builders of safe fixes name in their docstrings what they have to prove, and ask here:

| obligation | asked by |
| --- | --- |
| it is a tensor, nothing that only has such a method | `tensor` |
| it names a place: not a tensor, a dtype or a number in disguise | `device` |
| it is a dtype | `dtype` |
| it is a Python number, that a tensor can hold | `number`, `integer`, `representable` |
| it has the same value at another point of the function | `unchanged` |
| it has no effect, so that it may run earlier, twice or not at all | `quiet`, `harmless` |
| it takes no part in gradients | `without_gradient` |
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.knowledge.torch_kinds import (
    A_DTYPE,
    A_TENSOR,
    AN_INTEGER,
    ANSWERS,
    COMPARISONS,
    DEVICE,
    INTEGER,
    MAKERS,
    NONE,
    NUMBERS,
    OF_TENSOR,
    OPERATIONS,
    REDUCTIONS,
    TENSOR_METHODS,
    TEXT,
    Kinds,
)
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot
from transferlint.syntax.regions import Region

from ..code import bindings
from . import kinds as kinds_of

# Methods that no tensor refuses, whatever its type and shape.
_ASKED = frozenset("detach cpu clone float double long int bool sum numel nelement dim ndimension".split())
_LARGEST = 3.4028234663852886e38  # of float32, torch's default type
_LONG = 2**63
_RAISE_FOR_OTHERS = MAKERS - {"torch.from_numpy"} | {"torch.device"}
_EFFECTLESS = frozenset(ANSWERS) - {"builtins.str", "builtins.repr", "builtins.format", "builtins.bool", "builtins.len"}


def kinds(function: FunctionFacts, reg: Reg) -> Kinds | None:
    """The kinds that a value can have, None where they are not known."""
    made = function.code[reg]
    return _variable(function, made.slot) if isinstance(made, p.Load) else kinds_of.Inference().of(function, reg)


@once
def _variable(function: FunctionFacts, slot: Slot) -> Kinds | None:
    return kinds_of.Inference().variable(function, slot)


def tensor(function: FunctionFacts, reg: Reg) -> bool:
    """True for what is a tensor."""
    return kinds(function, reg) == A_TENSOR


def device(function: FunctionFacts, reg: Reg, absent: bool = False) -> bool:
    """True for the name of a place: a `torch.device`, a string, an index; with `absent` None as well. What torch has
    taken for `device=` before is one too: it refuses tensors and dtypes there."""
    found = kinds(function, reg)
    if found is None:
        return absent and _taken_before(function, reg)
    return bool(found) and found <= {DEVICE, TEXT, INTEGER} | ({NONE} if absent else set())


def scalar(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor without dimensions: what a reduction of a tensor over all of them gives."""
    return tensor(function, reg) and throughout(function, reg, _reduced)


def mask(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor of booleans: what comparing tensors gives."""
    return tensor(function, reg) and throughout(function, reg, _compared)


def dtype(function: FunctionFacts, reg: Reg) -> bool:
    """True for a `torch.dtype`."""
    return kinds(function, reg) == A_DTYPE


def integer(function: FunctionFacts, reg: Reg) -> bool:
    """True for an `int` of Python."""
    return kinds(function, reg) == AN_INTEGER


def number(function: FunctionFacts, reg: Reg) -> bool:
    """True for an `int`, a `float` or a `bool` of Python."""
    found = kinds(function, reg)
    return bool(found) and found is not None and found <= NUMBERS


def representable(function: FunctionFacts, reg: Reg) -> bool:
    """True for a number of Python that torch's functions take alike: an `int` of 64 bits, a `float` that is not finite
    or no larger than the largest of float32. `torch.full` refuses what is larger, where `torch.tensor` gives inf."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        if type(made.value) is float:
            return not math.isfinite(made.value) or abs(made.value) <= _LARGEST
        return type(made.value) is bool or (type(made.value) is int and -_LONG < made.value < _LONG)
    if isinstance(made, p.Unary):
        return made.operator in ("-", "+", "not") and representable(function, made.operand)
    if isinstance(made, p.Call):
        name = bindings.api(function, made.function)
        given = function.code[made.args[0]] if len(made.args) == 1 and not made.keywords else None
        if name == "builtins.float" and isinstance(given, p.Const):
            return str(given.value).strip().lower().lstrip("+-") in ("inf", "infinity", "nan")
        if name in ("builtins.len", "builtins.bool"):
            return True
        callee = function.code[made.function]  # sizes of tensors are 64 bits wide
        if not isinstance(callee, p.Attr) or callee.name not in ("size", "dim", "numel", "ndimension", "nelement"):
            return False
        return tensor(function, callee.object) and integer(function, reg)
    if isinstance(made, p.Attr):
        return bindings.api(function, reg).startswith("math.") and number(function, reg)
    if isinstance(made, p.Subscript):
        whole = function.code[made.object]
        return isinstance(whole, p.Attr) and whole.name == "shape" and integer(function, reg)
    return False


def unchanged(function: FunctionFacts, reg: Reg, start: Reg, stop: Reg) -> bool:
    """True where an expression has the same value when it is computed at `start` as at `stop`, before which it stands:
    nothing between binds its names, and no code of others runs there that could."""
    between = range(start, stop)
    own = set(function.expression(reg))
    stored = {i.slot for r in between if isinstance(i := function.code[r], p.Store | p.Delete)}

    @functools.cache
    def foreign() -> bool:
        return any(r not in own and not quiet(function, r) for r in between)

    for at in own:
        made = function.code[at]
        if isinstance(made, p.Load):
            if made.slot in stored or (bindings.bound_elsewhere(function, made.slot) and foreign()):
                return False
        elif isinstance(made, p.Attr | p.Outer):
            if not bindings.api(function, at) and not bindings.settled(function, at) and foreign():
                return False
        elif not isinstance(made, p.Const) and not quiet(function, at):
            return False
    return True


def quiet(function: FunctionFacts, reg: Reg) -> bool:
    """True for an instruction that neither binds nor writes anything, and runs no code but torch's and Python's own."""
    made = function.code[reg]
    if isinstance(made, p.Const | p.Load | p.Outer | p.Slice | p.Sequence | p.Choice | p.Test | p.Boolean):
        return True
    if isinstance(made, p.Attr):
        return bool(bindings.api(function, reg)) or bool(kinds(function, made.object))
    if isinstance(made, p.Binary):
        return not made.inplace and kinds(function, reg) is not None
    if isinstance(made, p.Unary | p.Compare | p.Subscript | p.Format):
        known = [r for r in _parts(made) if kinds(function, r) is not None or _index(function, r)]
        return len(known) == len(list(_parts(made)))
    if isinstance(made, p.Call):
        return _quiet_call(function, made)
    return False


def harmless(function: FunctionFacts, reg: Reg) -> bool:
    """True for an expression that has no effect and cannot raise: constants, names that are bound, what a tensor knows
    of itself, and what can be asked of any tensor. It may be left out."""
    return all(_harmless(function, at) for at in function.expression(reg))


def _harmless(function: FunctionFacts, at: Reg) -> bool:
    made = function.code[at]
    if isinstance(made, p.Load | p.Outer):
        return bindings.bound(function, at)
    if isinstance(made, p.Attr):
        of_tensor = made.name in OF_TENSOR or made.name in _ASKED or made.name == "item"
        return bool(bindings.api(function, at)) or (of_tensor and tensor(function, made.object))
    if isinstance(made, p.Format):
        plain = not re.search(r"\{[^{}]*[:!][^{}]*\}", function.text(at))
        return plain and all(kinds(function, r) is not None for r in made.values)
    if isinstance(made, p.Call):
        callee = function.code[made.function]
        if made.args or made.keywords or not isinstance(callee, p.Attr) or not tensor(function, callee.object):
            return False
        return callee.name in _ASKED or (callee.name == "item" and scalar(function, callee.object))
    return isinstance(made, p.Const)


def without_gradient(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor that is made of numbers alone, by one call, and never asked to require a gradient."""
    words = ("requires_grad", "requires_grad_")
    asked = any(function.attributes(word, kind) for word in words for kind in (p.Attr, p.SetAttr))
    return not asked and throughout(function, reg, _of_numbers)


def throughout(function: FunctionFacts, reg: Reg, holds: Callable[[FunctionFacts, Reg], bool], depth: int = 8) -> bool:
    """True where something holds of a value, whichever of the things that are stored in its variable it is."""
    made = function.code[reg]
    if not isinstance(made, p.Load):
        return holds(function, reg)
    return _of_all_stored(function, made.slot, holds, depth)


@once
def _of_all_stored(
    function: FunctionFacts, slot: Slot, holds: Callable[[FunctionFacts, Reg], bool], depth: int
) -> bool:
    given = any(q.slot == slot for q in function.function.parameters)
    if given or depth == 0 or bindings.bound_elsewhere(function, slot):
        return False
    stores = [i.value for r in function.stores(slot) if isinstance(i := function.code[r], p.Store)]
    return bool(stores) and all(throughout(function, r, holds, depth - 1) for r in stores)


def _of_numbers(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    if not isinstance(made, p.Call) or {"requires_grad", ""} & {key for key, _ in made.keywords}:
        return False
    return bindings.api(function, made.function) in MAKERS


def _reduced(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    if not isinstance(made, p.Call) or made.keywords:
        return False
    callee = function.code[made.function]
    if isinstance(callee, p.Attr) and not bindings.api(function, made.function):
        return callee.name in REDUCTIONS and not made.args and tensor(function, callee.object)
    return bindings.api(function, made.function).removeprefix("torch.") in REDUCTIONS and len(made.args) == 1


def _compared(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    if isinstance(made, p.Compare):
        return True
    if isinstance(made, p.Binary):
        both = (made.left, made.right)
        return made.operator in ("&", "|", "^") and all(throughout(function, r, _compared) for r in both)
    if isinstance(made, p.Unary):
        return made.operator == "~" and throughout(function, made.operand, _compared)
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    return isinstance(callee, p.Attr) and callee.name in COMPARISONS


def in_one_context(function: FunctionFacts, one: Reg, other: Reg) -> bool:
    """True where the same `with` blocks stand around two registers: torch's modes (gradients, autocast) are theirs."""
    contexts = [[r.test for r in _around(function, reg) if r.kind == "with"] for reg in (one, other)]
    return contexts[0] == contexts[1]


def _around(function: FunctionFacts, reg: Reg) -> Iterable[Region]:
    return function.function.ancestors(function.region(reg))


def _taken_before(function: FunctionFacts, reg: Reg) -> bool:
    """True for a variable that has been given as `device=` to a function of torch whenever this is reached, and is
    bound to nothing else afterwards."""
    made = function.code[reg]
    if not isinstance(made, p.Load) or bindings.bound_elsewhere(function, made.slot):
        return False
    regions = bindings.around(function, reg)
    last = max(function.stores(made.slot), default=-1)
    for before in range(last + 1, reg):
        call = function.code[before]
        if not isinstance(call, p.Call) or function.region(before) not in regions:
            continue
        name = bindings.api(function, call.function)
        given = dict(call.keywords).get("device")
        given = call.args[0] if name == "torch.device" and len(call.args) == 1 and not any(call.stars) else given
        same = function.code[given] if given is not None else None
        if name in _RAISE_FOR_OTHERS and isinstance(same, p.Load) and same.slot == made.slot:
            return True
    return False


def _index(function: FunctionFacts, reg: Reg) -> bool:
    """True for what stands in brackets and is made of constants and slices of them."""
    return all(
        isinstance(function.code[r], p.Const | p.Slice | p.Sequence | p.Unary) or kinds(function, r) is not None
        for r in function.expression(reg)
    )


def _parts(made: p.Instruction) -> Iterable[Reg]:
    if isinstance(made, p.Subscript):
        return (made.object, made.index)
    if isinstance(made, p.Unary):
        return (made.operand,)
    return made.operands if isinstance(made, p.Compare) else made.values if isinstance(made, p.Format) else ()


def _quiet_call(function: FunctionFacts, made: p.Call) -> bool:
    name = bindings.api(function, made.function)
    known = all(kinds(function, r) is not None for r in (*made.args, *(r for _, r in made.keywords)))
    if name:
        plain = name in OPERATIONS and known and "out" not in dict(made.keywords)
        return name in MAKERS or name in _EFFECTLESS or plain
    callee = function.code[made.function]
    if not isinstance(callee, p.Attr) or callee.name.endswith("_") or not tensor(function, callee.object):
        return False
    return known and (callee.name == "size" or callee.name in TENSOR_METHODS)
