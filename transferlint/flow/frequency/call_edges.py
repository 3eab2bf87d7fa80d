"""The calls of a file's functions, as they are placed: who calls whom, or may."""

from __future__ import annotations

from collections.abc import Mapping

from transferlint.flow.callgraph.names import split
from transferlint.flow.callgraph.overriding import Overriding
from transferlint.flow.frequency.callees import few, unresolved
from transferlint.flow.placement.placed import Placed
from transferlint.syntax.program import Reg


class CallEdges:
    """Calls within the file `key`, as caller, register and callee: `calls`, and (`lent`) what may be called there, or
    later, which tells of heat and not of coolness; `callees` are those of both. `outgoing` and `maybe` are the same of
    calls that leave the file: caller, register, the callee's file and index. `named`: calls of which only the method's
    name is known (`methods`: the idents of all methods of a name), as caller, register and name; those of a name that
    few methods have may be calls of each of them. `overriding` names for methods (idents) those that override them."""

    def __init__(
        self, key: str, placed: list[Placed], overriding: Overriding, methods: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._key = key
        self.calls: list[tuple[int, Reg, int]] = []
        self.lent: list[tuple[int, Reg, int]] = []
        self.outgoing: list[tuple[int, Reg, str, int]] = []
        self.maybe: list[tuple[int, Reg, str, int]] = []
        self.named: list[tuple[int, Reg, str]] = []
        for one in placed:
            for reg, name in sorted(one.calls.items()):
                self._add(one.function.index, reg, name, self.calls, self.outgoing)
                receiver = one.receivers.get(reg, "")
                for target, family in overriding.get(name, ()):
                    if receiver in family:
                        self._add(one.function.index, reg, target, self.calls, self.outgoing)
            for reg, name in sorted(one.lent):
                self._add(one.function.index, reg, name, self.lent, self.maybe)
            for reg, method in unresolved(one, methods):
                self.named.append((one.function.index, reg, method))
                for name in few(methods[method]):
                    self._add(one.function.index, reg, name, self.lent, self.maybe)
        self.callees = {callee for _, _, callee in (*self.calls, *self.lent)}

    def _add(
        self,
        caller: int,
        reg: Reg,
        name: str,
        own: list[tuple[int, Reg, int]],
        others: list[tuple[int, Reg, str, int]],
    ) -> None:
        place = split(name)
        if place is not None and place[0] == self._key:
            own.append((caller, reg, place[1]))
        elif place is not None:
            others.append((caller, reg, *place))
