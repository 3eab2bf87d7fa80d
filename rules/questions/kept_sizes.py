"""Sizes that are kept as 0-d tensors of the device: `self.longest = lengths.max()`, where a number is meant."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.values import HOST_VALUE, ON_DEVICE, SCALAR, TENSOR
from transferlint.model import Evidence
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called

_REDUCTIONS = frozenset("max min sum prod numel count_nonzero amax amin".split())
_SIZED = frozenset(
    {"builtins.range", *(f"torch.{name}" for name in "arange zeros ones empty rand randn full eye".split())}
)
_RESHAPING = frozenset("view reshape expand repeat new_zeros new_ones new_empty new_full narrow".split())
_SHOWN = 3
Kept = tuple[int, str]  # the class, the attribute


def kept_sizes(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Reg, str, tuple[Evidence, ...]]]:
    """Where a method keeps a whole tensor's sum or extreme, a 0-d tensor of the device, in an attribute that other
    statements of its class bind to a number: the method, the register that is kept, the attribute, and the places that
    take it for a size, each of which then waits for the device."""
    numbers: set[Kept] = set()
    tensors: list[tuple[Kept, FunctionFacts, Reg]] = []
    for function in facts.functions:
        if function.role.skip or function.role.host_side or function.role.testing:
            continue
        info = facts.placement.class_of(function.function)
        for made in function.code if info is not None else ():
            if info is None or not isinstance(made, p.SetAttr) or not _own(function, made.object):
                continue
            if _number(function, made.value):
                numbers.add((info.index, made.name))
            elif _reduced(function, made.value):
                tensors.append(((info.index, made.name), function, made.value))
    for key, function, reg in tensors:
        uses = _uses(facts, *key) if key in numbers else ()
        if uses:
            yield function, reg, key[1], uses


def _own(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Load) and function.function.slot_names[made.slot] == "self"


def _number(function: FunctionFacts, reg: Reg) -> bool:
    """True for a number that is written out, and for one that was taken from a shape or a length."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return isinstance(made.value, int) and not isinstance(made.value, bool)
    value = function.values[reg]
    return value.is_a(HOST_VALUE) and isinstance(made, p.Call | p.Subscript | p.Unary | p.Binary | p.Load)


def _reduced(function: FunctionFacts, reg: Reg) -> bool:
    """True for `t.max()` and `torch.max(t)` of a device tensor, with nothing said of a dimension."""
    made, value = function.code[reg], function.values[reg]
    if not isinstance(made, p.Call) or made.keywords or any(made.stars) or not value.is_a(TENSOR):
        return False
    if not value.places or value.places & ~ON_DEVICE:
        return False
    if value.flags & SCALAR:
        return True
    name = called(function, reg)
    callee = function.code[made.function]
    if name:
        return name.removeprefix("torch.") in _REDUCTIONS and len(made.args) == 1
    return isinstance(callee, p.Attr) and callee.name in _REDUCTIONS and not made.args


def _uses(facts: FileFacts, index: int, name: str) -> tuple[Evidence, ...]:
    """The first places in which methods of the class take the attribute for a size or a bound."""
    found: list[Evidence] = []
    for function in facts.functions:
        info = facts.placement.class_of(function.function)
        if info is None or info.index != index:
            continue
        for reg, made in enumerate(function.code):
            if isinstance(made, p.Attr) and made.name == name and _own(function, made.object) and _sizes(function, reg):
                found.append(Evidence(function.site(reg), "used as a size here"))
    return tuple(found[:_SHOWN])


def _sizes(function: FunctionFacts, reg: Reg) -> bool:
    """True in `range(n)`, `x[:n]`, `x.view(n, -1)`, and in a shape that is handed on: `torch.zeros((n, 3))`."""
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Slice):
            return True
        if isinstance(made, p.Call) and reg in made.args and _takes_sizes(function, user, made):
            return True
        if isinstance(made, p.Sequence) and len(made.items) > 1 and made.kind in ("tuple", "list"):
            calls = (call for at in function.users(user) if isinstance(call := function.code[at], p.Call))
            if any(user in call.args or user in dict(call.keywords).values() for call in calls):
                return True
    return False


def _takes_sizes(function: FunctionFacts, reg: Reg, made: p.Call) -> bool:
    name = called(function, reg)
    if name:
        return name in _SIZED
    callee = function.code[made.function]
    return isinstance(callee, p.Attr) and callee.name in _RESHAPING
