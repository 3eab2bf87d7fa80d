"""What is computed from a value in its function: by assignments, containers, loops over it and calls."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable, Iterator

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import operands, users
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

ALL = "all"  # whatever is computed from it
PARTS = "parts"  # but what a reduction leaves of it
WHOLE = "whole"  # only the value itself, its elements and its slices, in another form or by another name

_ABOUT = frozenset("shape device dtype ndim size dim numel is_cuda requires_grad element_size".split())
_REDUCE = frozenset("sum mean max min argmax argmin std var median norm all any item prod accuracy_score".split())
FORMS = frozenset(
    "cpu detach numpy tolist clone copy contiguous long int float double half bool byte astype to type data T t squeeze"
    " unsqueeze view reshape flatten ravel transpose permute".split()
)
_WRAPS = frozenset("zip enumerate list tuple reversed sorted iter tqdm array asarray".split())
_APART = frozenset("len range isinstance type id print hasattr is_tensor".split())
# What makes text of ids: no tensor is computed of that.
TEXT = late.pattern(
    r"^(batch_decode|detokenize)$"
    r"|(^|_)(ids?|tokens?|indices|index|labels?)_?(to|2)_?(str|strings?|text|words?|tokens?)(_|$)"
)
INTO = frozenset("append extend add insert update appendleft".split())
_OPEN = ("tqdm", "reversed", "list", "tuple", "iter")  # what hands on the elements of its argument
_MOST = 1000  # instructions that are followed for one value
_COUNT = -1  # stands for what `enumerate` counts


class TooLong(Exception):
    """More is computed from a value than is followed."""


def derived(function: Function, seeds: Iterable[Reg], through: str, within: frozenset[Reg] | None = None) -> set[Reg]:
    """The registers that hold what is computed from `seeds`; a seed itself is one. Variables are followed up to where
    they are bound to something else; text is no longer of it. `within`: the registers that are looked at, of what the
    seeds go into; None for all. Raises TooLong where that is more than anybody follows."""
    found = set(seeds)
    left = _MOST
    where, rests = _Where(function), _resting(function)
    pending = {user for seed in found for user in rests[seed]}
    while pending:
        # From front to back, so that all that is bound before a use is known when its turn comes; what is bound after
        # it, in a loop around both, counts from the next turn on.
        waiting = sorted(pending)
        queued = set(waiting)
        again: set[tuple[Slot, int]] = set()
        while waiting:
            left -= 1
            if not left:
                raise TooLong
            reg = heapq.heappop(waiting)
            made = function.code[reg]
            slot = _rebound(function, made, found)
            following: Iterable[Reg] = ()
            if slot is not None:
                if where.bind(slot, reg):
                    again.add((slot, where.loop(reg)))
                    following = _after(function, slot, reg)
            elif reg not in found and _holds(function, reg, made, found, through, where):
                found.add(reg)
                following = rests[reg]
            for one in following:
                if one not in queued and (within is None or one in within):
                    queued.add(one)
                    heapq.heappush(waiting, one)
        pending = {load for place in again for load in where.turned(*place) if load not in found}
    return found


def _holds(function: Function, reg: Reg, made: p.Instruction, found: set[Reg], through: str, where: _Where) -> bool:
    """True where an instruction gives what is computed from a register found so far."""
    if isinstance(made, p.Load):
        return where.reached(reg, made.slot)
    return _carries(function, reg, made, found, through)


def _after(function: Function, slot: Slot, reg: Reg) -> list[Reg]:
    """The uses of a variable behind a binding that may see it: not those behind the next binding in its region, up to
    the end of that."""
    loads = function.lookup.about(p.Load, slot)
    begin, region = bisect.bisect_left(loads, reg), function.lookup.regions[reg]
    stores = _stores(function).get((slot, region), ())
    following = bisect.bisect_right(stores, reg)
    if following == len(stores):
        return loads[begin:]
    last = function.lookup.registers(region)[-1]
    return loads[begin : bisect.bisect_left(loads, stores[following])] + loads[bisect.bisect_right(loads, last) :]


@once
def _turning(function: Function) -> dict[tuple[Slot, int], list[Reg]]:
    """The uses of variables in loops, by the outermost one."""
    found: dict[tuple[Slot, int], list[Reg]] = {}
    for reg in function.lookup.of(p.Load):
        made = function.code[reg]
        loop = _outermost(function)[function.lookup.regions[reg]]
        if loop and isinstance(made, p.Load):
            found.setdefault((made.slot, loop), []).append(reg)
    return found


def callee_name(function: Function, made: p.Instruction) -> str:
    """The last name of what a call calls; "" for what is no call."""
    if not isinstance(made, p.Call):
        return ""
    callee = function.code[made.function]
    if isinstance(callee, p.Load):
        return function.slot_names[callee.slot]
    return callee.name if isinstance(callee, p.Attr | p.Outer) else ""


def given(made: p.Call) -> tuple[Reg, ...]:
    """The arguments of a call, by place and by name."""
    return (*made.args, *(reg for _, reg in made.keywords))


def loops(function: Function, region: int) -> Iterator[int]:
    """The loops around a region, itself included, innermost first."""
    while region > 0:
        if function.regions[region].kind in ("for", "while", "comprehension"):
            yield region
        region = function.regions[region].parent


def _carries(function: Function, reg: Reg, made: p.Instruction, found: set[Reg], through: str) -> bool:
    """True where an instruction that is no variable gives what is computed from a register found so far."""
    if isinstance(made, p.Attr):
        if made.object not in found or made.name in _ABOUT or (through == PARTS and made.name in _REDUCE):
            return False
        return through != WHOLE or made.name in FORMS
    if isinstance(made, p.Call):
        name = callee_name(function, made)
        if made.function in found:
            return True
        if name in _APART or TEXT.search(name) or (through == PARTS and name in _REDUCE):
            return False
        if through == WHOLE and name not in _WRAPS:
            return False
        return any(argument in found for argument in given(made))
    if isinstance(made, p.Subscript):
        return made.object in found
    if isinstance(made, p.Unpack):
        iterable = _gone_over(function, reg)
        return (made.value if iterable is None else iterable) in found
    if isinstance(made, p.Choice):
        return made.body in found or made.orelse in found
    if isinstance(made, p.Next | p.Await | p.Yield | p.Boolean):
        return any(one in found for one in operands(made))
    if through == WHOLE:
        return False
    if isinstance(made, p.Binary | p.Unary | p.Compare | p.Sequence | p.Mapping | p.Format | p.Collect):
        return any(one in found for one in operands(made))
    return False


def _gone_over(function: Function, reg: Reg) -> Reg | None:
    """What a register is an element of, in a loop over it: of `for i, (a, b) in enumerate(zip(x, y))` x for a. None
    where that is not known, `_COUNT` for a count."""
    made = function.code[reg]
    if isinstance(made, p.Next):
        at = made.iterable
        while isinstance(call := function.code[at], p.Call) and call.args and callee_name(function, call) in _OPEN:
            at = call.args[0]
        return at
    if not isinstance(made, p.Unpack) or made.star >= 0:
        return None
    outer = _gone_over(function, made.value)
    paired = function.code[outer] if outer is not None and outer >= 0 else None
    if not isinstance(paired, p.Call) or any(paired.stars):
        return None
    name = callee_name(function, paired)
    if name == "enumerate" and paired.args:
        return paired.args[0] if made.index == 1 else _COUNT
    return paired.args[made.index] if name == "zip" and made.index < len(paired.args) else None


def _rebound(function: Function, made: p.Instruction, found: set[Reg]) -> Slot | None:
    """The variable that an instruction binds to what is found, or puts it into."""
    if isinstance(made, p.Store):
        return made.slot if made.value in found else None
    if isinstance(made, p.SetItem):
        return _root(function, made.object) if made.value in found or made.index in found else None
    if isinstance(made, p.SetAttr):
        return _root(function, made.object) if made.value in found else None
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if isinstance(made, p.Call) and isinstance(callee, p.Attr) and callee.name in INTO:
        return _root(function, callee.object) if any(argument in found for argument in given(made)) else None
    return None


def _root(function: Function, reg: Reg) -> Slot | None:
    """The variable that holds what a register is a part of; not `self`, of which all would be a part."""
    made = function.code[reg]
    while isinstance(made, p.Attr | p.Subscript):
        made = function.code[made.object]
    if not isinstance(made, p.Load) or function.slot_names[made.slot] == "self":
        return None
    return made.slot


@once
def _resting(function: Function) -> list[list[Reg]]:
    """By register, those that may be computed from it: its users, and for what a loop goes over, what the loop's
    targets hold."""
    found = [list(one) for one in users(function)]
    for reg in function.lookup.of(p.Unpack):
        iterable = _gone_over(function, reg)
        if iterable is not None and iterable >= 0:
            found[iterable].append(reg)
    return found


class _Where:
    """Which uses of a variable may see what was bound to it so far, as more and more of its bindings are known: those
    between which and the use no other binding lies that is made whenever the use is."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.regions = function.lookup.regions
        self._bound: dict[Slot, list[Reg]] = {}
        self._last: dict[tuple[Slot, int], Reg] = {}  # by the outermost loop, the last that is bound in it

    def bind(self, slot: Slot, reg: Reg) -> bool:
        """Note a binding; False where it is known."""
        known = self._bound.setdefault(slot, [])
        at = bisect.bisect_left(known, reg)
        if at < len(known) and known[at] == reg:
            return False
        known.insert(at, reg)
        if loop := self.loop(reg):
            self._last[slot, loop] = max(self._last.get((slot, loop), reg), reg)
        return True

    def reached(self, load: Reg, slot: Slot) -> bool:
        """Whether a use sees one of the bindings that are known."""
        known = self._bound.get(slot, [])
        before = bisect.bisect_left(known, load)
        if before and not self._made_between(slot, known[before - 1], load):
            return True
        loop = self.loop(load)
        if not loop or self._last.get((slot, loop), -1) < load:
            return False
        loops = _outermost(self.function)
        return not any(self._other(slot, region, load) for region in self._around(load) if loops[region] == loop)

    def turned(self, slot: Slot, loop: int) -> list[Reg]:
        """The uses in a loop that may see, a turn later, what is bound in it: those before anything else is bound
        directly in it."""
        loads = _turning(self.function).get((slot, loop), [])
        known = self._bound.get(slot, [])
        for store in _stores(self.function).get((slot, loop), ()):
            at = bisect.bisect_left(known, store)
            if at == len(known) or known[at] != store:
                return loads[: bisect.bisect_right(loads, store)]
        return loads

    def _made_between(self, slot: Slot, store: Reg, load: Reg) -> bool:
        """True where the variable is bound between the two, in a region around the use."""
        stores = _stores(self.function)
        for region in self._around(load):
            here = stores.get((slot, region), ())
            at = bisect.bisect_right(here, store)
            if at < len(here) and here[at] < load:
                return True
        return False

    def _other(self, slot: Slot, region: int, load: Reg) -> bool:
        """True where something else is bound before the use, directly in a region."""
        known = self._bound.get(slot, [])
        for store in _stores(self.function).get((slot, region), ()):
            if store >= load:
                return False
            at = bisect.bisect_left(known, store)
            if at == len(known) or known[at] != store:
                return True
        return False

    def _around(self, reg: Reg) -> Iterator[int]:
        at = self.regions[reg]
        while at > 0:
            yield at
            at = self.function.regions[at].parent
        yield 0

    def loop(self, reg: Reg) -> int:
        """The outermost loop around a register; 0 for none."""
        return _outermost(self.function)[self.regions[reg]]


@once
def _stores(function: Function) -> dict[tuple[Slot, int], list[Reg]]:
    """Where a variable is bound directly in a region."""
    found: dict[tuple[Slot, int], list[Reg]] = {}
    for reg in function.lookup.of(p.Store):
        made = function.code[reg]
        assert isinstance(made, p.Store)
        found.setdefault((made.slot, function.lookup.regions[reg]), []).append(reg)
    return found


@once
def _outermost(function: Function) -> list[int]:
    """By region, the outermost loop around it, itself included; 0 for none."""
    found: list[int] = []
    for number, region in enumerate(function.regions):
        above = found[region.parent] if 0 <= region.parent < number else 0
        found.append(above or (number if region.kind in ("for", "while", "comprehension") else 0))
    return found
