"""Which parts of a value are used: numbers that are computed from it, elements, its size."""

from __future__ import annotations

import bisect

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import HOST, HOST_VALUE, TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot

from ..code.chains import called, captured
from .detection import brief

SAME = frozenset("sum max min any all argmax argmin prod".split())  # the same name and meaning in numpy and torch
REDUCES = SAME | frozenset("mean std var median norm count_nonzero nanmean nansum ptp amax amin logsumexp".split())
SIZES = frozenset("size numel dim nelement ndimension".split())
WRAPPERS = frozenset({"numpy.array", "numpy.asarray"})
_FUNCTIONS = frozenset(f"{root}.{name}" for root in ("numpy", "torch") for name in REDUCES) | {
    "builtins.len",
    "torch.linalg.norm",
    "torch.linalg.vector_norm",
    "numpy.linalg.norm",
}
_SIZE_ATTRIBUTES = frozenset("shape ndim size dtype".split())
_WHOLE = frozenset("numpy detach float double long int squeeze flatten ravel view reshape clone contiguous".split())
_ELEMENTS = frozenset("abs isnan isinf isfinite square sqrt log exp bool sigmoid".split())
_MOST = 64  # uses to follow


@late.dataclass(frozen=True, slots=True)
class Part:
    """A part that is taken of a value: how the source spells it, and the register that holds it."""

    words: str
    register: Reg


def parts(function: FunctionFacts, reg: Reg) -> list[Part]:
    """The parts taken of a value, in the turn in which it comes about; [] where more than parts may be used."""
    found: list[Part] = []
    pending = [reg]
    for _ in range(_MOST):
        if not pending:
            return sorted(found, key=lambda part: part.register)
        at = pending.pop()
        for user in function.users(at):
            taken = _use(function, at, user)
            if taken is None:
                return []
            found += [one for one in taken if isinstance(one, Part)]
            pending += [one for one in taken if not isinstance(one, Part)]
    return []


def _use(function: FunctionFacts, at: Reg, user: Reg) -> list[Part | Reg] | None:
    """What one use of a value gives: parts, and registers that hold all of it still; None where it needs all."""
    made = function.code[user]
    if isinstance(made, p.Discard):
        return []
    if isinstance(made, p.Store):
        return _loads(function, user)
    if function.loops(user) != function.loops(at):
        return None
    if isinstance(made, p.Attr):
        return _attribute(function, made, user)
    if isinstance(made, p.Subscript) and made.object == at:
        return [Part(_after(function, at, user), user)] if _picks(function, made.index) else None
    if isinstance(made, p.Call):
        return _argument(function, made, at, user)
    if isinstance(made, p.Choice):
        return [user]
    if isinstance(made, p.Compare) and {"is", "is not"} >= set(made.operators):
        return []
    if isinstance(made, p.Compare | p.Binary | p.Unary):
        return [user] if _by_element(function, made, at) else None
    return None


def _attribute(function: FunctionFacts, made: p.Attr, reg: Reg) -> list[Part | Reg] | None:
    calls = [c for c in function.users(reg) if getattr(function.code[c], "function", None) == reg]
    if not calls:
        if made.name in _SIZE_ATTRIBUTES:
            return [Part(f"`.{made.name}`", reg)]
        return [reg] if made.name == "data" else None
    if len(calls) != len(function.users(reg)):
        return None
    if made.name in REDUCES | SIZES:
        return [Part(f"`.{made.name}()`", call) for call in calls]
    if made.name in _WHOLE | _ELEMENTS:
        return list(calls)
    return None


def _argument(function: FunctionFacts, made: p.Call, at: Reg, user: Reg) -> list[Part | Reg] | None:
    name = called(function, user)
    if made.args[:1] != (at,):
        return None
    if name in _FUNCTIONS:
        return [Part(f"`{name.rpartition('.')[2]}(...)`", user)]
    root, _, last = name.rpartition(".")
    whole = name in WRAPPERS or (root in ("torch", "numpy") and last in _ELEMENTS)
    return [user] if whole else None


def _by_element(function: FunctionFacts, made: p.Compare | p.Binary | p.Unary, at: Reg) -> bool:
    """True for an operator that computes by element, with numbers or with what was downloaded as well."""
    if isinstance(made, p.Unary):
        return made.operator in ("-", "~")
    if isinstance(made, p.Binary):
        others = [r for r in (made.left, made.right) if r != at]
        plain = not made.inplace and made.operator != "@"
    else:
        others = [r for r in made.operands if r != at]
        plain = len(made.operands) == 2 and not {"in", "not in"} & set(made.operators)
    values = [function.values[r] for r in others]
    return plain and all(v.is_a(HOST_VALUE) or (v.places == HOST and v.reads and v.is_a(TENSOR)) for v in values)


def _loads(function: FunctionFacts, store: Reg) -> list[Part | Reg] | None:
    """Where a variable is read that was bound here; None where that is not sure, or also done in a loop of its own: one
    copy before a loop over its elements is how it is done."""
    made = function.code[store]
    assert isinstance(made, p.Store)
    if captured(function, made.slot) or function.function.kind in ("module", "class"):
        return None
    stores, loads = function.stores(made.slot), function.loads(made.slot)
    following = bisect.bisect_right(stores, store)
    after = stores[following] if following < len(stores) else len(function.code)
    loops = function.loops(store)
    # Whether it is bound before in the same loop: then what is read elsewhere may be something else.
    again = not loops or bool(_stores_in(function, made.slot, loops[0])[:1] < [store])
    found: list[Part | Reg] = []
    first, last = bisect.bisect_right(loads, store), bisect.bisect_left(loads, after)
    for reg in loads[first:last]:
        around = function.loops(reg)
        if around != loops[len(loops) - len(around) :]:
            return None  # in a loop of its own
        found.append(reg)
    if len(found) < len(loads) and not again:
        return None
    if any(
        place != tuple(loops) and loads_there[-1] > after for place, loads_there in _loads_by_loops(function, made.slot)
    ):
        return None
    if after < len(function.code) and function.region(after) != function.region(store):
        return None
    return found


@once
def _stores_in(function: FunctionFacts, slot: Slot, loop: int) -> list[Reg]:
    """Where a variable is bound in a loop, but in no loop within it."""
    return [reg for reg in function.stores(slot) if function.loops(reg)[:1] == [loop]]


@once
def _loads_by_loops(function: FunctionFacts, slot: Slot) -> list[tuple[tuple[int, ...], list[Reg]]]:
    """Where a variable is read, by the loops around."""
    found: dict[tuple[int, ...], list[Reg]] = {}
    for reg in function.loads(slot):
        found.setdefault(tuple(function.loops(reg)), []).append(reg)
    return list(found.items())


def _after(function: FunctionFacts, at: Reg, subscript: Reg) -> str:
    text = function.file.text[function.span(at)[1] : function.span(subscript)[1]]
    return f"`{brief(text, 24).lstrip(')')}`"


def _picks(function: FunctionFacts, index: Reg) -> bool:
    """True for an index that takes an element or a row out of several: a number that is not 0, a variable."""
    made = function.code[index]
    if isinstance(made, p.Sequence):
        return any(_picks(function, r) for r in made.items)
    if isinstance(made, p.Const):
        return type(made.value) is int and made.value != 0
    if isinstance(made, p.Unary):
        return made.operator == "-" and isinstance(function.code[made.operand], p.Const)
    value = function.values[index]
    return isinstance(made, p.Load | p.Binary) and value.is_a(HOST_VALUE)
