"""Which functions a call may reach of which none is chosen: a name that is defined twice, a table of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from transferlint.syntax.program import (
    Attr,
    Call,
    Choice,
    Function,
    Instruction,
    Load,
    Make,
    Mapping,
    Outer,
    Program,
    Reg,
    Sequence,
    SetAttr,
    Slot,
    Store,
    Subscript,
)

if TYPE_CHECKING:
    from transferlint.flow.callgraph.names import Names

# A variable (function, slot), or an attribute of the instances of a class (class, name).
_Holder = tuple[int, Slot] | tuple[int, str]
_DISPLAYS = (Make, Mapping, Sequence)


class Targets:
    """The functions that a callee of one program may stand for, looked up once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._held: dict[_Holder, list[tuple[Function, Reg]]] = {}
        for function in program.functions:
            for reg in function.lookup.of(Store, SetAttr):
                made = function.code[reg]
                if isinstance(made, (Store, SetAttr)) and _is_table(function, made.value):
                    holder = _holder(program, function, made)
                    if holder is not None:
                        self._held.setdefault(holder, []).append((function, made.value))

    def given(self, names: Names, owners: Iterable[int]) -> list[tuple[Any, ...]]:
        """All that `of` sees of the code of these functions (their indices) where others ask: not of what a function
        binds for itself and those that stand in it."""
        wanted = set(owners)
        entries = ((holder, one) for holder, held in self._held.items() for one in held)
        return [
            (holder, len(self._held[holder]), owner.index, *self._seen(names, owner, reg))
            for holder, (owner, reg) in entries
            if owner.index in wanted and (owner.kind in ("module", "class") or holder[0] != owner.index)
        ]

    def _seen(self, names: Names, owner: Function, reg: Reg) -> Iterator[Any]:
        """What a table that a function binds holds, in order."""
        made = owner.code[reg]
        yield type(made)
        if isinstance(made, Call):
            yield list(self.of(names, owner, made.args[0]))
        elif isinstance(made, Mapping | Sequence):
            for value in made.values if isinstance(made, Mapping) else made.items:
                yield list(self._named(names, owner, value))
        else:
            yield from self._named(names, owner, reg)

    def of(self, names: Names, function: Function, callee: Reg) -> Iterator[str]:
        """The qualified names of the functions that a callee may be: `f` where `f` is defined more than once, or bound
        to one of several, `table[key]`, `table.get(key)` and `self.table[key]` of a display of functions."""
        made = function.code[callee]
        if isinstance(made, Load | Outer | Attr):
            held = self._of(names, function, made)
            if len(held) > 1 and not isinstance(made, Attr):
                yield from (name for owner, reg in held for name in self._named(names, owner, reg))
            elif isinstance(made, Load) and not held:
                bound_to = _alternatives(function, made.slot)
                yield from (name for reg in bound_to for name in self._named(names, function, reg))
            for owner, reg in held:
                bound = owner.code[reg]
                if isinstance(bound, Call):  # `MethodType(table[key], self)`
                    yield from self.of(names, owner, bound.args[0])
            return
        table = made.object if isinstance(made, Subscript) else _got_from(function, made)
        for owner, reg in self._of(names, function, function.code[table]) if table is not None else ():
            display = owner.code[reg]
            if isinstance(display, Mapping | Sequence):
                for value in display.values if isinstance(display, Mapping) else display.items:
                    yield from self._named(names, owner, value)

    def _of(self, names: Names, function: Function, made: Instruction) -> list[tuple[Function, Reg]]:
        holder: _Holder | None = None
        if isinstance(made, Load):
            holder = function.index, made.slot
        elif isinstance(made, Outer):
            holder = names.binding(function, made.name)
        elif isinstance(made, Attr):
            cls = _class(self._program, function, made.object)
            held = self._held.get((cls, made.name), []) if cls >= 0 else []
            slot = self._program.functions[cls].slots.get(made.name) if cls >= 0 else None
            return held or (self._held.get((cls, slot), []) if slot is not None else [])
        return self._held.get(holder, []) if holder is not None else []

    def _named(self, names: Names, owner: Function, reg: Reg) -> Iterator[str]:
        made = owner.code[reg]
        if isinstance(made, Make):
            yield names.own(made.function)
            return
        cls = _class(self._program, owner, made.object) if isinstance(made, Attr) else -1
        if isinstance(made, Attr) and cls >= 0:
            yield from (names.own(f.index) for f in self._program.functions if f.parent == cls and f.name == made.name)
            return
        name = names.resolved(names.dotted(owner, reg))
        if name:
            yield name


def _alternatives(function: Function, slot: Slot) -> list[Reg]:
    """What a variable is bound to, where that is one of several names: `run = self.fast if asked else self.slow`."""
    found: list[Reg] = []
    for at in function.lookup.about(Store, slot):
        made = function.code[at]
        chosen = function.code[made.value] if isinstance(made, Store) else None
        if isinstance(made, Store):
            found += [chosen.body, chosen.orelse] if isinstance(chosen, Choice) else [made.value]
    named = [reg for reg in found if isinstance(function.code[reg], Outer | Attr)]
    return named if len(named) > 1 else []


def _is_table(function: Function, reg: Reg) -> bool:
    """True for a function, a display of some, and one of them that is bound to an object."""
    made = function.code[reg]
    if isinstance(made, Call) and len(made.args) == 2:
        callee = function.code[made.function]
        binds = isinstance(callee, Load | Outer | Attr) and _last(function, callee) == "MethodType"
        return binds and isinstance(function.code[made.args[0]], Subscript)
    return isinstance(made, _DISPLAYS)


def _last(function: Function, made: Load | Outer | Attr) -> str:
    return function.slot_names[made.slot] if isinstance(made, Load) else made.name


def _holder(program: Program, function: Function, made: Store | SetAttr) -> _Holder | None:
    if isinstance(made, Store):
        return function.index, made.slot
    cls = _class(program, function, made.object)
    return (cls, made.name) if cls >= 0 else None


def _class(program: Program, function: Function, reg: Reg) -> int:
    """The class of a method whose `self` a register holds; -1 for anything else."""
    made = function.code[reg]
    parent = function.parent
    first = function.parameters[0] if function.parameters else None
    if not isinstance(made, Load) or first is None or made.slot != first.slot or first.name not in ("self", "cls"):
        return -1
    return parent if parent >= 0 and program.functions[parent].kind == "class" else -1


def _got_from(function: Function, made: Instruction) -> Reg | None:
    """The table of `table.get(key)`."""
    callee = function.code[made.function] if isinstance(made, Call) else None
    return callee.object if isinstance(callee, Attr) and callee.name == "get" else None
