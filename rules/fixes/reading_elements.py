"""The fix of a loop over the elements of a device tensor: the whole is copied to the host before the loop. Only shown:
whether what is left of the loop gains by it is for somebody to see."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import HOST_VALUE, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import rewriting
from ..code.chains import called, captured, method

_TITLE = "copy the whole tensor to the host once, before the loop"
_NUMBERS = frozenset(f"builtins.{name}" for name in ("int", "float", "bool", "range", "round"))
_READS = frozenset({"item", "tolist", "detach", "int", "long", "float", "cpu"})


def read_before(function: FunctionFacts, region: int, tensor: Reg, group: list[Transfer]) -> Fix | None:
    """The copy before the loop `region`, in place of the tensor wherever the reads of `group` take an element of it.
    None where the loop may change the tensor, or where
    the text does not allow it."""
    loop = function.function.regions[region]
    if loop.test is not None and tensor in set(function.expression(loop.test)):
        return _gone_over(function, region, tensor, group)
    return _indexed(function, region, tensor, group)


def _gone_over(function: FunctionFacts, region: int, tensor: Reg, group: list[Transfer]) -> Fix | None:
    """`for e in x` to `for e in x.cpu()`, where nothing is done with `e` but what the host does."""
    text = rewriting.operand(function, tensor)
    made = function.code[tensor]
    if not text or method(function, tensor) in ("cpu", "tolist", "numpy"):
        return None
    slots = _targets(function, region, group)
    if not slots or any(captured(function, slot) or len(function.stores(slot)) != 1 for slot in slots):
        return None
    loads = [r for r, one in enumerate(function.code) if isinstance(one, p.Load) and one.slot in slots]
    if not all(_on_host(function, r, user) for r in loads for user in function.users(r)):
        return None
    start, end = function.outer_span(tensor)
    bare = isinstance(made, p.Load | p.Outer | p.Attr | p.Subscript | p.Call)
    return Fix(_TITLE, Safety.DISPLAY, (Edit(start, end, f"{text}.cpu()"),)) if bare else None


def _targets(function: FunctionFacts, region: int, group: list[Transfer]) -> set[int]:
    """The targets of the loop that are read."""
    own = set(function.function.regions[region].target_slots)
    found = set()
    for transfer in group:
        if transfer.subject is None:
            return set()
        loads = [one for r in function.expression(transfer.subject) if isinstance(one := function.code[r], p.Load)]
        found |= {load.slot for load in loads if load.slot in own and function.values[transfer.subject].is_a(TENSOR)}
    # Of the targets of `zip` and `enumerate` those that are numbers of the host have no part in it.
    return {
        slot
        for slot in found
        if any(
            isinstance(one, p.Load) and one.slot == slot and not function.values[r].is_a(HOST_VALUE)
            for r, one in enumerate(function.code)
        )
    }


def _on_host(function: FunctionFacts, reg: Reg, user: Reg) -> bool:
    """True for a use of an element that the host can make as well: a number is made of it, a bound, a comparison with
    numbers."""
    made = function.code[user]
    if isinstance(made, p.Slice | p.Test):
        return True
    if isinstance(made, p.Call):
        return called(function, user) in _NUMBERS
    if isinstance(made, p.Attr):
        calls = [function.code[r] for r in function.users(user)]
        return made.name in _READS and bool(calls) and all(isinstance(c, p.Call) and c.function == user for c in calls)
    if isinstance(made, p.Binary | p.Compare | p.Unary):
        others = _operands(made) - {reg}
        plain = all(function.values[r].kinds == HOST_VALUE for r in others)
        return plain and all(_on_host(function, user, r) for r in function.users(user))
    return False


def _operands(made: p.Binary | p.Compare | p.Unary) -> set[Reg]:
    if isinstance(made, p.Binary):
        return {made.left, made.right}
    return set(made.operands) if isinstance(made, p.Compare) else {made.operand}


def _indexed(function: FunctionFacts, region: int, tensor: Reg, group: list[Transfer]) -> Fix | None:
    """`x[i].item()` to `x_on_host[i].item()`."""
    whole, text = function.text(tensor), rewriting.operand(function, tensor)
    named = re.findall(r"[A-Za-z_]\w*", whole.partition("[")[0])
    at = _outermost(function, region, tensor)
    if not text or not named or at is None:
        return None
    name = rewriting.fresh(function, f"{named[-1].strip('_')}_on_host")
    line = rewriting.before_loop(function, at, f"{name} = {text}.cpu()")
    if line is None:
        return None
    edits = {line}
    for transfer in group:
        assert transfer.subject is not None
        taken = [r for r in function.expression(transfer.subject) if _element_of(function, r, whole)]
        for reg in taken:
            made = function.code[reg]
            assert isinstance(made, p.Subscript)
            edits.add(Edit(*function.span(made.object), name))
    if len(edits) == 1:
        return None
    return Fix(_TITLE, Safety.DISPLAY, tuple(sorted(edits, key=lambda e: (e.start, e.end))))


def _outermost(function: FunctionFacts, region: int, tensor: Reg) -> int | None:
    """The outermost loop statement around, and including, the loop, that leaves the tensor alone."""
    found = None
    around = function.loops(tensor)
    for at in around[around.index(region) :] if region in around else []:
        if not invariance(function, at).holds(tensor):
            break
        if function.function.regions[at].kind in ("for", "while"):
            found = at
    return found


def _element_of(function: FunctionFacts, reg: Reg, whole: str) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Subscript) and function.has_text(made.object) and function.text(made.object) == whole
