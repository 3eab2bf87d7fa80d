"""Whether a finding about a framework beside torch rests on what is seen.

Such frameworks put every array on the device without being asked, compile what is given to them and queue the rest, so
that neither a name nor an argument shows what crosses, nor how often. Two things do: the array was made in sight, by
the framework; and the site stands in a loop that feeds the device, turn by turn, with what the turn before left or with
the next batch. A read there keeps the host from running ahead (docs.jax.dev 'Asynchronous dispatch'; docs.cupy.dev
'Performance Best Practices'); anywhere else it is possible, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow import guards
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.feeding import LOOPS, always, asks_device, callee_name, feeds, is_model, works
from transferlint.flow.frequency import loops
from transferlint.flow.lattice.transfers import CALLBACK, TRUTH
from transferlint.flow.lattice.values import FROM_PARAMETER, Value, framework_of
from transferlint.flow.training_steps import takes_a_step
from transferlint.flow.turns import only_sometimes, waited, waits_after
from transferlint.knowledge import frameworks, roles
from transferlint.model import Direction, Evidence
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_BATCH_HOOKS = late.pattern(r"^on_((train|test|predict)_)?batch_(begin|end)$")
_HOOKED = "keras.callbacks."
# docs.python.org time, timeit, datetime
_CLOCKS = late.pattern(
    r"^(time\.(time|perf_counter|monotonic|process_time)(_ns)?|timeit\.default_timer|datetime\.datetime\.(utc)?now)$"
)
_WHOLE_LOOPS = ("fit", "evaluate")  # keras.io api 'Model training APIs': go over a whole data set, and wait for it
# docs.python.org input, breakpoint
_ASKS = frozenset({"builtins.input", "builtins.breakpoint", "pdb.set_trace"})
_DEPTH = 2  # calls from a loop to what trains


def evident(function: FunctionFacts, reg: Reg) -> bool:
    """True where the finding at a register is about what the framework made in sight, in a loop that feeds the device;
    about what Keras calls for every batch; and about a call back to the host, of which its rule knows more."""
    found = function.transfers_at(reg)
    if any(one.kind == CALLBACK for one in found):
        traced = function.file.placement.tracing  # a data set runs on the host, and nothing crosses
        return function.index not in traced.fed and (function.index in traced.hot or _fed(function, reg))
    if any(one.kind == TRUTH for one in found) and _counts(function, reg):
        return False
    read = [one.before for one in found if one.direction is not Direction.H2D] or [function.values[reg]]
    if _aside(function, reg) or (not works(function, reg) and any(_given(value) for value in read)):
        return False
    return hooked(function) or (_seen(function, reg) and _fed(function, reg))


def other_waits(function: FunctionFacts, reg: Reg, told: Iterable[Evidence]) -> Iterator[Evidence]:
    """Where else the turn waits for the device, one a line, without the lines of the finding and of what it told."""
    others = {site.line: site for site in map(function.site, waits_after(function, reg))}
    for line in (function.site(reg).line, *(known.site.line for known in told)):
        others.pop(line, None)
    return (Evidence(one, "waits for the device in the same turn") for one in others.values())


def _seen(function: FunctionFacts, reg: Reg) -> bool:
    """False for what is taken to run for every step by its function's name alone, and no library calls by it."""
    return function.warmth(reg).seen or roles.certain(function.function.name)


def _counts(function: FunctionFacts, reg: Reg) -> bool:
    """True for `tf.equal(step % n, 0)`, which asks of whole numbers that the host counts."""
    parts = (function.code[part] for part in tree(function.code, reg))
    return any(isinstance(made, p.Binary) and made.operator == "%" for made in parts)


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
    return any(callee_name(function, made) in _ASKS for made in calls)


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
    """True in what each turn of a loop that feeds the device does, one call away too, in the same file. Not where
    another such loop stands inside it or is called, which would make the turns of this one rare, nor where the turn
    has waited already, or waits to know whether it is the last."""
    around = function.loops(reg)
    if not around and takes_a_step(function):
        return not (only_sometimes(function, reg, 0) or waited(function, reg, 0))
    for loop in around:
        if not feeds(function, loop):
            continue
        inner = [at for at in _within(function, loop) if at not in around]
        rare = any(feeds(function, at) for at in inner) or _long(function, loop) or _open_ended(function, loop, inner)
        skipped = rare or only_sometimes(function, reg, loop) or _left_by_the_device(function, loop)
        return not (skipped or waited(function, reg, loop))
    caller = function.warmth(reg).caller
    if not further or caller is None or caller[0] != function.file.path or feeding(function):
        return False
    if only_sometimes(function, reg, 0) or waited(function, reg, 0):
        return False
    calling = function.file.functions[caller[1]]
    place = split(calling.calls.get(caller[2], ""))
    return place == (function.file.path, function.index) and _fed(calling, caller[2], further=False)


def feeding(function: FunctionFacts) -> bool:
    """True for a function with a loop of its own that feeds the device."""
    regions = enumerate(function.function.regions)
    return any(region.kind in LOOPS and feeds(function, at) for at, region in regions)


def _within(function: FunctionFacts, loop: int) -> list[int]:
    regions = function.function.regions
    found = []
    for at, region in enumerate(regions):
        parent = region.parent
        while parent > 0 and parent != loop:
            parent = regions[parent].parent
        if parent == loop and at != loop and region.kind in LOOPS:
            found.append(at)
    return found


@once
def reads_clock(function: FunctionFacts) -> bool:
    """True for a function that calls a clock, whatever it calls it."""
    return any(
        isinstance(made := function.code[reg], p.Call) and bool(_CLOCKS.match(callee_name(function, made)))
        for reg in function.of(p.Call)
    )


@once
def _long(function: FunctionFacts, loop: int) -> bool:
    """True for a loop whose turns are long, in a framework that compiles: each is timed, or calls what loops over parts
    that the device computes, an evaluation or a whole image."""
    if any(always(function, reg) for reg in range(len(function.values))):
        return False
    for reg in function.within(loop):
        made = function.code[reg]
        if not isinstance(made, p.Call):
            continue
        clock = _CLOCKS.match(callee_name(function, made)) and function.warmth(reg).hot
        callee = function.code[made.function]
        whole = isinstance(callee, p.Attr) and callee.name in _WHOLE_LOOPS and is_model(function, callee.object)
        if clock or whole or _loops_itself(function, reg):
            return True
    return False


def _open_ended(function: FunctionFacts, loop: int, inner: list[int]) -> bool:
    """True for a loop with a `while` inside, of as many turns as it needs, as an episode has: in a framework that
    compiles."""
    compiled = not any(always(function, reg) for reg in function.within(loop))
    return compiled and any(function.function.regions[at].kind == "while" for at in inner)


def _loops_itself(function: FunctionFacts, call: Reg) -> bool:
    """True for a call of a function of the checked source that calls what is compiled or given to it in a loop."""
    place = split(function.calls.get(call, ""))
    placed = function.file.placed_at(*place) if place is not None else None
    if placed is None or placed.role.traced:
        return False
    called = placed.function
    given = {one.slot for one in called.parameters}
    for reg in called.lookup.of(p.Call):
        made = called.code[reg]
        callee = called.code[made.function] if isinstance(made, p.Call) else None
        working = reg in placed.compiled or (isinstance(callee, p.Load) and callee.slot in given)
        if working and any(one.kind in LOOPS for one in called.ancestors(called.lookup.regions[reg])):
            return True
    return False


@once
def _left_by_the_device(function: FunctionFacts, loop: int) -> bool:
    """True for a loop of which the device says when it ends (`if kl > limit: break`), in a framework that compiles:
    such a turn is long, and one more of them gives another result."""
    asks = function.function.regions[loop].kind == "while" and asks_device(function, loop)
    if asks and not any(always(function, reg) for reg in function.within(loop)):
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
