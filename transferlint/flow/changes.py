"""How a file differs from the same file before a change, as far as others can see before anything is placed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from transferlint.flow.placement import FilePlacement
from transferlint.syntax.program import Function


def visible(file: FilePlacement) -> Iterator[Any]:
    """All that other files can see of one without asking how a function of it was placed, for a name of it, or for how
    a function is declared."""
    yield file.names.stars
    yield file.classes
    for function in file.program.functions:
        yield function.kind, function.name, function.qualname, function.parent
        yield (function.slots, function.annotations) if function.kind == "class" else None


def redeclared(before: FilePlacement, now: FilePlacement) -> set[int]:
    """The functions of a file (of which others see the same as before) that are declared otherwise than they were."""
    pairs = zip(before.program.functions, now.program.functions, strict=True)
    return {new.index for old, new in pairs if _declared(old) != _declared(new)}


def _declared(function: Function) -> tuple[Any, ...]:
    return (
        function.decorators, function.returns, function.is_async, function.is_generator, function.parameters,
        function.declared,
    )  # fmt: skip


def rebound(before: FilePlacement, now: FilePlacement) -> set[str]:
    """The names of a module that are not bound to what they were, as far as that can be seen without placing it."""
    old, new = _module_names(before), _module_names(now)
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def _module_names(file: FilePlacement) -> dict[str, tuple[str, str]]:
    """What a module binds each name to, and its annotation, "" for what is not known."""
    module, bound = file.program.functions[0], file.names.bindings(0)
    return {name: (bound.get(slot, ""), module.annotations.get(slot, "")) for name, slot in module.slots.items()}


def differing(before: FilePlacement, now: FilePlacement) -> set[int]:
    """The functions of a file (of which others see the same as before) that are not what they were, or of which what is
    looked up before anything is placed is not."""
    pairs = zip(before.program.functions, now.program.functions, strict=True)
    changed = {new.index for old, new in pairs if not _same(old, new)}
    for function in now.program.functions:  # what stands in a function comes after it
        if function.parent in changed and function.parent > 0:
            changed.add(function.index)
    every = set(range(len(now.program.functions)))
    bindings = all(before.names.bindings(index) == now.names.bindings(index) for index in every)
    tables = before.targets.tables() == now.targets.tables()
    return changed if bindings and tables and changed.isdisjoint(now.targets.tables()) else every


def _same(old: Function, new: Function) -> bool:
    """Whether two functions are the same but for where they stand."""
    return (
        old.code == new.code
        and old.slots == new.slots
        and old.slot_names == new.slot_names
        and old.annotations == new.annotations
        and old.blocks == new.blocks
        and len(old.regions) == len(new.regions)
        and all(
            dataclasses.replace(a, node=None) == dataclasses.replace(b, node=None)
            for a, b in zip(old.regions, new.regions, strict=True)
        )
        and [node is None for node in old.nodes] == [node is None for node in new.nodes]
    )
