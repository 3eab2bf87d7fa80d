"""A proof that a value is not written: what may share its memory, and who may write to that.

Everything is taken to be the same memory (`WORLD`) that code outside of this function may reach: arguments, what other
names refer to, attributes of objects, what unknown calls are handed or give. Within it a write to one is a write to
all, and an unknown call writes to all. What the function makes itself and hands to nobody is told apart by variable.
The order of the code plays no role.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.syntax.program import Reg

from ..code.chains import captured
from . import memory_effects


class _Plain:
    """What a function's instructions do where no value is told apart, by register, for those that do anything."""

    def __init__(self, function: FunctionFacts) -> None:
        self.effects = memory_effects.Effects(function)
        regs = range(len(function.code))
        self.joined = {reg: nodes for reg in regs if len(nodes := self.effects.joined(reg)) > 1}
        self.left = {reg: nodes for reg in regs if (nodes := self.effects.left(reg))}
        self.written = {reg: nodes for reg in regs if (nodes := self.effects.written(reg))}
        # what is given, and what functions of the file read by name, is in everybody's hands
        shared = (slot for slot in range(len(function.function.slot_names)) if captured(function, slot))
        self.world = {memory_effects.WORLD, *(q.slot for q in function.function.parameters), *shared}
        # a function joins few variables, however often
        self.all_joined = collections.Counter(self.joined.values())
        self.all_left = collections.Counter(self.left.values())
        self.all_written = collections.Counter(self.written.values())


@once
def _plain(function: FunctionFacts) -> _Plain:
    return _Plain(function)


class Memory:
    """The sharing of one function's values, and what its instructions write; `result` is a value to be told apart from
    its source although it may be the same object."""

    def __init__(self, function: FunctionFacts, result: Reg | None = None) -> None:
        self._plain = plain = _plain(function)
        self._effects = memory_effects.Effects(function, result, plain.effects)
        self._own = self._effects.own
        self._parent: dict[int, int] = {}
        self._join(plain.world)
        for nodes in self._now(plain.all_joined, plain.joined):
            self._join(nodes)
        for reg in self._own:
            self._join(self._effects.joined(reg))
        left = [*self._now(plain.all_left, plain.left), *map(self._effects.left, self._own)]
        if any(self._find(memory_effects.RESULT) in map(self._find, nodes) for nodes in left):
            self._join((memory_effects.WORLD, memory_effects.RESULT))

    def everything(self) -> set[int]:
        """The classes of memory that the function writes."""
        nodes = [*self._now(self._plain.all_written, self._plain.written), *map(self._effects.written, self._own)]
        return {self._find(n) for n in memory_effects.Nodes().union(*nodes)}

    def written(self, regs: Iterable[Reg]) -> set[int]:
        """The classes of memory that the registers write."""
        within = set(regs)
        nodes = [self._plain.written[reg] for reg in (within & self._plain.written.keys()) - self._own]
        nodes += [self._effects.written(reg) for reg in within & self._own]
        return {self._find(n) for n in memory_effects.Nodes().union(*nodes)}

    def classes(self, reg: Reg) -> set[int]:
        """The classes of memory that a register's value may lie in."""
        return {self._find(n) for n in self._effects.roots(reg)}

    def of(self, node: int) -> int:
        """The class of `WORLD` or `RESULT`."""
        return self._find(node)

    def _now(
        self, counted: collections.Counter[memory_effects.Nodes], by: dict[Reg, memory_effects.Nodes]
    ) -> Iterable[memory_effects.Nodes]:
        """What the instructions do that the result takes no part in."""
        own = collections.Counter(by[reg] for reg in self._own if reg in by)
        return [nodes for nodes in counted if nodes not in own or own[nodes] < counted[nodes]]

    def _find(self, node: int) -> int:
        parent = self._parent
        while node in parent:
            up = parent[node]
            if up in parent:
                parent[node] = parent[up]
            node = up
        return node

    def _join(self, nodes: Iterable[int]) -> None:
        first, *others = [self._find(n) for n in nodes] or [memory_effects.WORLD]
        for one in others:
            if one != first:
                self._parent[one] = first
