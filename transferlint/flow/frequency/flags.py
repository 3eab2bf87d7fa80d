"""One-shot flags, what a method always fills, and hooks that remove themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import ident, split
from transferlint.flow.dataflow.guards import identifiers
from transferlint.flow.dataflow.kept import arm, is_self, own, region_of, wanting
from transferlint.knowledge import roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

if TYPE_CHECKING:
    from transferlint.flow.placement.placement import FilePlacement

_STRAIGHT = frozenset({"with", "try"})
_ARMS = frozenset({"then", "else", "case", "handler"})
_COMPUTED = object()  # what is set to no constant


class Flags:
    """The attributes of a file that are set to True or False, and where."""

    def __init__(self, file: FilePlacement) -> None:
        self._file = file
        self._found: dict[str, list[tuple[int, Reg, object]]] | None = None

    def once(self, function: Function, index: int, test: Reg, when: bool) -> bool:
        """True for an arm that runs where a flag of `self` stands one way, where the arm, a method that it calls, or
        the function right after it, sets the flag the other way, and nothing but setup, the hooks of epochs and what
        resets it now and then sets it back."""
        return any(self._put_out(function, index, *asked) for asked in _flags(function, test, when))

    def filled(self, function: Function, index: int, test: Reg, when: bool) -> bool:
        """True for an arm that calls a method of `self` which always stores the attribute of which the test asks
        whether it is there, or large enough, and which nothing but setup, and what resets it now and then, empties."""
        asked = _only_wanting(function, test, when)
        for callee in self._methods(function, index) if asked else ():
            for name in asked:
                sets = self._sets().get(name, ())
                stores = any(at == callee.index and to and _always(callee, reg) for at, reg, to in sets)
                if stores and all(to or self._rests(at) for at, _, to in sets):
                    return True
        return False

    def _put_out(self, function: Function, index: int, name: str, value: bool) -> bool:
        sets = self._sets().get(name, [])
        called = {callee.index: callee for callee in self._methods(function, index)} if sets else {}
        if not any(
            (at == function.index and self._follows(function, index, reg, value))
            or (at in called and to is (not value) and _always(called[at], reg))
            for at, reg, to in sets
        ):
            return False
        return all(to is (not value) or self._rests(at) for at, _, to in sets)

    def _methods(self, function: Function, index: int) -> Iterator[Function]:
        """The methods of this file that an arm calls on `self`."""
        info = self._file.class_of(function)
        for made in arm(function, index) if info is not None else ():
            callee = function.code[made.function] if isinstance(made, p.Call) else None
            if isinstance(callee, p.Attr) and is_self(function, callee.object) and info is not None:
                place = split(info.methods.get(callee.name, ""))
                if place is not None and place[0] == self._file.key:
                    yield self._file.program.functions[place[1]]

    def _rests(self, index: int) -> bool:
        """True for a function that runs rarely by what it is, or is there to reset things, and is called for that in
        arms and from setup alone."""
        function = self._file.program.functions[index]
        if self._file.roles[index].cold or function.kind != "function":
            return True
        return bool(roles.RESETTING.match(function.name)) and all(
            self._now_and_then(*site) for site in self._file.calls_of(index)
        )

    def _now_and_then(self, key: str, caller: int, reg: Reg) -> bool:
        """True for a call in an arm of a test, or in a function that runs rarely by what it is."""
        owner = self._file.located(ident(key, caller))
        if owner is None:
            return False
        function = owner[0].program.functions[caller]
        around = function.ancestors(region_of(function, reg))
        return bool(owner[0].roles[caller].cold) or any(r.kind in _ARMS and not r.implied for r in around)

    def _follows(self, function: Function, index: int, reg: Reg, value: bool) -> bool:
        """True for `self.flag = not value` in an arm, or past it on the way that all that comes by takes."""
        made = function.code[reg]
        if not isinstance(made, p.SetAttr) or not is_self(function, made.object):
            return False
        constant = function.code[made.value]
        if not isinstance(constant, p.Const) or constant.value is not (not value):
            return False
        at = _straight(function, region_of(function, reg), index)
        if at == index:
            return True
        around = function.regions[index].parent
        while around > 0 and around != at:
            around = function.regions[around].parent
        return around == at and reg > max((b.end for b in function.blocks if b.region == index), default=0)

    def _sets(self) -> dict[str, list[tuple[int, Reg, object]]]:
        """By attribute: the function, register and constant (`_COMPUTED`: none) of each time that it is set."""
        if self._found is None:
            self._found = {}
            for function in self._file.program.functions:
                for reg in function.lookup.of(p.SetAttr):
                    made = function.code[reg]
                    if isinstance(made, p.SetAttr):
                        constant = function.code[made.value]
                        to = constant.value if isinstance(constant, p.Const) else _COMPUTED
                        self._found.setdefault(made.name, []).append((function.index, reg, to))
        return self._found


def passing_hooks(file: FilePlacement) -> frozenset[int]:
    """The functions that are registered as hooks, and remove the handle that they were registered with."""
    handles: dict[str, list[tuple[Function, Reg]]] = {}
    for function in file.program.functions:
        for reg in function.lookup.of(p.SetAttr, p.Store):
            made = function.code[reg]
            if isinstance(made, p.SetAttr | p.Store):
                call = function.code[made.value]
                callee = function.code[call.function] if isinstance(call, p.Call) and call.args else None
                if isinstance(callee, p.Attr) and callee.name.startswith("register_") and isinstance(call, p.Call):
                    name = made.name if isinstance(made, p.SetAttr) else function.slot_names[made.slot]
                    handles.setdefault(name, []).append((function, call.args[0]))
    found = set()
    for function in file.program.functions if handles else ():
        for reg, made in enumerate(function.code):
            callee = function.code[made.function] if isinstance(made, p.Call) and not made.args else None
            if not isinstance(callee, p.Attr) or callee.name != "remove":
                continue
            spelled = next(identifiers(function, callee.object), "")
            registered = handles.get(spelled, ())
            if any(_refers(file, *one, function) for one in registered) and _always(function, reg):
                found.add(function.index)
    return frozenset(found)


def _refers(file: FilePlacement, owner: Function, reg: Reg, function: Function) -> bool:
    """True where an expression names a function, as `f` or `self.f`."""
    made = owner.code[reg]
    if isinstance(made, p.Attr):
        return made.name == function.name and is_self(owner, made.object)
    return file.names.dotted(owner, reg) == ident(file.key, function.index)


def _always(function: Function, reg: Reg) -> bool:
    return _straight(function, region_of(function, reg), 0) == 0


def _straight(function: Function, region: int, end: int) -> int:
    """The region that code stands in once bodies of `with` and `try`, and what follows arms that leave, are taken for
    part of what is around them; `end` is left as it is."""
    while region not in (0, end):
        around = function.regions[region]
        if not around.implied and around.kind not in _STRAIGHT:
            break
        region = around.parent
    return region


def _flags(function: Function, test: Reg, when: bool) -> Iterator[tuple[str, bool]]:
    """The attributes of `self` that have to be true, or false, for a test to be `when`."""
    made = function.code[test]
    if isinstance(made, p.Unary) and made.operator == "not":
        yield from _flags(function, made.operand, not when)
    elif isinstance(made, p.Boolean) and (made.operator == "and") == when:
        for part in made.operands:
            yield from _flags(function, part, when)
    elif isinstance(made, p.Attr):
        yield from ((name, when) for name in own(function, test))


def _only_wanting(function: Function, test: Reg, when: bool) -> frozenset[str]:
    """The attributes of `self` that a test, being `when`, finds missing or small: `wanting`, without what one part of a
    test asks where another part may have decided."""
    made = function.code[test]
    if isinstance(made, p.Unary) and made.operator == "not":
        return _only_wanting(function, made.operand, not when)
    if not isinstance(made, p.Boolean):
        return wanting(function, test, when)
    parts = [_only_wanting(function, part, when) for part in made.operands]
    if (made.operator == "or") == when and not all(parts):
        return frozenset()
    return frozenset().union(*parts)
