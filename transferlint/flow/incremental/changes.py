"""How a file differs from the same file before a change, as far as others can see before anything is placed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transferlint import late
from transferlint.flow.placement import start
from transferlint.flow.placement.placement import FilePlacement
from transferlint.syntax.program import Function, Load, Outer


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
        function.declared, start.leaves_batches(function),
    )  # fmt: skip


def rebound(before: FilePlacement, now: FilePlacement) -> set[str]:
    """The names of a module that are not bound to what they were, as far as that can be seen without placing it."""
    old, new = _module_names(before), _module_names(now)
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def _module_names(file: FilePlacement) -> dict[str, tuple[str, str]]:
    """What a module binds each name to, and its annotation, "" for what is not known."""
    module, bound = file.program.functions[0], file.names.bindings(0)
    return {name: (bound.get(slot, ""), module.annotations.get(slot, "")) for name, slot in module.slots.items()}


def rewritten(before: FilePlacement, now: FilePlacement) -> set[int]:
    """The functions of a file (of which others see the same as before) whose code is not what it was."""
    pairs = zip(before.program.functions, now.program.functions, strict=True)
    return {new.index for old, new in pairs if not _same(old, new)}


def differing(before: FilePlacement, now: FilePlacement, code: set[int], heads: set[int]) -> set[int]:
    """The functions of a file (of which others see the same as before) that are not what they were, or of which what is
    looked up before anything is placed is not. `code` are those whose code is not what it was, `heads` those that are
    declared otherwise: who makes them, or reads their names, sees that without looking them up."""
    functions = now.program.functions
    changed = code | heads
    every = set(range(len(functions)))
    if any(before.names.bindings(index) != now.names.bindings(index) for index in every):
        return every
    if before.tracing != now.tracing or _tables(before, changed) != _tables(now, changed):
        return every
    for function in functions:  # what stands in a function comes after it
        if function.parent in changed and functions[function.parent].kind not in ("module", "class"):
            changed.add(function.index)
    changed |= {functions[index].parent for index in heads} - {-1}
    names = {functions[index].name for index in heads if functions[functions[index].parent].kind != "class"}
    return changed | {function.index for function in functions if any(_reads(function, name) for name in names)}


def _tables(file: FilePlacement, owners: set[int]) -> list[tuple[Any, ...]]:
    """What functions bind that others call without asking how they were placed."""
    return file.targets.given(file.names, owners)


def _reads(function: Function, name: str) -> bool:
    """Whether a function reads a name, its own or another's."""
    slot = function.slots.get(name)
    return bool(function.lookup.named(Outer, name) or (slot is not None and function.lookup.about(Load, slot)))


def _same(old: Function, new: Function) -> bool:
    """Whether two functions are the same but for where they stand."""
    if old is new:
        return True
    return (
        (old.code is new.code or old.code == new.code)
        and old.slots == new.slots
        and old.slot_names == new.slot_names
        and old.annotations == new.annotations
        and old.blocks == new.blocks
        and len(old.regions) == len(new.regions)
        and all(
            late.replace(a, node=None) == late.replace(b, node=None)
            for a, b in zip(old.regions, new.regions, strict=True)
        )
        and [node is None for node in old.nodes] == [node is None for node in new.nodes]
    )
