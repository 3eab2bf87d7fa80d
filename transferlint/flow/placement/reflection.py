"""Attributes by names that are values: `setattr(self, f"table{i}", x)`, `getattr(self, f"table{i}", None)`.

What a class stores under names that are put together at run time is joined, as what is stored in a mapping under keys
that vary: each read under such a name may give any of it (docs.python.org, library/functions, `getattr`, `setattr`).
"""

from __future__ import annotations

from transferlint.flow.dataflow.once import once
from transferlint.flow.lattice.values import MODULE, NOTHING, OBJECT, TENSOR, Value
from transferlint.flow.placement.frame import Frame
from transferlint.syntax.program import Attr, Call, Const, Function, Load, Next, Outer, Reg, Slot, Store, Unpack

_KEYED = "[]"  # no name of an attribute


def read(frame: Frame, made: Call) -> Value:
    """What `getattr(object, name)` gives."""
    base, name = frame.values[made.args[0]], _name(frame, made.args[1])
    known = frame.state.paths.get(f"{frame.path(made.args[0])}.{name}") if name else None
    info = frame.file.info_of(base.name) if base.kinds & (OBJECT | MODULE) else None
    if known is None and info is not None:
        known = frame.file.attribute(info, name or _KEYED)
    return known or NOTHING


def write(frame: Frame, made: Call) -> None:
    """Note what `setattr(object, name, value)` stores."""
    base, name = frame.path(made.args[0]), _name(frame, made.args[1])
    if base and name:
        frame.forget(f"{base}.{name}")
        frame.state.paths[f"{base}.{name}"] = frame.values[made.args[2]]
    info = frame.file.class_of(frame.function)
    if base == "self" and info is not None:
        frame.file.store_attribute(info, name or _KEYED, frame.values[made.args[2]])


def spread(frame: Frame, made: Call, function: Function) -> None:
    """Note what a method of the same object stores that a call gives by name, where it stores all that it is given:
    `self.register(model=model)` of `for name, value in values.items(): setattr(self, name, value)`."""
    info = frame.file.class_of(frame.function)
    callee = frame.code[made.function]
    if info is None or not isinstance(callee, Attr) or frame.path(callee.object) != "self" or not _stores_all(function):
        return
    taken = {one.name for one in function.parameters}
    for name, reg in made.keywords:
        if name and name not in taken:
            frame.file.store_attribute(info, name, frame.values[reg])


@once
def _stores_all(function: Function) -> bool:
    """True for a method that sets what it is given by any name as attributes of its object."""
    named = next((one.slot for one in function.parameters if one.kind == "double_star"), None)
    code = function.code
    if named is None:
        return False
    for made in code:
        if not isinstance(made, Call) or code[made.function] != Outer("setattr") or len(made.args) != 3:
            continue
        pair = [_item_of(function, reg) for reg in made.args[1:]]
        if pair == [(named, 0), (named, 1)] and function.slot_names[0] == "self" and code[made.args[0]] == Load(0):
            return True
    return False


def _item_of(function: Function, reg: Reg) -> tuple[Slot, int] | None:
    """The mapping, a variable, of whose items a loop's variable is the name (0) or the value (1)."""
    code, made = function.code, function.code[reg]
    stores = function.lookup.about(Store, made.slot) if isinstance(made, Load) else []
    store = code[stores[0]] if len(stores) == 1 else None
    part = code[store.value] if isinstance(store, Store) else None
    following = code[part.value] if isinstance(part, Unpack) else None
    items = code[following.iterable] if isinstance(following, Next) else None
    callee = code[items.function] if isinstance(items, Call) else None
    of = code[callee.object] if isinstance(callee, Attr) and callee.name == "items" else None
    return (of.slot, part.index) if isinstance(of, Load) and isinstance(part, Unpack) else None


def register(frame: Frame, at: Reg, given: Value, buffer: Value) -> None:
    """Note what `self.register_buffer(name, tensor)` stores. In the constructor, it is where it was made."""
    info = frame.file.class_of(frame.function)
    if info is None:
        return
    name = _name(frame, at)
    if not name:
        frame.file.store_attribute(info, _KEYED, buffer)
        return
    made_here = frame.function.name == "__init__" and given.is_a(TENSOR) and given.on_host
    frame.state.paths[f"self.{name}"] = given if made_here else buffer
    frame.file.set_attribute(info, name, buffer.but(why=()))


def _name(frame: Frame, at: Reg) -> str:
    """The name that is written out there, "" for any other."""
    made = frame.code[at]
    return made.value if isinstance(made, Const) and isinstance(made.value, str) else ""
