"""The fix that copies a tensor to the host once, before the loop that reads its elements one by one."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import Invariance
from transferlint.flow.transfers import DOWNLOAD, NUMBER, SCALAR_READ, Transfer
from transferlint.flow.values import HOST_VALUE, ON_DEVICE, TENSOR, UNKNOWN
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .chains import called, captured, method, receiver
from .rewriting import after, before_loop, fresh, operand

_KINDS = (SCALAR_READ, NUMBER, DOWNLOAD)
_READS = frozenset({"item", "tolist", "cpu"})
_BY_ELEMENT = frozenset("detach contiguous long int float double bool round floor ceil abs exp log".split())
_FUNCTIONS = frozenset(f"torch.{name}" for name in "round floor ceil abs exp log".split())


def ahead(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Copy before the loop what is read by element in it: `x[i].item()` for an index `i` of the loop, or `for e in x`
    with nothing but reads of `e`. None where the loop may change `x`, or the text does not allow it."""
    return _by_index(function, transfer) or _by_element(function, transfer)


def _by_index(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    found = _element(function, transfer)
    region = _outermost(function, *found) if found is not None else None
    if found is None or region is None:
        return None
    whole = function.text(found[0])
    words = re.findall(r"[A-Za-z_]\w*", whole)
    name = fresh(function, f"{words[-1]}_on_host")
    line = before_loop(function, region, f"{name} = {operand(function, found[0])}.cpu()")
    if line is None:
        return None
    edits = {line}
    for other in function.transfers:
        if other.kind not in _KINDS or not function.inside(other.register, region):
            continue
        one = _element(function, other)
        if one is None or function.text(one[0]) != whole or _outermost(function, *one) != region:
            continue
        edits.add(Edit(*function.span(one[0]), name))
        if other.kind == DOWNLOAD:
            cut = _without_copy(function, other)
            if cut is None:
                return None
            edits.add(cut)
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    safety = Safety.UNSAFE if function.values[found[0]].is_a(TENSOR) else Safety.DISPLAY
    return Fix("copy the whole to the host once, before the loop", safety, ordered)


def _without_copy(function: FunctionFacts, transfer: Transfer) -> Edit | None:
    assert transfer.subject is not None
    plain = transfer.api == ".cpu()" and receiver(function, transfer.register) == transfer.subject
    return after(function, transfer.register, transfer.subject) if plain else None


def _element(function: FunctionFacts, transfer: Transfer) -> tuple[Reg, Reg] | None:
    """The tensor of which an element is read, and the index: `x` and `i` of `x[i].item()`, `int(2 * x[i])`,
    `y[: x[i]]`, `x[i, :n].cpu()`."""
    at = transfer.subject
    if at is None or transfer.inside is not None or not function.has_text(at):
        return None
    while (inner := _computed_from(function, at)) is not None:
        at = inner
    turning: list[Reg] = []
    made = function.code[at]
    while isinstance(made, p.Subscript):
        index = function.code[made.index]
        parts = index.items if isinstance(index, p.Sequence) else (made.index,)
        turning += [r for r in parts if isinstance(function.code[r], p.Load) and not function.values[r].kinds & TENSOR]
        at = made.object
        made = function.code[at]
    if not turning or not isinstance(made, p.Load | p.Outer | p.Attr):
        return None
    value = function.values[at]
    if not value.kinds & (TENSOR | UNKNOWN) or not value.places & ON_DEVICE or not operand(function, at):
        return None
    return at, turning[0]


def _computed_from(function: FunctionFacts, at: Reg) -> Reg | None:
    """The one tensor that a value is computed from element by element; None where there are several, or others."""
    made = function.code[at]
    if method(function, at) in _BY_ELEMENT and isinstance(made, p.Call) and not made.args:
        return receiver(function, at)
    if isinstance(made, p.Call) and called(function, at) in _FUNCTIONS and len(made.args) == 1:
        return made.args[0]
    if isinstance(made, p.Binary) and not made.inplace:
        left, right = function.values[made.left], function.values[made.right]
        if right.is_a(HOST_VALUE) and not right.reads:
            return made.left
        return made.right if left.is_a(HOST_VALUE) and not left.reads else None
    return None


def _outermost(function: FunctionFacts, whole: Reg, index: Reg) -> int | None:
    """The outermost loop that leaves the tensor alone, where the index is of a loop within it."""
    made = function.code[index]
    assert isinstance(made, p.Load)
    turns = False
    found = None
    for region in function.loops(whole):
        loop = function.function.regions[region]
        turns |= made.slot in loop.target_slots
        if not Invariance(function, region).holds(whole):
            break
        if turns and loop.kind == "for":
            found = region
    return found


def _by_element(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    subject = transfer.subject
    while subject is not None and isinstance(part := function.code[subject], p.Subscript):
        subject = part.object
    made = function.code[subject] if subject is not None else None
    if transfer.inside is not None or not isinstance(made, p.Load) or captured(function, made.slot):
        return None
    stores = function.stores(made.slot)
    store = function.code[stores[0]] if len(stores) == 1 else None
    source = _gone_over(function, store.value) if isinstance(store, p.Store) else None
    if source is None or source == subject or any(q.slot == made.slot for q in function.function.parameters):
        return None
    loads = [r for r, one in enumerate(function.code) if isinstance(one, p.Load) and one.slot == made.slot]
    value = function.values[source]
    text = operand(function, source)
    if not text or not value.places & ON_DEVICE or not all(_read(function, r) for r in loads):
        return None
    if isinstance(function.code[source], p.Call):
        if method(function, source) in _READS:
            return None
    elif not Invariance(function, function.loops(stores[0])[0]).holds(source):
        return None
    edits = [Edit(*function.file.spans.outer(function.function.nodes[source]), f"{text}.cpu()")]
    for other in function.transfers:
        inside = set(function.expression(other.register)) if other.kind == DOWNLOAD else set[Reg]()
        if inside & set(loads):
            cut = _without_copy(function, other)
            if cut is None:
                return None
            edits.append(cut)
    safety = Safety.UNSAFE if value.is_a(TENSOR) else Safety.DISPLAY
    return Fix("copy the whole to the host once, before the loop", safety, tuple(edits))


def _read(function: FunctionFacts, load: Reg) -> bool:
    """True where an element is only read: a number or a list is made of it, or a bound of a slice."""
    for user in function.users(load):
        made = function.code[user]
        if isinstance(made, p.Slice):
            continue
        if isinstance(made, p.Subscript) and made.object == load and _read(function, user):
            continue
        if isinstance(made, p.Call) and called(function, user) in ("builtins.int", "builtins.float", "builtins.range"):
            continue
        if isinstance(made, p.Attr) and made.name in _READS and _calls(function, user):
            continue
        return False
    return True


def _calls(function: FunctionFacts, attribute: Reg) -> bool:
    users = [function.code[r] for r in function.users(attribute)]
    return bool(users) and all(isinstance(u, p.Call) and u.function == attribute for u in users)


def _gone_over(function: FunctionFacts, reg: Reg) -> Reg | None:
    """What a loop goes over for a target: `x` for `for e in x`, and for the right target of `zip` and `enumerate`."""
    path: list[int] = []
    made = function.code[reg]
    while isinstance(made, p.Unpack):
        if made.star >= 0:
            return None
        path.append(made.index)
        made = function.code[made.value]
    if not isinstance(made, p.Next):
        return None
    at = made.iterable
    while path:
        call = function.code[at]
        name = called(function, at)
        if not isinstance(call, p.Call) or any(call.stars) or call.keywords:
            return None
        index = path.pop()
        if name == "builtins.zip" and index < len(call.args):
            at = call.args[index]
        elif name == "builtins.enumerate" and index == 1 and call.args:
            at = call.args[0]
        else:
            return None
    return at if isinstance(function.code[at], p.Load | p.Outer | p.Attr | p.Subscript | p.Call) else None
