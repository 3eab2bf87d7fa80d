"""Attributes by names that are values: `setattr(self, f"table{i}", x)`, `getattr(self, f"table{i}", None)`.

What a class stores under names that are put together at run time is joined, as what is stored in a mapping under keys
that vary: each read under such a name may give any of it (docs.python.org, library/functions, `getattr`, `setattr`).
"""

from __future__ import annotations

from transferlint.flow.frame import Frame
from transferlint.flow.values import MODULE, NOTHING, OBJECT, TENSOR, Value
from transferlint.syntax.program import Call, Const, Reg

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
