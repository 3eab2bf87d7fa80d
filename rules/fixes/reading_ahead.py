"""The fix that copies a tensor to the host once, before the loop that reads its elements one by one. Only shown:
whether what is left of the loop gains by it is for somebody to see."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import DOWNLOAD, NUMBER, SCALAR_READ, SHAPE, TRUTH, Transfer
from transferlint.flow.lattice.values import CONTAINER, HOST_VALUE, ON_DEVICE, TENSOR, UNKNOWN
from transferlint.knowledge.torch_names import ROUNDING
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing, rewriting
from ..code.chains import called, captured, method, origin, receiver
from ..questions import host_uses
from . import rebuilding

_KINDS = (SCALAR_READ, NUMBER, DOWNLOAD, TRUTH, SHAPE)
_TENSOR_NAMES = frozenset("shape size dim ndim dtype permute transpose reshape view squeeze unsqueeze mean".split())
_COPIES = frozenset({"cpu", "tolist", "numpy"})
_BY_ELEMENT = frozenset("detach contiguous long int float double bool round floor ceil abs exp log".split())


def ahead(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Copy before the loop what is read by element in it: `x[i].item()` for an index `i` of the loop, or `for e in x`
    with nothing but reads of `e`. The title says where the loop may change `x`; None where it does, or where the text
    does not allow it."""
    return rebuilding.rows(function, transfer) or _by_index(function, transfer) or _by_element(function, transfer)


def _by_index(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    found = _element(function, transfer)
    where = _outermost(function, *found[:2]) if found is not None else None
    if found is None or where is None or not _served(function, transfer, found[2]):
        return None
    region, steady = where
    whole = function.text(found[0])
    words = re.findall(r"[A-Za-z_]\w*", whole.partition("[")[0])
    name = rewriting.fresh(function, f"{words[-1].strip('_')}_on_host")
    text = f"{name} = {rewriting.operand(function, found[0])}.cpu()"
    line = rewriting.before_loop(function, region, text) or rewriting.before_comprehension(function, region, text)
    if line is None:
        return None
    edits = {line}
    for other in (one for at in function.within(region) for one in function.transfers_at(at)):
        if other.kind not in _KINDS:
            continue
        one = _element(function, other)
        if one is None or function.text(one[0]) != whole or not _served(function, other, one[2]):
            continue
        edits.add(Edit(*function.span(one[0]), name))
        if other.kind == DOWNLOAD and (cut := _without_copy(function, other)) is not None:
            edits.add(cut)
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    if not _one_tensor(function, transfer, found[0]):
        return None
    return Fix(_title(steady and function.values[found[0]].is_a(TENSOR)), Safety.DISPLAY, ordered)


def _title(sure: bool) -> str:
    doubt = "" if sure else ", if it is one tensor that the loop does not change"
    return f"copy the whole tensor to the host once, before the loop{doubt}"


def _one_tensor(function: FunctionFacts, transfer: Transfer, whole: Reg) -> bool:
    """True for a tensor, for what may be one and gives numbers, and for what the function uses as one somewhere."""
    value = function.values[whole]
    if value.is_a(TENSOR) or value.kinds & CONTAINER:
        return value.is_a(TENSOR)
    if transfer.kind in (SCALAR_READ, NUMBER):
        return True
    text = function.text(whole)
    for made in function.code:
        if not isinstance(made, p.Attr | p.Subscript) or not function.has_text(made.object):
            continue
        if function.text(made.object) != text:
            continue
        if isinstance(made, p.Attr) and made.name in _TENSOR_NAMES:
            return True
        index = function.code[made.index] if isinstance(made, p.Subscript) else None
        if isinstance(index, p.Sequence) and index.kind == "tuple":
            return True
    return False


def _served(function: FunctionFacts, transfer: Transfer, element: Reg) -> bool:
    """True where an element on the host serves: it was copied anyway, or only numbers are made of it."""
    if transfer.kind == DOWNLOAD:
        return True
    if transfer.kind == SHAPE:
        at: Reg | None = transfer.register
        while at is not None and isinstance(function.code[at], p.Call | p.Subscript):
            if method(function, at) in _COPIES:
                return True
            users = function.users(at)
            at = users[0] if len(users) == 1 else None
            if at is not None and isinstance(function.code[at], p.Attr):
                at = next(iter(function.users(at)), None)
        return False
    if transfer.kind in (SCALAR_READ, NUMBER) and _bound_to(function, element) is None:
        return True
    return host_uses.serves_host(function, element)


def _bound_to(function: FunctionFacts, element: Reg) -> Reg | None:
    """The assignment that keeps an element in a variable."""
    return next((user for user in function.users(element) if isinstance(function.code[user], p.Store)), None)


def _without_copy(function: FunctionFacts, transfer: Transfer) -> Edit | None:
    assert transfer.subject is not None
    plain = transfer.api in (".cpu()", ".to(cpu)") and receiver(function, transfer.register) == transfer.subject
    return rewriting.after(function, transfer.register, transfer.subject) if plain else None


def _element(function: FunctionFacts, transfer: Transfer) -> tuple[Reg, Reg, Reg] | None:
    """The tensor of which an element is read, the index, and the element: `x`, `i` and `x[i]` of `x[i].item()`,
    `int(2 * x[i])`, `y[: x[i]]`, `x[i, :n].cpu()`, and of `e.item()` after `e = x[i]`."""
    at = transfer.subject
    if at is None or transfer.inside is not None or not function.has_text(at):
        return None
    while (inner := _computed_from(function, at)) is not None:
        at = inner
    kept = origin(function, at)
    around = function.loops(kept)
    if kept != at and function.has_text(kept) and around == function.loops(at)[-len(around) :]:
        at = kept
    turning: list[Reg] = []
    element, made = at, function.code[at]
    while isinstance(made, p.Subscript):
        index = function.code[made.index]
        parts = index.items if isinstance(index, p.Sequence) else (made.index,)
        turning += [at for r in parts if (at := _counted(function, r)) is not None]
        at = made.object
        made = function.code[at]
        if turning and isinstance(made, p.Subscript) and isinstance(function.code[made.index], p.Const):
            break
    if not turning or not isinstance(made, p.Load | p.Outer | p.Attr | p.Subscript):
        return None
    value = function.values[at]
    if not value.kinds & (TENSOR | UNKNOWN) or not value.places & ON_DEVICE or not rewriting.operand(function, at):
        return None
    return at, turning[0], element


def _counted(function: FunctionFacts, reg: Reg) -> Reg | None:
    """The variable of an index that is one, or one more or less than one: `i - 1`; None for others, and for tensors."""
    made = function.code[reg]
    if isinstance(made, p.Binary) and not made.inplace and isinstance(function.code[made.right], p.Const):
        reg, made = made.left, function.code[made.left]
    return reg if isinstance(made, p.Load) and not function.values[reg].kinds & TENSOR else None


def _computed_from(function: FunctionFacts, at: Reg) -> Reg | None:
    """The one tensor that a value is computed from element by element; None where there are several, or others."""
    made = function.code[at]
    if isinstance(made, p.Attr) and made.name == "data":
        return made.object
    if method(function, at) in _BY_ELEMENT and isinstance(made, p.Call) and not made.args:
        return receiver(function, at)
    if isinstance(made, p.Call) and called(function, at) in ROUNDING and len(made.args) == 1:
        return made.args[0]
    if isinstance(made, p.Binary) and not made.inplace:
        left, right = function.values[made.left], function.values[made.right]
        if right.is_a(HOST_VALUE) and not right.reads:
            return made.left
        return made.right if left.is_a(HOST_VALUE) and not left.reads else None
    return None


def _outermost(function: FunctionFacts, whole: Reg, index: Reg) -> tuple[int, bool] | None:
    """The outermost loop that leaves the tensor alone, where the index is of a loop within it, and True; where none is
    sure to, the innermost one that does not bind or set it, and False."""
    made = function.code[index]
    assert isinstance(made, p.Load)
    turns = False
    found: tuple[int, bool] | None = None
    for region in function.loops(whole):
        loop = function.function.regions[region]
        turns |= made.slot in loop.target_slots
        holds = invariance(function, region).holds(whole)
        if not holds and (found is not None or not _steady(function, region, whole)):
            break
        if turns and loop.kind in ("for", "comprehension"):
            found = region, holds
        if not holds:
            break
    return found


def _steady(function: FunctionFacts, region: int, whole: Reg) -> bool:
    """True where a loop does not itself bind the tensor, an attribute of its name or an element, nor calls a method
    upon it that writes: what it calls may."""
    text = function.text(whole)
    names = {one.name for r in function.expression(whole) if isinstance(one := function.code[r], p.Attr)}
    slots = {one.slot for r in function.expression(whole) if isinstance(one := function.code[r], p.Load)}
    for reg in function.within(region):
        made = function.code[reg]
        if isinstance(made, p.Store | p.Delete) and made.slot in slots:
            return False
        if isinstance(made, p.SetAttr) and made.name in names:
            return False
        written = isinstance(made, p.Attr) and made.name.endswith("_") and not made.name.startswith("_")
        if isinstance(made, p.SetItem) or written:
            assert isinstance(made, p.SetItem | p.Attr)
            if function.has_text(made.object) and function.text(made.object).startswith(text):
                return False
    return not names or isinstance(function.code[whole], p.Attr | p.Load | p.Outer)


def _by_element(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    subject, sliced = transfer.subject, False
    while subject is not None:
        if isinstance(part := function.code[subject], p.Subscript):
            subject, sliced = part.object, True
        elif (inner := _computed_from(function, subject)) is not None:
            subject = inner
        else:
            break
    made = function.code[subject] if subject is not None else None
    if transfer.inside is not None or not isinstance(made, p.Load) or captured(function, made.slot):
        return None
    stores = function.stores(made.slot)
    store = function.code[stores[0]] if len(stores) == 1 else None
    source = _gone_over(function, store.value) if isinstance(store, p.Store) else None
    if source is None or source == subject or any(q.slot == made.slot for q in function.function.parameters):
        return None
    loads = function.loads(made.slot)
    value = function.values[source]
    text = rewriting.operand(function, source)
    known = value.places & ON_DEVICE or (transfer.kind == DOWNLOAD and value.kinds == UNKNOWN)
    imports: tuple[Edit, ...] = ()
    if value.kinds & CONTAINER:  # of numbers: else they may be of several shapes
        torch, imports = importing.torch_name(function, transfer.register)
        numbers = value.kinds == CONTAINER and method(function, transfer.register) == "item"
        text = f"{torch}.stack({text})" if numbers and torch and text else ""
    elif not sliced and not _one_tensor(function, transfer, source):
        return None
    if not text or not known or not all(host_uses.serves_host(function, r) for r in loads):
        return None
    if transfer.kind == SHAPE and not _served(function, transfer, transfer.register):
        return None
    sure = value.is_a(TENSOR)
    region = function.loops(stores[0])[0]
    if isinstance(function.code[source], p.Call):
        if method(function, source) in _COPIES:
            return None
    elif not invariance(function, region).holds(source):
        if not _steady(function, region, source):
            return None
        sure = False
    edits = [Edit(*function.outer_span(source), f"{text}.cpu()")]
    for other in function.transfers:
        inside = set(function.expression(other.register)) if other.kind == DOWNLOAD else set[Reg]()
        if inside & set(loads) and (cut := _without_copy(function, other)) is not None:
            edits.append(cut)
    return Fix(_title(sure), Safety.DISPLAY, (*imports, *edits))


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
