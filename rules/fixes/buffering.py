"""The fix of a tensor that a module keeps as a plain attribute: it becomes a buffer, which the module's own move takes
along. Only shown, as it changes what the module is made of."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p

from ..code import rewriting, statement_text


def buffered(function: FunctionFacts, attribute: str) -> Fix | None:
    """`self.table = ...` of the constructor to `self.register_buffer("table", ..., persistent=False)`; None where the
    class binds it elsewhere too, or where the class is no module."""
    info = function.file.placement.class_of(function.function)
    if info is None or not info.module or function.file.text.count(f'register_buffer("{attribute}"'):
        return None
    found: list[tuple[FunctionFacts, p.SetAttr]] = []
    for other in function.file.functions:
        if other.function.parent != function.function.parent:
            continue
        for made in other.code:
            if isinstance(made, p.SetAttr) and made.name == attribute and other.has_text(made.object):
                found.append((other, made))
    if len(found) != 1 or found[0][0].function.name != "__init__":
        return None
    other, made = found[0]
    text = function.file.text
    start = other.span(made.object)[0]
    statement = statement_text.statement_at(text, start)
    head = re.match(rf"self\.{attribute}(?:\s*:[^=\n]*)?\s*=(?!=)\s*", statement[0]) if statement is not None else None
    if statement is None or head is None or "#" in statement[0] or ";" in statement[0]:
        return None
    end = start + len(statement[0])
    edits = (
        Edit(start, start + head.end(), f'self.register_buffer("{attribute}", '),
        Edit(end, end, ", persistent=False)"),
    )
    if "\n" in statement[0] and attribute not in other.function.slots:
        indent = text[text.rfind("\n", 0, start) + 1 : start]
        line = (
            f'{rewriting.newline(function)}{indent}self.register_buffer("{attribute}", {attribute}, persistent=False)'
        )
        edits = (Edit(start, start + head.end(), f"{attribute} = "), Edit(end, end, line))
    # `module.half()` casts buffers of floats along with the parameters; plain attributes stay as they are.
    return Fix("register a buffer", Safety.DISPLAY, edits)
