"""Functions that only wrap a transfer: what `utils.item(x)` does to what it is given, so that the calls can say it.

A transfer counts as wrapped where its subject is an argument of which nothing is known in the function itself, or what
comes of the argument by attributes and methods alone, and where it stands in no loop and behind no rare test: then
every call makes it, and whether that matters is the caller's affair.

A function that does nothing but wait (`torch.cuda.synchronize()`, `gc.collect()`) wraps that: who calls it in hot code
is to be told, not who wrote it down once.

And what a function puts on the device in the objects that its callers hand it, who find it there when it has returned:
`for key in batch: batch[key] = batch[key].to(device)`, `data.x = data.x.cuda()`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.roles import Role
from transferlint.flow.dataflow import guards
from transferlint.flow.dataflow.kept import region_of
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.lattice.transfers import MOVE, SYNCHRONIZE, Transfer
from transferlint.flow.lattice.values import (
    CONTAINER,
    FROM_PARAMETER,
    HOST,
    HOST_VALUE,
    NO_REGISTERS,
    PINNED,
    TENSOR,
    UNKNOWN,
    Value,
    from_parameter,
    holding,
    join,
    with_field,
)
from transferlint.flow.placement.placed import ADDED, NO_ARGUMENT, WITHIN, Passed, Placed, Written
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.placement.frame import Frame

_SMALL = 100  # instructions: a dozen lines
_LOOPS = frozenset({"for", "while", "comprehension"})
_ABSENT = frozenset({("is", "then"), ("==", "then"), ("is not", "else")})
_RARE = frozenset({"handler", "message"})
_BESIDE_WAITS = ("torch.", "gc.")


def passed(frame: Frame, role: Role, transfers: list[Transfer]) -> tuple[Passed, ...]:
    """The transfers that the function of a frame wraps."""
    function = frame.function
    if not transfers or function.kind != "function" or len(function.code) > _SMALL or function.is_generator:
        return ()
    if role.hot or role.cold or role.skip or role.host_side:
        return ()
    found = []
    slots = {given.slot: given for given in function.parameters if given.kind not in ("star", "double_star")}
    stores = guards.single_stores(function)
    if _only_waits(frame, transfers):
        waits = (one for one in transfers if _always(function, one.register, stores))
        waits = (one for one in waits if not _asked(frame, one.register, slots))
        return tuple(Passed(NO_ARGUMENT, one, returned=False) for one in waits)
    for transfer in transfers:
        if transfer.subject is None or not _always(function, transfer.register, stores):
            continue
        slot = _argument(function, transfer.subject, slots)
        if slot is not None and not slots[slot].annotation and slots[slot].name not in ("self", "cls"):
            absent = _absent(function, transfer.register, slots)
            returned = frame.returns is not None and transfer.register in _rests_on(frame.returns)
            found.append(Passed(slot, transfer, absent, returned))
    return tuple(found)


def _only_waits(frame: Frame, transfers: list[Transfer]) -> bool:
    """True for a function that waits, and else only calls torch and `gc`: it keeps and gives nothing."""
    code, found = frame.code, frame.function.lookup
    if any(one.kind != SYNCHRONIZE or one.subject is not None for one in transfers) or found.of(p.SetAttr, p.SetItem):
        return False
    waits = {one.register for one in transfers}
    for reg in found.of(p.Return, p.Call):
        made = code[reg]
        if isinstance(made, p.Return):
            given = code[made.value] if made.value is not None else None
            if given is not None and not (isinstance(given, p.Const) and given.value is None):
                return False
        elif (
            reg not in waits and isinstance(made, p.Call) and not frame.dotted(made.function).startswith(_BESIDE_WAITS)
        ):
            return False
    return True


def _asked(frame: Frame, reg: Reg, slots: Container[Slot]) -> bool:
    """True behind a condition on what the function is given: not one on which devices there are."""
    for region in frame.function.ancestors(region_of(frame.function, reg)):
        read = tree(frame.code, region.test) if region.test is not None else ()
        if any(isinstance(made := frame.code[one], p.Load) and made.slot in slots for one in read):
            return True
    return False


def _rests_on(value: Value) -> frozenset[Reg]:
    """The downloads and uploads that a value, or what is in it, was computed from."""
    inner = value.items or ((value.item,) if value.item is not None else ())
    return value.reads.union(value.uploads, *map(_rests_on, inner))


def _absent(function: Function, reg: Reg, slots: Container[Slot]) -> frozenset[Slot]:
    """The parameters that have to be None for a call to come by."""
    found = set()
    for region in function.ancestors(region_of(function, reg)):
        test = function.code[region.test] if region.test is not None and region.kind in ("then", "else") else None
        if isinstance(test, p.Compare) and len(test.operands) == 2:
            subject, other = (function.code[operand] for operand in test.operands)
            none = isinstance(other, p.Const) and other.value is None
            absent = (test.operators[0], region.kind) in _ABSENT
            if none and absent and isinstance(subject, p.Load) and subject.slot in slots:
                found.add(subject.slot)
    return frozenset(found)


def _always(function: Function, reg: Reg, stores: dict[Slot, Reg]) -> bool:
    """True where every call comes by, as far as the kinds of its arguments allow."""
    for region in function.ancestors(region_of(function, reg)):
        if region.kind in _LOOPS or region.kind in _RARE or region.leaves == "raise":
            return False
        arm = region.kind in ("then", "else")
        if arm and region.test is not None and guards.rare(function, region.test, region.kind == "then", stores):
            return False
    return True


def _argument(function: Function, reg: Reg, slots: Container[Slot]) -> Slot | None:
    """The parameter that an expression reads: itself, or through attributes, items and methods."""
    while True:
        made = function.code[reg]
        if isinstance(made, p.Load):
            return made.slot if made.slot in slots else None
        if isinstance(made, p.Attr | p.Subscript):
            reg = made.object
        elif isinstance(made, p.Call) and isinstance(function.code[made.function], p.Attr):
            reg = made.function
        else:
            return None


def before(given: Value, inner: Transfer, placed: Placed, name: str) -> Value | None:
    """What is known of the subject of a transfer that a function (its ident is `name`) wraps, at a call that gives
    `given` for it; None where the call makes none. Where a function that calls itself takes apart what is pinned, that
    is the one to change."""
    given = _named_part(placed.function, inner.subject, given)
    if given.flags & PINNED and given.on_host and inner.kind == MOVE:
        return given if _untouched(placed.function, inner.subject) and name not in placed.calls.values() else None
    if given.on_host or (not given.may_be(UNKNOWN) and not given.on_device):
        return None
    if given.on_device:
        return given
    inside = inner.before
    return inside.but(why=given.why, reads=given.reads, uploads=given.uploads) if inside.on_device else given


def _named_part(function: Function, reg: Reg | None, given: Value) -> Value:
    """What a transfer's subject reads of an argument, by the names under which a call gives its parts: of
    `d["loss"].sum()` that under "loss"; all of it where nothing is known under them."""
    names: list[object] = []
    while reg is not None and not isinstance(made := function.code[reg], p.Load):
        if isinstance(made, p.Attr):
            names.append(made.name)
            reg = made.object
        elif isinstance(made, p.Subscript):
            key = function.code[made.index]
            names.append(key.value if isinstance(key, p.Const) else None)
            reg = made.object
        elif isinstance(made, p.Call) and isinstance(method := function.code[made.function], p.Attr):
            asked = function.code[made.args[0]] if made.args and method.name in ("get", "pop") else None
            names += [asked.value] if isinstance(asked, p.Const) else []
            reg = method.object
        else:
            reg = None
    for name in reversed(names):
        part = given.field(name)
        if part is None:
            break
        given = part
    return given


def _untouched(function: Function, reg: Reg | None) -> bool:
    """True for an argument, or an item of one, in the memory that the caller gives."""
    if reg is None:
        return False
    while isinstance(made := function.code[reg], p.Subscript):
        reg = made.object
    return isinstance(made, p.Load) and not function.lookup.about(p.Store, made.slot)


def written(frame: Frame) -> Written:
    """The parameters, or parts of them, into which the function of a frame puts what it uploaded, or what it is given
    by other arguments."""
    function = frame.function
    if function.kind != "function":
        return ()
    slots = {one.slot for one in function.parameters if one.kind not in ("star", "double_star")}
    if not slots:
        return ()
    found: dict[tuple[Slot, str], Value] = {}
    for reg in function.lookup.of(p.SetItem, p.SetAttr, p.Call):
        put = _put(function, function.code[reg])
        if put is None or put[0] not in slots or function.slot_names[put[0]] in ("self", "cls"):
            continue
        slot, part, at, of = put
        value = frame.values[at]
        uploaded = bool(value.uploads) and value.on_device and part not in (ADDED, WITHIN)
        if frame.values[of].is_a(TENSOR) or not (uploaded or value.flags & FROM_PARAMETER & ~from_parameter(slot)):
            continue
        if uploaded and not part and not any(_taken_from(frame, reg, slot) for reg in value.uploads):
            continue  # one element more, which says nothing of the others
        key = slot, part if uploaded or part else ADDED
        found[key] = join(found.get(key), value) or value
    if found:  # a parameter bound anew is another object from there on
        bound = {made.slot for made in function.code if isinstance(made, p.Store)}
        found = {key: value for key, value in found.items() if key[0] not in bound}
    return tuple((slot, part, value.but(why=())) for (slot, part), value in found.items()) if found else ()


def _put(function: Function, made: p.Instruction) -> tuple[Slot, str, Reg, Reg] | None:
    """The variable into whose object an instruction puts something, into which part, what, and the object."""
    if isinstance(made, p.SetItem | p.SetAttr):
        of, part, at = made.object, _part(function.code, made), made.value
    elif isinstance(made, p.Call) and made.args and isinstance(method := function.code[made.function], p.Attr):
        if method.name not in ("append", "add", "appendleft"):
            return None
        of, part, at = method.object, ADDED, made.args[0]
    else:
        return None
    base = function.code[of]
    around, _ = element_of(function, base) if part == ADDED else (None, None)
    if around is not None:
        part, base = WITHIN, function.code[around]
    return (base.slot, part, at, of) if isinstance(base, p.Load) else None


def element_of(function: Function, made: p.Instruction) -> tuple[Reg | None, Reg | None]:
    """What an element is taken from, and by which index: `d[key]`, `d.setdefault(key, [])`."""
    if isinstance(made, p.Subscript):
        return made.object, made.index
    if isinstance(made, p.Call) and len(made.args) == 2 and isinstance(method := function.code[made.function], p.Attr):
        return (method.object, made.args[0]) if method.name == "setdefault" else (None, None)
    return None, None


def _taken_from(frame: Frame, reg: Reg, slot: Slot) -> bool:
    """Whether what an upload moves is an element of what is in a parameter."""
    moved = frame.transfers.get((reg, MOVE))
    return moved is not None and bool(moved.before.flags & from_parameter(slot))


def _part(code: list[p.Instruction], made: p.SetItem | p.SetAttr) -> str:
    if isinstance(made, p.SetAttr):
        return f".{made.name}"
    index = code[made.index]
    return f"[{index.value!r}]" if isinstance(index, p.Const) and isinstance(index.value, str | int) else ""


def take_over(frame: Frame, parts: Written, given: dict[Slot, Reg], here: Callable[[Value], Value]) -> None:
    """Note after a call what the callee has put into its arguments; `here` tells what such a value is at the call."""
    for slot, part, value in parts:
        argument = given.get(slot)
        path = frame.path(argument) if argument is not None else ""
        if argument is None or not path or frame.values[argument].is_a(TENSOR):
            continue
        new = here(value)
        if not new.on_device and not new.on_host:
            continue
        base = frame.values[argument]
        if part == WITHIN and base.is_a(CONTAINER):
            inner = base.item if base.item is not None and base.item.is_a(CONTAINER) else Value(CONTAINER, HOST)
            frame.rebind(path, holding(base, holding(inner, new, None), None))
            continue
        if part and base.is_a(CONTAINER) and part[0] != ".":
            key = part[2:-2] if part.startswith("['") else ""
            frame.rebind(path, holding(base, new, with_field(base.fields, key, new) if key else None))
        if part and part != ADDED:
            frame.forget(path + part)
            frame.state.paths[path + part] = new
        if part:
            continue
        for known, old in list(frame.state.paths.items()):
            if known.startswith(f"{path}[") and old.kinds & (TENSOR | UNKNOWN) and not old.kinds & HOST_VALUE:
                frame.state.paths[known] = old.but(places=new.places, why=new.why, uploads=NO_REGISTERS)
        item = base.item.but(places=new.places, why=new.why, uploads=NO_REGISTERS) if base.item is not None else None
        if base.kinds & (CONTAINER | UNKNOWN) and not (item is not None and item.is_a(HOST_VALUE)):
            frame.rebind(path, Value(base.kinds, new.places, base.flags, new.why, item, name=base.name))
