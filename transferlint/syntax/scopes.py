"""The names that comprehensions and functions bring, the same for either tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from transferlint.syntax.builder import Builder
from transferlint.syntax.program import Function, Slot

Scope = tuple[dict[str, Slot], dict[str, "Slot | None"]]


def opened(b: Builder, names: Iterable[str]) -> Scope:
    """Give the targets of a comprehension slots of their own that shadow the function's; what `close` restores.

    Within a class body the rest of a comprehension does not see the names of the class (docs.python.org, execution
    model, 'Resolution of names').
    """
    before = b.slots
    if b.function.kind == "class" and not b.targets:
        b.slots = {}
    hidden: dict[str, Slot | None] = {}
    own: dict[str, Slot] = {}
    for name in names:
        if name not in hidden:
            hidden[name] = b.slots.get(name)
            own[name] = b.slots[name] = b.fresh(name)
    b.targets.append(own)
    return before, hidden


def close(b: Builder, scope: Scope) -> None:
    """The names as they were."""
    b.targets.pop()
    before, hidden = scope
    for name, slot in hidden.items():
        if slot is None:
            del b.slots[name]
        else:
            b.slots[name] = slot
    b.slots = before


def function(b: Builder, kind: str, name: str, node: Any) -> tuple[Function, dict[str, str]]:
    """A new function of the program within the one under construction, and what its builder has as `captured`."""
    parent = b.function
    qualname = name if parent.kind == "module" else f"{parent.qualname}.{name}"
    functions = b.program.functions
    made = Function(len(functions), kind, name, qualname, parent.index, node)
    functions.append(made)
    captured = b.captured
    if b.targets:
        captured = dict(captured)
        for own in b.targets:
            for target, slot in own.items():
                # A name of its own, since another variable of the function may be called the same.
                unique = f"{target}@{parent.index}.{slot}"
                parent.slots[unique] = slot
                captured[target] = unique
    return made, captured
