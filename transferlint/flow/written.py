"""What a function puts on the device in the objects that its callers hand it, and finds there when it has returned:
`for key in batch: batch[key] = batch[key].to(device)`, `data.x = data.x.cuda()`."""

from __future__ import annotations

from collections.abc import Callable

from transferlint.flow.frame import Frame
from transferlint.flow.transfers import MOVE
from transferlint.flow.values import CONTAINER, HOST_VALUE, NO_REGISTERS, TENSOR, UNKNOWN, Value, from_parameter, join
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot

Written = tuple[tuple[Slot, str, Value], ...]  # parameter, "" for its items or the part ("['x']", ".x"), what it holds


def written(frame: Frame) -> Written:
    """The parameters, or parts of them, into which the function of a frame puts what it uploaded."""
    function = frame.function
    if function.kind != "function" or not frame.transfers:  # without an upload there is nothing to look for
        return ()
    slots = {one.slot for one in function.parameters if one.kind not in ("star", "double_star")}
    found: dict[tuple[Slot, str], Value] = {}
    for made in function.code:
        if not isinstance(made, p.SetItem | p.SetAttr):
            continue
        value, base = frame.values[made.value], function.code[made.object]
        if not isinstance(base, p.Load) or base.slot not in slots or not value.uploads or not value.on_device:
            continue
        if function.slot_names[base.slot] in ("self", "cls") or frame.values[made.object].is_a(TENSOR):
            continue
        key = base.slot, _part(function.code, made)
        if not key[1] and not any(_taken_from(frame, reg, base.slot) for reg in value.uploads):
            continue  # one element more, which says nothing of the others
        found[key] = join(found.get(key), value) or value
    if found:  # a parameter bound anew is another object from there on
        bound = {made.slot for made in function.code if isinstance(made, p.Store)}
        found = {key: value for key, value in found.items() if key[0] not in bound}
    return tuple((slot, part, value.but(why=())) for (slot, part), value in found.items()) if found else ()


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
        if part:
            frame.forget(path + part)
            frame.state.paths[path + part] = new
            continue
        for known, old in list(frame.state.paths.items()):
            if known.startswith(f"{path}[") and old.kinds & (TENSOR | UNKNOWN) and not old.kinds & HOST_VALUE:
                frame.state.paths[known] = old.but(places=new.places, why=new.why, uploads=NO_REGISTERS)
        base = frame.values[argument]
        item = base.item.but(places=new.places, why=new.why, uploads=NO_REGISTERS) if base.item is not None else None
        if base.kinds & (CONTAINER | UNKNOWN) and not (item is not None and item.is_a(HOST_VALUE)):
            frame.rebind(path, Value(base.kinds, new.places, base.flags, new.why, item, name=base.name))
