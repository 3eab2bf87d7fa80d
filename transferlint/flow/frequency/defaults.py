"""What a condition comes to where the options that it reads are what they are by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transferlint.flow.callgraph.callers import Site
from transferlint.flow.callgraph.names import ClassInfo
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.frequency.constants import UNKNOWN, joined, literal, stored, truth, value_of
from transferlint.flow.frequency.unasked import decided
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Parameter, Reg

if TYPE_CHECKING:
    from transferlint.flow.placement.placement import FilePlacement

_BASES = 16


class Defaults:
    """The options of the objects of a file: attributes of `self` that the constructor takes from a parameter with a
    default, or sets to a literal, and that nothing else in the file sets."""

    def __init__(self, file: FilePlacement) -> None:
        self._file = file
        self._attributes: dict[tuple[int, str], object] = {}
        self._later: frozenset[str] | None = None

    def off(self, function: Function, test: Reg, when: bool) -> str:
        """The option by whose default a test is not `when`; "" where that cannot be told, and where a call that is
        known may give something else. Lines with a transfer behind such tests ran in 7 of 100 steps, in workloads made
        from the examples of 12 packages (benchmarks/results/shares.json, "option-off")."""
        kept: dict[Reg, object] = {}
        for reg in tree(function.code, test):
            made = function.code[reg]
            found = self._attribute(function, made) if isinstance(made, p.Attr) else UNKNOWN
            if found is not UNKNOWN:
                kept[reg] = found
        if not kept or truth(value_of(function, test, test, {}, kept)) is not (not when):
            return ""
        made = function.code[min(kept)]
        return made.name if isinstance(made, p.Attr) else ""

    def _attribute(self, function: Function, made: p.Attr) -> object:
        """What an attribute of `self` is by default."""
        owner = function.code[made.object]
        info = self._file.class_of(function)
        if info is None or not isinstance(owner, p.Load) or function.slot_names[owner.slot] != "self":
            return UNKNOWN
        asked = info.index, made.name
        if made.name in self._set_later():
            return UNKNOWN
        if asked not in self._attributes:
            found = list(self._stored(info, made.name))
            self._attributes[asked] = found[0] if len(found) == 1 else UNKNOWN
        return self._attributes[asked]

    def _set_later(self) -> frozenset[str]:
        """The attributes that the file sets elsewhere than in constructors, of whatever object."""
        if self._later is None:
            functions = [one for one in self._file.program.functions if one.name != "__init__"]
            put = (one.code[reg] for one in functions for reg in one.lookup.of(p.SetAttr))
            self._later = frozenset(one.name for one in put if isinstance(one, p.SetAttr))
        return self._later

    def _stored(self, info: ClassInfo, name: str) -> Iterator[object]:
        """What the methods of a class and of its bases put into an attribute."""
        pending, seen = [info], {""}
        for _ in range(_BASES):
            one = pending.pop() if pending else None
            for method in sorted(one.methods.values()) if one is not None else ():
                place = self._file.located(method) if method not in seen else None
                if place is None:
                    continue
                seen.add(method)
                function = place[0].program.functions[place[1]]
                for reg in function.lookup.of(p.SetAttr):
                    put = function.code[reg]
                    if isinstance(put, p.SetAttr) and put.name == name:
                        yield _kept(place[0], function, reg) if function.name == "__init__" else UNKNOWN
            bases = map(self._file.info_of, one.bases if one is not None else ())
            pending += [base for base in bases if base is not None]


def _kept(file: FilePlacement, constructor: Function, at: Reg) -> object:
    """What a constructor puts into an attribute by default."""
    put = constructor.code[at]
    made = constructor.code[put.value] if isinstance(put, p.SetAttr) else None
    if isinstance(made, p.Const):
        return made.value
    slot = made.slot if isinstance(made, p.Load) else -1
    one = next((one for one in constructor.parameters if one.slot == slot and one.default), None)
    if one is None or stored(constructor, slot, at):
        return UNKNOWN
    values = [literal(one.default)]
    values += [_told(file, constructor, one, site) for site in sorted(file.callers.telling(constructor.index, slot))]
    for site, given in file.calls_of(constructor.index).items():
        values.append(UNKNOWN if given is None else decided(file, constructor, one, site, given))
    return joined(values)


def _told(file: FilePlacement, constructor: Function, one: Parameter, site: Site) -> object:
    """What a call of a class gives for a parameter of its constructor."""
    owner = file.located(f"{site[0]}#{site[1]}")
    caller = owner[0].program.functions[owner[1]] if owner is not None else None
    made = caller.code[site[2]] if caller is not None else None
    if caller is None or not isinstance(made, p.Call):
        return UNKNOWN
    reg = dict(made.keywords).get(one.name)
    if reg is None:
        at = constructor.parameters.index(one) - 1
        if not 0 <= at < len(made.args) or any(made.stars):
            return UNKNOWN
        reg = made.args[at]
    value = caller.code[reg]
    if isinstance(value, p.Const):
        return value.value
    slots = {own.slot: own.default for own in caller.parameters if own.default}
    return literal(slots[value.slot]) if isinstance(value, p.Load) and value.slot in slots else UNKNOWN
