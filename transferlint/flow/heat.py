"""How often a line runs: loops, step methods, calls within the file, and the guards that make it rare."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from typing import Any

from transferlint.flow import guards, loops
from transferlint.flow.names import split
from transferlint.flow.placement import FilePlacement, Placed, made_functions
from transferlint.flow.values import CONTAINER, FROM_PARAMETER, LOADER, TENSOR
from transferlint.model import Level
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Region, Slot


@dataclasses.dataclass(frozen=True, slots=True)
class Warmth:
    """The heat of a place in a function, before it is put in words. `loop` is the region of the loop that made it hot
    (-1: none), `caller` the (file, function, register) of the call that did (None: none). `weak`: nothing but its
    arguments says that the function runs repeatedly, or a loop over elements in a function of which nothing is known.
    `unsure`: the function itself is so, whatever loop the place stands in."""

    level: Level
    seen: bool
    amortised: str = ""
    cold: str = ""
    reason: str = ""
    loop: int = -1
    caller: tuple[str, int, Reg] | None = None
    weak: bool = False
    unsure: bool = False

    @property
    def hot(self) -> bool:
        """Runs at least once a step, unguarded."""
        return self.level >= Level.PER_STEP and not self.amortised and not self.cold

    @property
    def once(self) -> bool:
        """Known to run a handful of times: the code of a script outside its loops, setup, or behind a guard."""
        return bool(self.cold or self.amortised) or (self.seen and self.level <= Level.PER_EPOCH)


# The heat of a region, and that of the places outside of the loops around it, innermost first.
_Outside = tuple[Warmth, Any]
_Around = tuple[Warmth, "_Outside | None"]


class HeatMap:
    """The heat of every place of a file.

    `outgoing` are the calls that leave the file: caller, register, the callee's file and index.

    First what each function is by itself (its role, what it drives, what it takes); then two fixed points over the
    calls in the file: private functions that only cold code calls are cold, and what hot code calls is hot.
    """

    def __init__(self, file: FilePlacement, placed: list[Placed]) -> None:
        self._file = file
        self._placed = placed
        self._made = made_functions(file.program)
        self._calls: list[tuple[int, Reg, int]] = []
        self.outgoing: list[tuple[int, Reg, str, int]] = []
        for one in placed:
            for reg, name in sorted(one.calls.items()):
                place = split(name)
                if place is not None and place[0] == file.key:
                    self._calls.append((one.function.index, reg, place[1]))
                elif place is not None:
                    self.outgoing.append((one.function.index, reg, *place))
        self._regions: dict[tuple[int, int], _Around] = {}
        self._raising: dict[int, frozenset[Reg]] = {}
        self._stores: dict[int, dict[Slot, Reg]] = {}
        self._starts: dict[int, list[int]] = {}
        self._bases: list[Warmth] = [self._own(f) for f in file.program.functions]
        self._cool()
        self._bases = [w if w.cold else self._alone(i, w) for i, w in enumerate(self._bases)]
        self._warm()
        self._regions.clear()

    def base(self, index: int) -> Warmth:
        """The heat of a function's body."""
        function = self._file.program.functions[index]
        if function.kind == "lambda" and index in self._made:
            owner, reg = self._made[index]
            return max(self.at(owner.index, reg), self._bases[index], key=_rank)
        return self._bases[index]

    def at(self, function: int, reg: Reg) -> Warmth:
        """The heat of a register of a function."""
        return self.in_region(function, self.region_of(function, reg))

    def region_of(self, function: int, reg: Reg) -> int:
        """The region that a register stands in."""
        blocks = self._file.program.functions[function].blocks
        starts = self._starts.get(function)
        if starts is None:
            starts = self._starts[function] = [b.start for b in blocks]
        at = bisect_right(starts, reg) - 1
        while blocks[at].end <= reg and at > 0:
            at -= 1
        return blocks[at].region

    def in_region(self, function: int, region: int) -> Warmth:
        """The heat of a region of a function."""
        owner = self._file.program.functions[function]
        pending = []
        at = region
        while at > 0 and (function, at) not in self._regions:
            pending.append(at)
            at = owner.regions[at].parent
        known = self._regions[function, at] if at > 0 else (self.base(function), None)
        for index in reversed(pending):
            known = self._regions[function, index] = self._enter(owner, index, known)
        return known[0]

    def _enter(self, function: Function, index: int, around: _Around) -> _Around:
        """The heat of a region from that of the one around it."""
        warmth, outside = around
        region = function.regions[index]
        if region.kind in ("for", "while", "comprehension"):
            return self._loop(function, index, region, warmth), (warmth, outside)
        if outside is not None and region.leaves in ("return", "break") and region.kind in ("then", "else", "case"):
            before = outside[0]
            while region.leaves == "return" and outside[1] is not None:
                outside = outside[1]
                before = outside[0]
            if not before.hot:
                before = dataclasses.replace(before, amortised=before.amortised or "only when the loop is left")
            return before, around[1]
        if warmth.level >= Level.PER_STEP and not warmth.amortised:
            guard = self._guard(function, region)
            if guard:
                warmth = dataclasses.replace(warmth, amortised=guard)
        return warmth, outside

    def _guard(self, function: Function, region: Region) -> str:
        """Why the code of a region runs rarely within hot code, "" where it does not."""
        if region.kind in ("handler", "message") or region.leaves == "raise":
            return "an error path"
        if region.kind in ("then", "else") and region.test is not None:
            if region.implied and region.test in self._validations(function):
                return ""  # what follows a validated argument is the ordinary path
            stores = self._stores.get(function.index)
            if stores is None:
                stores = self._stores[function.index] = guards.single_stores(function)
            return guards.rare(function, region.test, region.kind == "then", stores)
        return ""

    def _validations(self, function: Function) -> frozenset[Reg]:
        """The tests whose arm raises."""
        known = self._raising.get(function.index)
        if known is None:
            tests = (r.test for r in function.regions if r.kind == "then" and r.leaves == "raise")
            known = self._raising[function.index] = frozenset(t for t in tests if t is not None)
        return known

    def _loop(self, function: Function, index: int, region: Region, outer: Warmth) -> Warmth:
        kind = self._kind(function, region)
        level = outer.level
        if kind == "few":
            return outer
        if kind == "epoch":
            level = max(level, Level.PER_EPOCH)
        elif kind == "step":
            level = max(level, Level.PER_STEP)
        else:
            level = Level.PER_ELEMENT if level >= Level.PER_STEP else Level.PER_STEP
        if level == outer.level >= Level.PER_STEP and not (kind == "step" and outer.unsure):
            return outer
        element = kind == "element"
        weak = outer.weak and element and level < Level.PER_ELEMENT
        return dataclasses.replace(
            outer,
            level=level,
            seen=True,
            loop=index,
            reason="",
            caller=None,
            weak=weak,
            unsure=outer.unsure and element,
        )

    def _kind(self, function: Function, region: Region) -> str:
        value = self._placed[function.index].values[region.test] if region.test is not None else None
        return loops.classify(function, region, value)

    def _own(self, function: Function) -> Warmth:
        """What a function's role says alone."""
        role = self._file.roles[function.index]
        if role.skip:
            return Warmth(Level.ONCE, True, cold="compiled for the device")
        if role.cold:
            return Warmth(Level.ONCE, True, cold=role.cold)
        if function.kind in ("module", "class"):
            return Warmth(Level.ONCE, True, reason="runs once, on import")
        if role.hot:
            return Warmth(Level.PER_STEP, False, reason=role.hot)
        return Warmth(Level.ONCE, False, weak=True, unsure=True)

    def _alone(self, index: int, own: Warmth) -> Warmth:
        """What a function of no role does: it drives the loop itself, or takes tensors and computes on them."""
        function = self._file.program.functions[index]
        if not own.unsure:
            return own
        if self._drives(function):
            return Warmth(Level.ONCE, True, reason=f"`{function.name}` holds the loop")
        if self._computes(function):
            reason = f"`{function.name}` takes tensors and computes on them"
            return Warmth(Level.PER_STEP, False, reason=reason, weak=True, unsure=True)
        return own

    def _cool(self) -> None:
        """Mark private functions that are called, and only from cold places, until no more are found."""
        callers: dict[int, list[tuple[int, Reg]]] = {}
        for caller, reg, callee in self._calls:
            if caller != callee:
                callers.setdefault(callee, []).append((caller, reg))
        changed = True
        while changed:
            changed = False
            for callee, sites in callers.items():
                if not self._bases[callee].unsure or not self._private(callee):
                    continue
                reasons = [self._coldness(*site) for site in sites]
                if all(reasons):
                    self._bases[callee] = Warmth(Level.ONCE, True, cold=f"called only from cold code ({reasons[0]})")
                    self._regions.clear()
                    changed = True

    def _private(self, index: int) -> bool:
        function = self._file.program.functions[index]
        return function.name.startswith("_") or self._file.program.functions[function.parent].kind == "function"

    def _coldness(self, caller: int, reg: Reg) -> str:
        found = self.at(caller, reg)
        return found.cold or ("" if found.amortised.startswith("behind") else found.amortised)

    def _warm(self) -> None:
        """Pass heat on along calls until nothing gets hotter; a call counts as often as the place it stands in."""
        by_caller: dict[int, list[tuple[Reg, int]]] = {}
        for caller, reg, callee in self._calls:
            if caller != callee:
                by_caller.setdefault(caller, []).append((reg, callee))
        work = sorted(by_caller)
        while work:
            following: set[int] = set()
            self._regions.clear()
            for caller in work:
                for reg, callee in by_caller.get(caller, ()):
                    if self.receive(callee, self.at(caller, reg), (self._file.key, caller, reg)):
                        following.add(callee)
                work = sorted(following)

    def receive(self, callee: int, found: Warmth, where: tuple[str, int, Reg]) -> bool:
        """Note a call that stands in a hotter place than was known; True where it does."""
        known = self._bases[callee]
        if known.cold or self._file.roles[callee].hot:
            return False
        if not found.hot or _rank(found) <= _rank(known):
            return False
        self._bases[callee] = dataclasses.replace(found, loop=-1, caller=where, reason="")
        return True

    def spread(self) -> None:
        """Pass on within the file what calls from others have heated."""
        self._warm()
        self._regions.clear()

    def borrow(self, other: HeatMap) -> None:
        """Take over what calls from other files said of the functions of the same names in an older text."""
        old = {f.qualname: other._bases[f.index] for f in other._file.program.functions}
        for function in self._file.program.functions:
            found = old.get(function.qualname)
            if found is not None and found.caller is not None and found.caller[0] != self._file.key:
                self.receive(function.index, found, found.caller)
        self.spread()

    def _drives(self, function: Function) -> bool:
        """True for what holds the training or evaluation loop itself: it runs once."""
        if function.name in (
            "main",
            "run",
            "train",
            "fit",
            "evaluate",
            "validate",
            "test",
            "worker",
            "main_worker",
            "run_training",
        ):
            return True
        for region in function.regions:
            if region.kind == "for" and self._kind(function, region) in ("epoch", "step"):
                value = self._placed[function.index].values[region.test] if region.test is not None else None
                if value is not None and value.kinds & LOADER:
                    return True
                if self._kind(function, region) == "epoch":
                    return True
        return False

    def _computes(self, function: Function) -> bool:
        """True where the function takes tensors: a parameter that its annotation or its use shows to be one."""
        if function.name.startswith("__") and function.name != "__call__":
            return False
        values = self._placed[function.index].values
        slots = {g.slot for g in function.parameters}
        for reg, instruction in enumerate(function.code):
            if isinstance(instruction, p.Load) and instruction.slot in slots:
                value = values[reg]
                if value.flags & FROM_PARAMETER and (
                    value.is_a(TENSOR) or (value.is_a(CONTAINER) and value.item is not None and value.item.is_a(TENSOR))
                ):
                    return True
        info = self._file.class_of(function)
        return bool(
            info is not None
            and info.module
            and function.parent == info.index
            and not function.name.startswith("get_num")
        )


def _rank(warmth: Warmth) -> tuple[bool, bool, bool, int]:
    """What makes one reason for heat better than another: hot at all, not merely assumed, how often."""
    return warmth.hot, not warmth.unsure, not warmth.weak, int(warmth.level)
