"""Operators on instances of classes of the checked source: calls of the methods that these define for them
(docs.python.org, reference/datamodel, 'Special method names')."""

from __future__ import annotations

from collections.abc import Sequence

from transferlint.flow.lattice.values import OBJECT, Value, element
from transferlint.flow.placement import known_calls
from transferlint.flow.placement.frame import Frame
from transferlint.syntax.program import Binary, Call, Enter, Reg

_METHODS = {
    "+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "<<": "lshift", ">>": "rshift", "&": "and", "^": "xor", "|": "or",
}  # fmt: skip


def applied(frame: Frame, reg: Reg, subject: Reg, method: str, given: Sequence[Reg] = ()) -> Value | None:
    """What a special method of the object in a register gives for some arguments; None where nothing is known to have
    it."""
    value = frame.values[subject]
    info = frame.file.info_of(value.name) if value.kinds == OBJECT else None
    found = frame.file.located(info.methods.get(method, "")) if info is not None else None
    if found is None:
        return None
    return known_calls.call(frame, reg, Call(subject, tuple(given), (), ()), *found)


def binary(frame: Frame, reg: Reg, made: Binary) -> Value | None:
    """What `left + right` or `left += right` gives by a method of one of the two; None where none is known to do it."""
    name = _METHODS.get(made.operator, "")
    if not name:
        return None
    found = applied(frame, reg, made.left, f"__i{name}__", (made.right,)) if made.inplace else None
    found = found or applied(frame, reg, made.left, f"__{name}__", (made.right,))
    return found or applied(frame, reg, made.right, f"__r{name}__", (made.left,))


def enter(frame: Frame, reg: Reg, made: Enter) -> Value | None:
    """What `with` binds for an object of a known class, whose `__exit__` is called as often, and what a function that
    is a context manager yields; None for others."""
    value = frame.values[made.context]
    found = frame.file.located(frame.calls.get(made.context, ""))
    if found is not None:
        function = found[0].program.functions[found[1]]
        if function.is_generator and any(one.endswith("contextmanager") for one in function.decorators):
            return element(value)
    info = frame.file.info_of(value.name) if value.kinds == OBJECT else None
    leaving = info.methods.get("__exit__") if info is not None else None
    if leaving is not None:
        frame.lent.add((reg, leaving))
    return applied(frame, reg, made.context, "__enter__")
