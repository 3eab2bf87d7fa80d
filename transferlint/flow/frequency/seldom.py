"""Why the code of a region runs rarely within hot code: error paths, what is kept, flags that are put out, guards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.dataflow import guards, kept
from transferlint.flow.dataflow.counters import counted, in_one_turn
from transferlint.flow.frequency.flags import Flags
from transferlint.knowledge import roles
from transferlint.reasons import Cause, Reason, is_a
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot
from transferlint.syntax.regions import Block

if TYPE_CHECKING:
    from transferlint.flow.placement.placement import FilePlacement

_SHORT = 40  # instructions: a handful of lines
_WARNING = ("warn", "warning")


class Seldom:
    """The regions of a file's functions that run rarely, whatever is around them; `before` has what was found out of
    the same functions with the same calls."""

    def __init__(self, file: FilePlacement, before: Seldom | None = None) -> None:
        self._file = file
        self._flags = Flags(file)
        self._counters = counted(file.program)
        self._known: dict[tuple[int, int], Reason | None] = before._known if before is not None else {}
        self._raising: dict[int, frozenset[Reg]] = {}
        self._stores: dict[int, dict[Slot, Reg]] = {}
        self._failures: dict[int, frozenset[int]] = {}

    def why(self, function: Function, index: int) -> Reason | None:
        """Why the code of a region runs rarely within hot code, None where it does not."""
        place = function.index, index
        if place not in self._known:
            self._known[place] = self._why(function, index)
        return self._known[place]

    def _why(self, function: Function, index: int) -> Reason | None:
        region = function.regions[index]
        if region.kind in ("handler", "message") or region.leaves == "raise" or _fails(function, index):
            return Reason(Cause.ERROR)
        if region.kind not in ("then", "else") or region.test is None:
            return None
        if index in self._failing(function):
            return Reason(Cause.ERROR)
        when = region.kind == "then"
        if kept.fills(function, index, region.test, when) or self._flags.filled(function, index, region.test, when):
            return Reason(Cause.CACHE_FILL)
        if when and kept.beyond(function, index, region.test):
            return Reason(Cause.TABLE_GROWTH)
        if region.implied and region.test in self._validations(function):
            return None  # what follows a validated argument is the ordinary path
        if self._flags.once(function, index, region.test, when):
            return Reason(Cause.FLAG_CLEARED)
        if in_one_turn(function, region.test, when, self._counters):
            return Reason(Cause.ONE_ITERATION)
        stores = self._stores.get(function.index)
        if stores is None:
            stores = self._stores[function.index] = guards.single_stores(function)
        found = guards.rare(function, region.test, when, stores)
        return None if is_a(found, Cause.SWITCH) and self._on_by_default(function, region.test) else found

    def _on_by_default(self, function: Function, test: Reg) -> bool:
        """True for a switch that is on unless somebody turns it off: a parameter whose default is True, or the
        attribute of that name that the constructor takes."""
        made = function.code[test]
        if isinstance(made, p.Load):
            return any(one.slot == made.slot and one.default == "True" for one in function.parameters)
        owner = function.code[made.object] if isinstance(made, p.Attr) else None
        if not isinstance(made, p.Attr) or not isinstance(owner, p.Load) or function.slot_names[owner.slot] != "self":
            return False
        info = self._file.class_of(function)
        found = self._file.located(info.methods.get("__init__", "")) if info is not None else None
        if found is None:
            return False
        given = found[0].program.functions[found[1]].parameters
        return any(one.name == made.name and one.default == "True" for one in given)

    def writes(self, function: Function, index: int) -> bool:
        """True for a loop that writes a file in every turn."""
        for block in function.blocks:
            at = block.region
            while at != index and at > 0 and function.regions[at].kind in ("with", "try"):
                at = function.regions[at].parent
            if at == index and any(
                isinstance(made, p.Call) and roles.FILE_WRITERS.search(self._file.names.dotted(function, made.function))
                for made in function.code[block.start : block.end]
            ):
                return True
        return False

    def _failing(self, function: Function) -> frozenset[int]:
        """The regions that count what went wrong, or tell of it: `nonfinite_count += 1`, `logger.warning(...)`."""
        known = self._failures.get(function.index)
        if known is None:
            tells = self._tells(function)
            known = self._failures[function.index] = frozenset(
                block.region
                for block in function.blocks
                if any(_counts_failure(function, made) for made in function.code[block.start : block.end])
                or _tells(function, block, tells)
            )
        return known

    def _tells(self, function: Function) -> bool:
        """True for the forward pass of a module: what it prints is no report of progress."""
        info = self._file.class_of(function)
        return info is not None and info.module and function.name in ("forward", "__call__")

    def _validations(self, function: Function) -> frozenset[Reg]:
        """The tests whose arm raises."""
        known = self._raising.get(function.index)
        if known is None:
            tests = (r.test for r in function.regions if r.kind == "then" and r.leaves == "raise")
            known = self._raising[function.index] = frozenset(t for t in tests if t is not None)
        return known


def _tells(function: Function, block: Block, prints: bool) -> bool:
    """True for a short arm that warns (or, where it says `prints`, prints on a comparison) and does little else; one
    that follows what leaves the function, where all of it is short."""
    region = function.regions[block.region]
    if block.end - block.start > _SHORT or (region.implied and region.leaves != "return"):
        return False
    made = (made for made in function.code[block.start : block.end] if isinstance(made, p.Call))
    callees = [function.code[call.function] for call in made]
    if any(isinstance(callee, p.Attr) and callee.name in _WARNING for callee in callees):
        return not region.implied or sum(b.region == block.region for b in function.blocks) == 1
    compared = region.test is not None and isinstance(function.code[region.test], p.Compare) and not region.implied
    return prints and compared and any(isinstance(callee, p.Outer) and callee.name == "print" for callee in callees)


def _fails(function: Function, index: int) -> bool:
    """True for an arm that begins with `assert False`: nothing in it is ever done."""
    first = next((block for block in function.blocks if block.region == index), None)
    if first is None or function.regions[index].kind not in ("then", "else", "case"):
        return False
    asserted = (m for m in function.code[first.start : first.end] if isinstance(m, p.Test) and m.kind == "assert")
    constants = (function.code[made.value] for made in asserted)
    return any(isinstance(asked, p.Const) and not asked.value for asked in constants)


def _counts_failure(function: Function, made: p.Instruction) -> bool:
    if not isinstance(made, p.Store | p.SetAttr):
        return False
    name = function.slot_names[made.slot] if isinstance(made, p.Store) else made.name
    added = function.code[made.value]
    return bool(roles.FAILURES.search(name)) and isinstance(added, p.Binary) and added.operator == "+"
