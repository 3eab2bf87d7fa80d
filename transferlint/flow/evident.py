"""Whether a finding about a framework beside torch rests on what is seen.

Such frameworks put every array on the device without being asked, compile what is given to them and queue the rest, so
that neither a name nor an argument shows what crosses, nor how often. Two things do: the array was made in sight, by
the framework; and the site stands in a loop that feeds the device, turn by turn, with what the turn before left or with
the next batch. A read there keeps the host from running ahead (docs.jax.dev 'Asynchronous dispatch'; docs.cupy.dev
'Performance Best Practices'); anywhere else it is possible, no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow import guards, loops
from transferlint.flow.names import split
from transferlint.flow.once import once
from transferlint.flow.operands import tree
from transferlint.flow.transfers import CALLBACK, SYNCHRONIZE
from transferlint.flow.values import FRAMEWORKS, FROM_PARAMETER, MODULE, Value, framework_of
from transferlint.knowledge import frameworks
from transferlint.knowledge.tensorflow import TENSORFLOW
from transferlint.model import Direction
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_LOOPS = ("for", "while", "comprehension")
_BATCH_HOOKS = late.pattern(r"^on_((train|test|predict)_)?batch_(begin|end)$")
_HOOKED = "keras.callbacks."
# docs.python.org time, timeit
_CLOCKS = late.pattern(r"^(time\.(time|perf_counter|monotonic|process_time)(_ns)?|timeit\.default_timer)$")
# docs.python.org input, breakpoint
_ASKS = frozenset({"builtins.input", "builtins.breakpoint", "pdb.set_trace"})
_DEPTH = 2  # calls from a loop to what trains


def evident(function: FunctionFacts, reg: Reg) -> bool:
    """True where the finding at a register is about what the framework made in sight, in a loop that feeds the device;
    about what Keras calls for every batch; and about a call back to the host, of which its rule knows more."""
    found = function.transfers_at(reg)
    if any(one.kind == CALLBACK for one in found):
        return function.index in function.file.placement.tracing.hot or _fed(function, reg)
    read = [one.before for one in found if one.direction is not Direction.H2D] or [function.values[reg]]
    if _aside(function, reg) or (not _works(function, reg) and any(_given(value) for value in read)):
        return False
    return hooked(function) or _fed(function, reg)


def _aside(function: FunctionFacts, reg: Reg) -> bool:
    """True in an arm that looks into what went wrong with numbers, is for the first few turns of a loop alone, or waits
    for somebody to type."""
    at = function.region(reg)
    while at > 0:
        region = function.function.regions[at]
        if region.kind in ("then", "else") and region.test is not None and not region.implied:
            when = region.kind == "then"
            odd = guards.not_finite(function.function, region.test, when) or _first_turns(function, region.test, when)
            if odd or _asks_somebody(function, at):
                return True
        at = region.parent
    return False


def _first_turns(function: FunctionFacts, test: Reg, when: bool) -> bool:
    """True for `number < 3`, of what a loop counts."""
    made = function.code[test]
    if not isinstance(made, p.Compare) or made.operators not in (("<",), ("<=",)) or not when:
        return False
    counted, most = (function.code[one] for one in made.operands)
    few = isinstance(most, p.Const) and isinstance(most.value, int) and most.value <= loops.FEW
    slots = (slot for region in function.function.regions for slot in region.target_slots)
    return few and isinstance(counted, p.Load) and counted.slot in slots


@once
def _asks_somebody(function: FunctionFacts, region: int) -> bool:
    calls = (made for reg in function.within(region) if isinstance(made := function.code[reg], p.Call))
    return any(_name(function, made) in _ASKS for made in calls)


def _given(value: Value) -> bool:
    """True for what is on the device for nothing but that an argument is taken to be."""
    return bool(value.flags & FROM_PARAMETER) and not any(site >= 0 for site in value.why)


@once
def hooked(function: FunctionFacts) -> bool:
    """True for a method of a callback that Keras runs for every batch (keras.io api callbacks base_callback)."""
    info = function.file.placement.class_of(function.function)
    if info is None or not _BATCH_HOOKS.match(function.function.name):
        return False
    known = (frameworks.known(base) for base in info.bases)
    return any(one is not None and one[1].startswith(_HOOKED) for one in known)


def _fed(function: FunctionFacts, reg: Reg, further: bool = True) -> bool:
    """True in a turn of a loop that feeds the device, one call away too, in the same file. Not where another such loop
    stands inside it or is called, which would make the turns of this one rare, nor where the turn waits anyway, by
    name or to know whether it is the last."""
    around = function.loops(reg)
    if not around and takes_a_step(function):
        return True
    for loop in around:
        if not feeds(function, loop):
            continue
        inner = [at for at in _within(function, loop) if at not in around]
        rare = any(feeds(function, at) for at in inner) or _long(function, loop) or _open_ended(function, loop, inner)
        return not (rare or _waited(function, loop, reg) or _left_by_the_device(function, loop))
    caller = function.warmth(reg).caller
    if not further or caller is None or caller[0] != function.file.path or feeding(function):
        return False
    calling = function.file.functions[caller[1]]
    place = split(calling.calls.get(caller[2], ""))
    return place == (function.file.path, function.index) and _fed(calling, caller[2], further=False)


@once
def takes_a_step(function: FunctionFacts) -> bool:
    """True for a function that changes parameters outside of all loops, itself or in what it calls there: one call of
    it is one step of a training, whose loop is its caller's."""
    return _one_step(function, (function.file.path, function.index), _DEPTH)


def _one_step(function: FunctionFacts, place: tuple[str, int], depth: int) -> bool:
    owner = function.file.placement if place[0] == function.file.path else function.file.elsewhere(place[0])
    placed = owner.placed.get(place[1]) if owner is not None else None
    if placed is None:
        return False
    if loops.takes_a_step(placed.function):
        return True
    where = placed.function.lookup.regions
    called = (
        found
        for reg, name in placed.calls.items()
        if depth > 0
        and (found := split(name)) is not None
        and not any(one.kind in _LOOPS for one in placed.function.ancestors(where[reg]))
    )
    return any(_one_step(function, found, depth - 1) for found in called)


def feeding(function: FunctionFacts) -> bool:
    """True for a function with a loop of its own that feeds the device."""
    regions = enumerate(function.function.regions)
    return any(region.kind in _LOOPS and feeds(function, at) for at, region in regions)


def _outside(function: FunctionFacts, loop: int) -> list[int]:
    """The loops around a loop."""
    found, at = [], function.function.regions[loop].parent
    while at > 0:
        if function.function.regions[at].kind in _LOOPS:
            found.append(at)
        at = function.function.regions[at].parent
    return found


def _counts_epochs(function: FunctionFacts, loop: int) -> bool:
    region = function.function.regions[loop]
    value = function.values[region.test] if region.test is not None else None
    return loops.classify(function.function, region, value) == "epoch"


def _within(function: FunctionFacts, loop: int) -> list[int]:
    regions = function.function.regions
    found = []
    for at, region in enumerate(regions):
        parent = region.parent
        while parent > 0 and parent != loop:
            parent = regions[parent].parent
        if parent == loop and at != loop and region.kind in _LOOPS:
            found.append(at)
    return found


def _waited(function: FunctionFacts, loop: int, reg: Reg) -> bool:
    """True after a wait by name in the same turn: what is read after it costs no further one."""
    around = set(function.loops(reg))
    for one in function.transfers:
        if one.kind == SYNCHRONIZE and one.register < reg and function.inside(one.register, loop):
            loops_of = function.loops(one.register)
            if loops_of and loops_of[0] in around:
                return True
    return False


@once
def reads_clock(function: FunctionFacts) -> bool:
    """True for a function that calls a clock, whatever it calls it."""
    return any(
        isinstance(made := function.code[reg], p.Call) and bool(_CLOCKS.match(_name(function, made)))
        for reg in function.of(p.Call)
    )


@once
def _long(function: FunctionFacts, loop: int) -> bool:
    """True for a loop whose turns are long, in a framework that compiles: each is timed, or calls what loops over parts
    that the device computes, an evaluation or a whole image."""
    if any(_always(function, reg) for reg in range(len(function.values))):
        return False
    for reg in function.within(loop):
        made = function.code[reg]
        if not isinstance(made, p.Call):
            continue
        clock = _CLOCKS.match(_name(function, made)) and function.warmth(reg).hot
        if clock or _loops_itself(function, reg):
            return True
    return False


def _open_ended(function: FunctionFacts, loop: int, inner: list[int]) -> bool:
    """True for a loop with a `while` inside, of as many turns as it needs, as an episode has: in a framework that
    compiles."""
    compiled = not any(_always(function, reg) for reg in function.within(loop))
    return compiled and any(function.function.regions[at].kind == "while" for at in inner)


def _always(function: FunctionFacts, reg: Reg) -> bool:
    found = framework_of(function.values[reg].flags)
    return found is not None and found.always


def _loops_itself(function: FunctionFacts, call: Reg) -> bool:
    """True for a call of a function of the checked source that calls what is compiled or given to it in a loop."""
    place = split(function.calls.get(call, ""))
    if place is None:
        return False
    file = function.file
    owner = file.placement if place[0] == file.path else file.elsewhere(place[0])
    placed = owner.placed.get(place[1]) if owner is not None else None
    if placed is None or placed.role.traced:
        return False
    called = placed.function
    given = {one.slot for one in called.parameters}
    for reg in called.lookup.of(p.Call):
        made = called.code[reg]
        callee = called.code[made.function] if isinstance(made, p.Call) else None
        working = reg in placed.compiled or (isinstance(callee, p.Load) and callee.slot in given)
        if working and any(one.kind in _LOOPS for one in called.ancestors(called.lookup.regions[reg])):
            return True
    return False


@once
def _left_by_the_device(function: FunctionFacts, loop: int) -> bool:
    """True for a loop of which the device says when it ends (`if kl > limit: break`), in a framework that compiles:
    such a turn is long, and one more of them gives another result. Of `while error > limit` only where a turn calls
    what is compiled: what computes step by step is short, and the framework has a loop for it."""
    asks = function.function.regions[loop].kind == "while" and _asks_device(function, loop)
    if asks and any(reg in function.compiled for reg in function.within(loop)):
        return True
    for at, region in enumerate(function.function.regions):
        if region.kind not in ("then", "else") or region.leaves not in ("break", "return") or region.test is None:
            continue
        if not function.inside(region.test, loop) or at == loop:
            continue
        for part in tree(function.code, region.test):
            value = function.values[part]
            found = framework_of(value.flags)
            asked = value.reads or (found is not None and value.on_device)
            if asked and (found is None or not found.always):
                return True
    return False


@once
def feeds(function: FunctionFacts, loop: int) -> bool:
    """True for a loop each of whose turns gives the device work on the next batch, or on what the turn before left:
    not for one over a few settings, data sets or epochs, nor for one that waits for requests."""
    region = function.function.regions[loop]
    value = function.values[region.test] if region.test is not None else None
    kind = loops.classify(function.function, region, value)
    if kind == "epoch" and any(_counts_epochs(function, at) for at in _outside(function, loop)):
        kind = "step"  # `for step in range(steps_per_epoch)`
    if kind in ("few", "epoch") or _takes_few(function, region.test) or _over_numbers(function, loop):
        return False
    if region.kind == "while" and loops.sleeps(function.function, region):
        return False
    inside = function.within(loop)
    works = [reg for reg in inside if _works(function, reg)]
    if not works:
        return False
    if kind == "step" and region.kind != "while":
        return True
    if region.kind == "while" and _asks_device(function, loop):
        return True
    if any(_always(function, reg) for reg in works):
        return True
    return any(_trains(function, reg) for reg in inside) or _carries(function, inside)


def _asks_device(function: FunctionFacts, loop: int) -> bool:
    """True for a loop that asks the device in every turn whether there is another."""
    test = function.function.regions[loop].test
    parts = tree(function.code, test) if test is not None else ()
    return any((value := function.values[one]).on_device and bool(value.flags & FRAMEWORKS) for one in parts)


def _over_numbers(function: FunctionFacts, loop: int) -> bool:
    """True for a loop over a list of constants, which are settings (`for size in [100, 1000]`), by a variable too: no
    batch is one."""
    region = function.function.regions[loop]
    made = function.code[region.test] if region.test is not None else None
    if isinstance(made, p.Load):
        stores = [function.code[at] for at in function.stores(made.slot)]
        made = function.code[stores[0].value] if len(stores) == 1 and isinstance(stores[0], p.Store) else None
    return isinstance(made, p.Sequence) and all(isinstance(function.code[one], p.Const) for one in made.items)


def _takes_few(function: FunctionFacts, over: Reg | None) -> bool:
    """True for `dataset.take(1)`, also where it is counted."""
    made = function.code[over] if over is not None else None
    if isinstance(made, p.Call) and _name(function, made) == "builtins.enumerate" and made.args:
        made = function.code[made.args[0]]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    if not (isinstance(made, p.Call) and isinstance(callee, p.Attr) and callee.name == "take" and len(made.args) == 1):
        return False
    count = function.code[made.args[0]]
    return isinstance(count, p.Const) and isinstance(count.value, int) and count.value <= loops.FEW


def _works(function: FunctionFacts, reg: Reg) -> bool:
    """True for what the device computes: a call of what is compiled or of a model, an operation on its arrays."""
    if reg in function.compiled:
        return True
    made, value = function.code[reg], function.values[reg]
    if isinstance(made, p.Call) and _of_model(function, made.function):
        return True
    if not isinstance(made, p.Call | p.Binary | p.Compare) or not value.on_device or not value.flags & FRAMEWORKS:
        return False
    # Keys of random numbers go from turn to turn too, and tell nothing of what the device has to do.
    return not (isinstance(made, p.Call) and _name(function, made) in frameworks.KEYS)


def _of_model(function: FunctionFacts, reg: Reg) -> bool:
    """True for a model of the framework, and for a method of one (`model.predict`)."""
    made = function.code[reg]
    if isinstance(made, p.Attr) and frameworks.own_row(TENSORFLOW, f"keras.Model.{made.name}") is not None:
        return any(function.transfers_at(user) for user in function.users(reg))
    held = (function.values[one] for one in ((reg, made.object) if isinstance(made, p.Attr) else (reg,)))
    return any(value.kinds & MODULE and value.on_device and value.flags & FRAMEWORKS for value in held)


def _name(function: FunctionFacts, made: p.Call) -> str:
    return function.file.placement.names.dotted(function.function, made.function)


def _trains(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call that changes parameters by their gradients, itself or in functions of the checked source."""
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return False
    if updates(function.function, made):
        return True
    place = split(function.calls.get(reg, "")) or split(function.values[made.function].name)
    return place is not None and _updates_within(function, place, _DEPTH)


def _updates_within(function: FunctionFacts, place: tuple[str, int], depth: int) -> bool:
    """True for a function of the checked source that changes parameters, or one that it holds or calls does."""
    owner = function.file.placement if place[0] == function.file.path else function.file.elsewhere(place[0])
    placed = owner.placed.get(place[1]) if owner is not None else None
    if owner is None or placed is None:
        return False
    parts = [one for one in owner.program.functions if one is placed.function or one.parent == place[1]]
    if any(updates(one, made) for one in parts for made in one.code):
        return True
    further = {found for name in placed.calls.values() if (found := split(name)) is not None and found != place}
    return depth > 0 and any(_updates_within(function, one, depth - 1) for one in further)


def updates(function: Function, made: p.Instruction) -> bool:
    """True for a call of what changes parameters by their gradients, by the names of the frameworks' APIs."""
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    return isinstance(callee, p.Attr | p.Outer) and callee.name in frameworks.UPDATES


def _carries(function: FunctionFacts, inside: tuple[Reg, ...]) -> bool:
    """True where a variable or an attribute is bound to what the device computes from it: `state = step(state)`."""
    for reg in inside:
        made = function.code[reg]
        if not isinstance(made, p.Store | p.SetAttr):
            continue
        value = function.values[made.value]
        if not (value.on_device and value.flags & FRAMEWORKS):
            continue
        parts = list(tree(function.code, made.value))
        if not any(_works(function, part) for part in parts):
            continue
        for part in parts:
            one = function.code[part]
            if isinstance(made, p.Store) and isinstance(one, p.Load) and one.slot == made.slot:
                fresh = any(inside[0] <= store < part for store in function.stores(made.slot))  # made in this turn
                if not fresh:
                    return True
            if isinstance(made, p.SetAttr) and isinstance(one, p.Attr) and one.name == made.name:
                return True
    return False
