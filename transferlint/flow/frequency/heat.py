"""How often a line runs: loops, step methods, calls within the file, and the guards that make it rare."""

from __future__ import annotations

import array
import operator
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from transferlint import late
from transferlint.flow.callgraph.names import split
from transferlint.flow.callgraph.overriding import Overriding
from transferlint.flow.callgraph.roles import reference
from transferlint.flow.frequency import loops, shares, unasked
from transferlint.flow.frequency.call_edges import CallEdges
from transferlint.flow.frequency.flags import passing_hooks
from transferlint.flow.frequency.loop_kinds import LoopKinds
from transferlint.flow.frequency.predictors import Asked, Predictor, prediction
from transferlint.flow.frequency.runs import Runs
from transferlint.flow.frequency.seen import Seen
from transferlint.flow.frequency.seldom import Seldom
from transferlint.flow.frequency.uses import Spelled, Uses, spelled
from transferlint.flow.frequency.warmth import Warmth, rank
from transferlint.flow.lattice.values import CONTAINER, FROM_PARAMETER, TENSOR, UNKNOWN, Value
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placement import FilePlacement, made_functions
from transferlint.knowledge import roles
from transferlint.model import Level
from transferlint.reasons import AT_TIMES, HARDLY_EVER, Cause, Reason, is_a
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg
from transferlint.syntax.regions import Region

# Names of what holds the loop of a program; the second, of what nothing else is called.
_DRIVERS = frozenset("main run train fit evaluate validate test worker main_worker run_training".split())

# The heat of a region, and that of the places outside of the loops around it, innermost first.
_Outside = tuple[Warmth, Any]
_Around = tuple[Warmth, "_Outside | None"]

_BODY = -1  # in place of a region


@late.dataclass(frozen=True, slots=True)
class _Shape:
    """What of the heat of a file rests on how its functions are placed alone, and what it was worked out from."""

    placed: list[Placed]
    overriding: Overriding
    methods: Mapping[str, tuple[str, ...]]
    made: dict[int, tuple[Function, Reg]]
    passing: frozenset[int]
    loops: LoopKinds
    edges: CallEdges
    spelled: Spelled


def _shape(
    file: FilePlacement,
    placed: list[Placed],
    overriding: Overriding,
    methods: Mapping[str, tuple[str, ...]],
    before: HeatMap | None,
) -> _Shape:
    known = before._shape if before is not None else None
    if known is not None and known.overriding is overriding and known.methods is methods and same(known.placed, placed):
        return known
    edges = CallEdges(file.key, placed, overriding, methods)
    made, passing = made_functions(file.program), passing_hooks(file)
    kinds = LoopKinds(file.key, placed, file.tracing.framework is not None)
    return _Shape(placed, overriding, methods, made, passing, kinds, edges, spelled(file, placed, methods))


def _by_callers(cold: Reason | None) -> Reason:
    """What a function is that is called from cold places alone: `cold` says why one of them is."""
    return Reason(Cause.RARE_CALLERS, of=cold.root if cold is not None else None)


def same(one: list[Placed], other: list[Placed]) -> bool:
    """Whether the functions of a file were not placed again."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


class HeatMap:
    """The heat of every place of a file.

    `outgoing` are the calls that leave the file: caller, register, the callee's file and index; `maybe` those of which
    only the method's name is known (`methods`: the idents of all methods of a name). `handed` are the
    functions (idents) that are passed to what calls them, and how often that does. `overriding` names for methods
    (idents) those that override them: a call of the one may be one of the others, and is as hot. `predicted`: by
    function, the predictor for those of which nothing but their arguments says anything. `before` is the heat of the
    file in another project: what rests on how its functions are placed alone is taken from there, where they are the
    same and so are `overriding` and `methods`; and all of it, if the file is not `touched` by what else changed.

    First what each function is by itself (its role, what it drives, what it takes); then two fixed points over the
    calls in the file: private functions that only cold code calls are cold, and what hot code calls is hot.
    """

    def __init__(
        self,
        file: FilePlacement,
        placed: list[Placed],
        overriding: Overriding | None = None,
        methods: Mapping[str, tuple[str, ...]] | None = None,
        before: HeatMap | None = None,
        touched: bool = True,
    ) -> None:
        self._file = file
        self._placed = placed
        shape = self._shape = _shape(file, placed, overriding or {}, methods or {}, before)
        self._made, self._passing, self._loops = shape.made, shape.passing, shape.loops
        self._calls, self._lent, self._callees = shape.edges.calls, shape.edges.lent, shape.edges.callees
        self.outgoing, self.maybe = shape.edges.outgoing, shape.edges.maybe
        self._regions: dict[tuple[int, int], _Around] = {}
        self._blocks: dict[int, tuple[array.array[int], array.array[int]]] = {}  # starts, and the regions they are in
        kept = before if before is not None and not touched and shape is before._shape else None
        self._seldom: Seldom = Seldom(file, kept._seldom if kept is not None else None)
        self.seen: Seen = Seen(file, shape.spelled, shape.edges, shape.loops, kept.seen if kept is not None else None)
        self.predicted: dict[int, Predictor] = kept.predicted if kept is not None else {}
        self.handed: list[tuple[str, Warmth]] = kept.handed if kept is not None else []
        self._bases: list[Warmth] = []
        self._first: list[Warmth] = kept._first if kept is not None else self._before_others()
        self._bases = list(self._first)
        for caller, reg, _, _ in (*self.outgoing, *self.maybe):
            self.region_of(caller, reg)

    def _before_others(self) -> list[Warmth]:
        """The heat of each function before other files tell theirs."""
        file = self._file
        self._bases = [self._own(f) for f in file.program.functions]
        self._cool()
        self._bases = [w if w.cold else self._alone(i, w) for i, w in enumerate(self._bases)]
        self._warm()
        self._regions.clear()
        self.handed = [
            (target, Warmth(level, True, caller=(file.key, one.function.index, reg)))
            for one in self._placed
            for (reg, target), level in one.handed.items()
            if not roles.PROFILING.search(one.function.qualname)
        ]
        for target, warmth in self.handed:
            self.attach(target, warmth)
        self.spread()
        return self._bases

    def edges_by_kind(self) -> CallEdges:
        """The calls of the file, as they are placed."""
        return self._shape.edges

    def uses(self) -> Uses:
        """What the code of the file uses."""
        return self.seen.uses(self)

    def tell(self, found: Runs) -> None:
        """Note what is seen to run of the file."""
        self.seen.tell(found)

    def believed(self, function: int, reg: Reg) -> Warmth:
        """The heat of a register, with what makes it doubtful: see `Seen.doubt`."""
        return self.seen.believed(self, function, reg)

    def shown(self, function: int, reg: Reg, steps: bool) -> bool:
        """True for a place that is seen to run repeatedly: see `Seen.shown`."""
        return self.seen.shown(self, function, reg, steps)

    def share(self, index: int, reg: Reg) -> float:
        """The share of steps, 0 to 1, in which a register of a function is expected to run: see `shares`."""
        warmth = self.at(index, reg)
        return shares.share(warmth, self.rows(index, reg) if warmth.hot else {})

    def rows(self, index: int, reg: Reg) -> Mapping[str, int]:
        """How often each row of `shares` applies to a register that is hot: what stands outside of the loop over steps
        that makes it hot does not count, as a step is a turn of that."""
        function = self._file.program.functions[index]
        inside: list[Region] = []
        at = self.region_of(index, reg)
        while at > 0:
            region = function.regions[at]
            outside = self.in_region(index, region.parent)
            if not outside.hot and not outside.amortised:
                break
            inside.append(region)
            at = region.parent
        return shares.rows(function, inside, self.at(index, reg))

    def base(self, index: int) -> Warmth:
        """The heat of a function's body."""
        function = self._file.program.functions[index]
        if function.kind == "lambda" and index in self._made:
            known = self._regions.get((index, _BODY))
            if known is None:
                owner, reg = self._made[index]
                known = max(self.at(owner.index, reg), self._bases[index], key=rank), None
                self._regions[index, _BODY] = known
            return known[0]
        return self._bases[index]

    def at(self, function: int, reg: Reg) -> Warmth:
        """The heat of a register of a function."""
        return self.in_region(function, self.region_of(function, reg))

    def region_of(self, function: int, reg: Reg) -> int:
        """The region that a register stands in. That is asked of files whose functions are put away, too."""
        known = self._blocks.get(function)
        if known is None:
            blocks = [one for one in self._file.program.functions[function].blocks if one.start < one.end]
            starts, regions = ([one.start for one in blocks], [one.region for one in blocks])
            known = self._blocks[function] = array.array("i", starts), array.array("i", regions)
        return known[1][bisect_right(known[0], reg) - 1]

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
            inner = self._loop(function, index, region, warmth)
            if region.kind == "for" and inner.hot and self._draws(function, index):
                inner = late.replace(inner, amortised=Reason(Cause.BESIDE_PLOT))
            elif region.kind == "for" and inner.hot and self._seldom.writes(function, index):
                inner = late.replace(inner, amortised=Reason(Cause.BESIDE_FILE))
            return inner, (warmth, outside)
        if outside is not None and region.leaves in ("return", "break") and region.kind in ("then", "else", "case"):
            before = outside[0]
            while region.leaves == "return" and outside[1] is not None:
                outside = outside[1]
                before = outside[0]
            if not before.hot:
                before = late.replace(before, amortised=before.amortised or Reason(Cause.LOOP_EXIT))
            return before, around[1]
        if warmth.level >= Level.PER_STEP and not warmth.amortised:
            guard = self._seldom.why(function, index) or self._unasked(function, region)
            if guard:
                warmth = late.replace(warmth, amortised=guard)
        return warmth, outside

    def _draws(self, function: Function, index: int) -> bool:
        """True for a loop, of a file that works with a framework beside torch, that draws a figure in every turn."""
        if self._file.tracing.framework is None:
            return False
        blocks = (block for block in function.blocks if block.region == index)
        code = (made for block in blocks for made in function.code[block.start : block.end])
        return any(isinstance(made, p.Attr) and made.name in roles.DRAWING for made in code)

    def _unasked(self, function: Function, region: Region) -> Reason | None:
        """Why no call that is known runs a region, None where some may: only of functions whose calls are looked for,
        and whose heat rests on those that are known, or on their name alone."""
        base = self.base(function.index)
        if region.test is None or region.kind not in ("then", "else"):
            return None
        if not unasked.counted(function):
            return None
        if base.caller is None and not base.unsure and not roles.called_in_source(function.name):
            return None
        if base.caller is not None and base.caller not in self._file.calls_of(function.index):
            return None
        asked = function.index, region.test, region.kind == "then"
        return Reason(Cause.OPTION_UNUSED) if self.seen.unasked_for(asked) else None

    def _loop(self, function: Function, index: int, region: Region, outer: Warmth) -> Warmth:
        kind = self._loops.kind(function, index)
        level = outer.level
        if kind == "few" or (kind == "element" and level < Level.PER_STEP and loops.checks(function, index)):
            return outer
        once = kind == "element" and level < Level.PER_STEP and not outer.unsure
        if once and loops.over_entries(function, region, mappings=not is_a(outer.reason, Cause.CALLERS_RUN_ONCE)):
            return outer  # a handful of names, once: no step
        if kind == "epoch":
            level = max(level, Level.PER_EPOCH)
        elif kind == "step":
            level = max(level, Level.PER_STEP)
        else:
            level = Level.PER_ELEMENT if level >= Level.PER_STEP else Level.PER_STEP
        if outer.amortised and outer.amortised.cause in AT_TIMES and self._loops.steps(function, index):
            outer = late.replace(outer, amortised=None, unsure=True)
        if level == outer.level >= Level.PER_STEP and not (kind == "step" and outer.unsure):
            return outer
        element = kind == "element"
        weak = outer.weak and element and level < Level.PER_ELEMENT
        return late.replace(
            outer,
            level=level,
            seen=True,
            loop=index,
            reason=None,
            caller=None,
            weak=weak,
            unsure=outer.unsure and element,
            turn=outer.turn or kind == "step",
        )

    def _own(self, function: Function) -> Warmth:
        """What a function's role says alone."""
        role = self._file.roles[function.index]
        if role.skip:
            return Warmth(Level.ONCE, True, cold=Reason(Cause.DEVICE_CODE))
        if role.named and self._loops.runs_steps(function):
            return Warmth(Level.ONCE, True, reason=Reason(Cause.HAS_LOOP, function.name))
        if role.cold:
            return Warmth(Level.ONCE, True, cold=role.cold)
        if function.index in self._passing:
            return Warmth(Level.ONCE, True, cold=Reason(Cause.REMOVES_ITSELF, function.name))
        if function.kind in ("module", "class"):
            return Warmth(Level.ONCE, True, reason=Reason(Cause.IMPORT))
        if role.hot:
            return Warmth(Level.PER_STEP, False, reason=role.hot, every=role.hot.root.cause is Cause.EVERY_BATCH)
        if role.request:
            return Warmth(Level.ONCE, True, reason=Reason(Cause.REQUEST))
        return Warmth(Level.ONCE, False, weak=True, unsure=True)

    def _alone(self, index: int, own: Warmth) -> Warmth:
        """What a function of no role does: it drives the loop itself, or a predictor says something of it."""
        function = self._file.program.functions[index]
        if not own.unsure:
            return own
        steps = loops.takes_a_step(function)
        # What holds the loop of a program is not given a batch.
        drives = function.name in _DRIVERS and not steps and not self._computes(function)
        if drives or self._loops.runs_steps(function):
            return Warmth(Level.ONCE, True, reason=Reason(Cause.HAS_LOOP, function.name))
        if steps:
            return Warmth(Level.PER_STEP, False, reason=Reason(Cause.TRAINING_STEP, function.name))
        info = self._file.class_of(function)
        if function.name == "compute" and info is not None and info.module and "update" in info.methods:
            return Warmth(Level.PER_EPOCH, True, reason=Reason(Cause.EPOCH_RESULT, f"{info.name}.compute"))
        asked = Asked(self._file, function, self._computes(function), self._called(index), self._private(index))
        row = prediction(asked)
        if row is not None:
            self.predicted[index] = row
            weak = not row.decides
            return Warmth(Level.PER_STEP, False, reason=Reason(Cause.COMPUTES, function.name), weak=weak, unsure=weak)
        return own

    def _called(self, index: int) -> bool:
        """True where a call of a function is in sight."""
        return index in self._callees or bool(self._file.calls_of(index))

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
                reasons = [self.coldness(*site) for site in sites]
                if all(reasons):
                    self._bases[callee] = Warmth(Level.ONCE, True, cold=_by_callers(reasons[0]))
                    self._regions.clear()
                    changed = True

    def _private(self, index: int) -> bool:
        function = self._file.program.functions[index]
        return function.name.startswith("_") or self._file.program.functions[function.parent].kind == "function"

    def _warm(self) -> None:
        """Pass heat on along calls until nothing gets hotter; a call counts as often as the place it stands in."""
        by_caller: dict[int, list[tuple[Reg, int]]] = {}
        for caller, reg, callee in (*self._calls, *self._lent):
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
        if known.cold and (found.weak or found.unsure or not (self._named(callee) or self._constructs(callee))):
            return False
        if self._file.roles[callee].hot or self._loops.runs_steps(self._file.program.functions[callee]):
            return False
        told = callee in self.predicted and known.caller is None and not found.weak and found.level >= known.level
        if not found.hot or (rank(found) <= rank(known) and not told):
            return False
        looped = found.looped or (found.loop >= 0 and found.level >= Level.PER_ELEMENT)
        self._bases[callee] = late.replace(found, loop=-1, caller=where, reason=None, turn=False, looped=looped)
        return True

    def _named(self, index: int) -> bool:
        """True for a function that is cold for nothing but its name."""
        return self._file.roles[index].named and self._bases[index].cold == self._file.roles[index].cold

    def _constructs(self, index: int) -> bool:
        """True for the constructor of an ordinary class: setup, unless objects are made for every step."""
        function = self._file.program.functions[index]
        if function.name != "__init__" or not is_a(self._bases[index].cold, Cause.SETUP):
            return False
        info = self._file.class_of(function)
        return info is not None and function.parent == info.index and not info.module and not info.data

    def attach(self, target: str, warmth: Warmth) -> None:
        """Note that a function was handed to what calls it that often; idents of other files count for nothing."""
        place = split(target)
        if place is None or place[0] != self._file.key:
            return
        if warmth.hot and warmth.caller is not None:
            self.receive(place[1], warmth, warmth.caller)
        elif self._bases[place[1]].unsure:
            self._bases[place[1]] = warmth

    def cool(self, index: int, cold: Reason | None) -> None:
        """Note that all that calls a function is cold, for which `cold` is one reason, or (None) that it runs rarely:
        then its own loops count as ever."""
        runs_steps = self._loops.runs_steps(self._file.program.functions[index])
        if cold is not None and not (cold.cause in HARDLY_EVER and runs_steps):
            self._bases[index] = Warmth(Level.ONCE, True, cold=_by_callers(cold))
        else:
            self._bases[index] = Warmth(Level.ONCE, True, reason=Reason(Cause.CALLERS_RUN_ONCE))
        self._regions.clear()

    def assumed(self, index: int) -> bool:
        """True for a function whose heat is only assumed, from its name or arguments, or not known at all."""
        known = self._bases[index]
        return not known.seen and not known.cold and not roles.certain(self._file.program.functions[index].name)

    def idle(self, index: int) -> bool:
        """True for a method that is given nothing, of which nothing tells that it runs at all: nobody calls it."""
        function, known = self._file.program.functions[index], self._bases[index]
        if not known.unsure or known.caller is not None or self._file.calls_of(index):
            return False
        return len(function.parameters) == 1 and self._file.program.functions[function.parent].kind == "class"

    def borrowed(self, index: int) -> bool:
        """True for a private function that is hot for nothing but a call in the same file of which nothing tells that
        it is made."""
        known = self._bases[index]
        if not known.unsure or known.caller is None or not self._private(index):
            return False
        return known.caller[0] == self._file.key and self.idle(known.caller[1])

    def named(self) -> list[tuple[int, Reg, str]]:
        """The calls of which only the method's name is known: caller, register, and the name."""
        return self._shape.edges.named

    def method(self, index: int) -> str:
        """The name of a method, "" of another function."""
        function = self._file.program.functions[index]
        return function.name if self._file.program.functions[function.parent].kind == "class" else ""

    def edges(self) -> Iterator[tuple[int, Reg, str, int]]:
        """The calls of this file: caller, register, the callee's file and index."""
        yield from ((caller, reg, self._file.key, callee) for caller, reg, callee in self._calls)
        yield from self.outgoing

    def coldness(self, caller: int, reg: Reg) -> Reason | None:
        """Why a place is cold or amortised, None where it is neither."""
        found = self.at(caller, reg)
        return found.cold or (None if is_a(found.amortised, Cause.SWITCH) else found.amortised)

    def rare(self, caller: int, reg: Reg) -> tuple[bool, Reason | None]:
        """Whether a place runs rarely, and why it is cold, hardly ever comes by, or stands behind a switch for what is
        logged (None where none of these)."""
        found = self.at(caller, reg)
        switched = is_a(found.amortised, Cause.SWITCH)
        cold = found.cold or (found.amortised if is_a(found.amortised, *HARDLY_EVER) else None)
        if switched:
            cold = cold or found.amortised
        rarely = bool(found.amortised) and not switched
        # How often a lambda is called is its taker's to know.
        once = found.level <= Level.PER_EPOCH and self._file.program.functions[caller].kind != "lambda"
        return bool(found.cold) or rarely or (found.seen and once), cold

    def spread(self) -> None:
        """Pass on within the file what calls from others have heated."""
        self._warm()
        self._regions.clear()

    def borrow(self, other: HeatMap) -> None:
        """Take over what calls from other files said of the functions of the same names in an older text."""
        old = {f.qualname: other._bases[f.index] for f in other._file.program.functions}
        old_index = {f.qualname: f.index for f in other._file.program.functions}
        for function in self._file.program.functions:
            found = old.get(function.qualname)
            if found is not None and found.caller is not None and found.caller[0] != self._file.key:
                self.receive(function.index, found, found.caller)
        self.spread()
        self.tell(other.seen.runs.renumbered(self._file.program.functions, old_index))

    def _computes(self, function: Function) -> bool:
        """True where the function takes tensors: a parameter that its annotation or its use shows to be one."""
        if function.name.startswith("__") and function.name != "__call__":
            return False
        if reference(self._file, function):
            return False
        values = self._placed[function.index].values
        slots = {g.slot for g in function.parameters}
        for reg in (reg for slot in slots for reg in function.lookup.about(p.Load, slot)):
            value = values[reg]
            held = value.item if value.is_a(CONTAINER) else value
            if (value.flags & FROM_PARAMETER or value.on_host) and held is not None and _has_tensor(held):
                return True
        info = self._file.class_of(function)
        return bool(
            info is not None
            and info.module
            and function.parent == info.index
            and not function.name.startswith("get_num")
        )


def _has_tensor(value: Value) -> bool:
    """True for a tensor, and for a union that has one among its members."""
    return value.may_be(TENSOR) and not value.kinds & UNKNOWN
