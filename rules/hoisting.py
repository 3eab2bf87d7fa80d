"""The fix that puts an expression before a loop under a name of its own."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_READERS = frozenset({"size", "dim", "numel", "shape", "dtype", "device"})


def hoist(function: FunctionFacts, reg: Reg, region: int) -> Fix | None:
    """Put the expression of `reg` before the loop `region`; None where the text does not allow it. Safe where nothing
    in the function can write to the hoisted tensor, unsafe otherwise."""
    loop = function.function.regions[region]
    if loop.node is None or loop.kind not in ("for", "while"):
        return None
    text = function.file.text
    start, _ = function.file.spans.of(loop.node)
    line_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    indent = text[line_start:start]
    if indent.strip():
        return None  # `x = 1; for ...` cannot be, but `async for` and the like keep their keyword in front
    begin, end = function.span(reg)
    expression = text[begin:end]
    if "\n" in expression or "\r" in expression:
        return None
    name = _fresh_name(function, reg)
    newline = "\r\n" if "\r\n" in text else "\n"
    edits = (Edit(line_start, line_start, f"{indent}{name} = {expression}{newline}"), Edit(begin, end, name))
    only_read = _only_read(function, reg) and function.region(reg) == region
    return Fix("move it before the loop", Safety.SAFE if only_read else Safety.UNSAFE, edits)


def _fresh_name(function: FunctionFacts, reg: Reg) -> str:
    """A name nobody uses in the file: `tensor_on_device` for `tensor.to(device)`."""
    base = "value"
    for at in function.expression(reg):
        made = function.code[at]
        if (
            isinstance(made, p.Attr)
            and made.name not in ("to", "cuda")
            and not isinstance(function.code[made.object], p.Outer)
        ):
            base = made.name
            break
        if isinstance(made, p.Load):
            base = function.function.slot_names[made.slot]
            break
        if isinstance(made, p.Outer) and made.name != "torch":
            base = made.name
            break
    base = re.sub(r"\W", "_", base)
    name = f"{base}_on_device"
    taken = set(re.findall(r"\w+", function.file.text))
    number = 2
    while name in taken:
        name = f"{base}_on_device_{number}"
        number += 1
    return name


def _only_read(function: FunctionFacts, reg: Reg) -> bool:
    """True where the value, and every variable it is stored in, is only read by arithmetic and attributes."""
    return all(_reads(function, user, reg) for user in function.users(reg))


def _reads(function: FunctionFacts, user: Reg, value: Reg) -> bool:
    made = function.code[user]
    if isinstance(made, p.Binary):
        return not (made.inplace and made.left == value)
    if isinstance(made, p.Compare | p.Discard | p.Format | p.Subscript | p.Unary):
        return True
    if isinstance(made, p.Attr):
        return made.name in _READERS or (
            not made.name.endswith("_")
            and all(
                isinstance(function.code[u], p.Call) and function.code[u].function == user  # type: ignore[union-attr]
                for u in function.users(user)
            )
        )
    if isinstance(made, p.Call):
        name = function.file.placement.names.dotted(function.function, made.function)
        return name.startswith("torch.") and not name.endswith("_") and not any(k == "out" for k, _ in made.keywords)
    if isinstance(made, p.Store):
        return all(
            _loaded(function, reg)
            for reg, i in enumerate(function.code)
            if isinstance(i, p.Load) and i.slot == made.slot
        )
    return False


def _loaded(function: FunctionFacts, load: Reg) -> bool:
    return all(not isinstance(function.code[u], p.Store) and _reads(function, u, load) for u in function.users(load))
