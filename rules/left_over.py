"""What a fix would leave of the reads that it is about: one that leaves some is only shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.transfers import DOWNLOAD, FORMAT, NUMBER, SCALAR_READ, TRUTH, Transfer
from transferlint.flow.values import HOST_VALUE, ON_DEVICE, TENSOR, UNKNOWN, Value
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_READS = (SCALAR_READ, NUMBER, TRUTH, DOWNLOAD, FORMAT)
_DEEP = 4
_KNOWN = frozenset("shape size dim ndim dtype device".split())


def other_elements(function: FunctionFacts, region: int, taken: Collection[int]) -> bool:
    """True where a loop also reads elements by targets other than those `taken` (slots): `for a, b in zip(x, y)`."""
    others = set(function.function.regions[region].target_slots) - set(taken)
    return bool(others) and any(
        isinstance(made := function.code[at], p.Load) and made.slot in others and _there(function, at)
        for subject in _subjects(function, region)
        for at in function.expression(subject)
    )


def other_loops(function: FunctionFacts, region: int, tensor: Reg) -> bool:
    """True where another loop over the same tensor reads its elements: it would be copied for each, or read as well."""
    text = function.text(tensor)
    for number, one in enumerate(function.function.regions):
        if number == region or one.test is None or one.kind not in ("for", "comprehension"):
            continue
        over = function.expression(one.test)
        if not any(function.has_text(at) and function.text(at) == text and _there(function, at) for at in over):
            continue
        slots = set(one.target_slots)
        subjects = _subjects(function, number)
        if any(_loads(function, subject) & slots for subject in subjects):
            return True
    return False


def other_uses(function: FunctionFacts, region: int, whole: str, edits: Iterable[Edit]) -> bool:
    """True where an element of the tensor of this text is taken in the loop, by an index of the host, and not from the
    copy; asking for its shape takes nothing."""
    changed = {(edit.start, edit.end) for edit in edits}
    for at in function.within(region):
        made = function.code[at]
        if not isinstance(made, p.Subscript) or not function.has_text(made.object):
            continue
        if function.text(made.object) != whole or function.span(made.object) in changed:
            continue
        loads = [r for r in function.expression(made.index) if isinstance(function.code[r], p.Load)]
        counted = bool(loads) and all(function.values[r].is_a(HOST_VALUE) for r in loads)
        if counted and not all(_asks(function, user) for user in function.users(at)):
            return True
    return False


def of_outer_loop(function: FunctionFacts, tensor: Reg) -> bool:
    """True for an element of a tensor that a loop around goes over, itself or by its index: the whole of that is what
    to copy, before."""
    slots = {made.slot for at in function.expression(tensor) if isinstance(made := function.code[at], p.Load)}
    for region in function.loops(tensor):
        loop = function.function.regions[region]
        if loop.test is not None and slots & set(loop.target_slots):
            parts = (made for at in function.expression(tensor) if isinstance(made := function.code[at], p.Subscript))
            over = [*function.expression(loop.test), *(part.object for part in parts)]
            return any(_there(function, at) for at in over)
    return False


def other_bounds(function: FunctionFacts, region: int, whole: str) -> bool:
    """True where a loop also cuts by, or reads, elements of something else, of which it is not known that it is no
    tensor: `x[a[i] : b[i]]`."""
    slots = set(function.function.regions[region].target_slots)
    for at in function.within(region):
        made = function.code[at]
        if not isinstance(made, p.Subscript) or not function.has_text(made.object):
            continue
        value = function.values[made.object]
        if function.text(made.object) == whole or not value.kinds & (TENSOR | UNKNOWN):
            continue
        if _loads(function, made.index) & slots and _bounds(function, at, _DEEP):
            return True
    return False


def _bounds(function: FunctionFacts, reg: Reg, depth: int) -> bool:
    """True for what is a bound of a slice, or becomes part of one, and for what is read by `.item()`."""
    for user in function.users(reg):
        made = function.code[user]
        held = [*function.loads(made.slot)] if isinstance(made, p.Store) else []
        held += [user] if isinstance(made, p.Binary) else []
        read = isinstance(made, p.Attr) and made.name == "item"
        if isinstance(made, p.Slice) or read or (depth and any(_bounds(function, r, depth - 1) for r in held)):
            return True
    return False


def meets_others(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a call that is given something beside the element, which may be on the device: `torch.equal(a[i], b)`
    wants both in one place, and `torch.arange(a[i], b[i])` waits for the other too."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call) or made.function == transfer.subject:
        return False
    others = [function.values[r] for r in (*made.args, *(r for _, r in made.keywords)) if r != transfer.subject]
    if transfer.kind == TRUTH:
        return any(not value.is_a(HOST_VALUE) for value in others)
    return any(_on_device(value) for value in others)


def waits_as_well(function: FunctionFacts, group: Collection[Transfer]) -> bool:
    """True where every turn of the loop of these reads waits for another one, which stays."""
    own = {transfer.register for transfer in group}
    turns = [function.loops(reg) for reg in own]
    return any(
        transfer.kind in (SCALAR_READ, NUMBER, TRUTH)
        and transfer.register not in own
        and function.loops(transfer.register) in turns
        and _there(function, transfer.subject if transfer.subject is not None else transfer.register)
        and function.warmth(transfer.register).hot
        for transfer in function.transfers
    )


def by_device(function: FunctionFacts, index: Reg) -> bool:
    """True for an index that is read from the device itself."""
    return any(
        isinstance(function.code[at], p.Load | p.Outer | p.Attr) and bool(function.values[at].places & ON_DEVICE)
        for at in function.expression(index)
    )


def _asks(function: FunctionFacts, user: Reg) -> bool:
    made = function.code[user]
    return isinstance(made, p.Attr) and made.name in _KNOWN


def _subjects(function: FunctionFacts, region: int) -> list[Reg]:
    """What is read to the host in a loop."""
    reads = (t for t in function.transfers if t.kind in _READS and function.inside(t.register, region))
    return [t.subject for t in reads if t.subject is not None]


def _loads(function: FunctionFacts, subject: Reg) -> set[int]:
    return {made.slot for at in function.expression(subject) if isinstance(made := function.code[at], p.Load)}


def _there(function: FunctionFacts, at: Reg) -> bool:
    return _on_device(function.values[at])


def _on_device(value: Value) -> bool:
    return value.is_a(TENSOR) and bool(value.places & ON_DEVICE)
