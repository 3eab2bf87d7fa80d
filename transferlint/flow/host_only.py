"""What only the host can do with a value: write it away, give it to another process, or step a simulated environment
with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.dataflow.once import once
from transferlint.flow.lattice.values import HOST_VALUE
from transferlint.knowledge import roles
from transferlint.knowledge.libraries import ENVIRONMENTS, HOST_LIBRARIES, SAVERS
from transferlint.model import Direction
from transferlint.reasons import Cause, Reason
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_STEPS = ("step", "reset", "act")
_PUTS = ("put", "put_nowait")
# The modules whose queues stay within a process, where threads share its device's memory (docs.python.org).
_WITHIN = frozenset({"queue", "asyncio"})
_QUEUES = frozenset({"Queue", "LifoQueue", "PriorityQueue", "SimpleQueue"})
_HOLDING = (p.Sequence, p.Mapping, p.Binary, p.Choice, p.Collect)


@once
def host_only_use(function: FunctionFacts, reg: Reg) -> Reason | None:
    """What only the host does with the value of a register, each time that there is one, where it goes straight there,
    by way of one variable at most, or each of its elements does in a loop: "`envs.step` takes it", "`np.save` saves
    it"; None where it does not, and where a library of the host makes something of it that goes back to the device."""
    if function.values[reg].on_device:
        return None  # what is made there of what the host has read
    use = _use(function, reg, len(function.loops(reg)), False)
    computed = use is not None and use.cause is Cause.HOST_LIBRARY
    back = computed and any(one.direction is Direction.H2D and reg in one.before.reads for one in function.transfers)
    return None if back else use


@once
def _use(function: FunctionFacts, reg: Reg, depth: int, followed: bool, element: bool = False) -> Reason | None:
    """`host_only_use` of one register; `depth`: how many loops are around the value, `followed`: it was kept in a
    variable, `element`: the register holds one of its elements."""
    for user in function.users(reg):
        made = function.code[user]
        found: Reason | None = None
        if isinstance(made, p.Collect) and function.values[reg].is_a(HOST_VALUE):
            continue  # one number after the other crosses, where one read would do for all
        if isinstance(made, p.Attr):
            calls = (c for c in function.users(user) if isinstance(function.code[c], p.Call))
            found = next(filter(None, (_use(function, call, depth, followed, element) for call in calls)), None)
        elif isinstance(made, p.Call) and made.function != reg:
            found = _done(function, made)
            if found and found.cause is Cause.HOST_LIBRARY and len(function.loops(user)) < depth:
                continue  # of all that one loop read, which one read would do for
            if not found and element and _formats(function, made):
                found = _use(function, user, depth, followed, element)
        elif isinstance(made, p.Subscript):
            inner = element or (made.object == reg and len(function.loops(user)) > depth)
            found = _use(function, user, depth, followed, inner)
        elif isinstance(made, _HOLDING) or (element and isinstance(made, p.Format)):
            found = _use(function, user, depth, followed, element)
        elif isinstance(made, p.Store) and not followed:
            uses = _uses(function, made.slot, depth, element)
            found = next((use for load, use in uses if _as_often(function, user, load)), None)
        if found:
            return found
    each = () if element else _elements(function, reg)
    return next(filter(None, (_use(function, one, depth, False, True) for one in each)), None)


@once
def _uses(function: FunctionFacts, slot: Slot, depth: int, element: bool) -> tuple[tuple[Reg, Reason], ...]:
    """The loads of a variable with which the host does what only it can, each with what that is."""
    loads = ((load, _use(function, load, depth, True, element)) for load in function.loads(slot))
    return tuple((load, use) for load, use in loads if use is not None)


def _as_often(function: FunctionFacts, store: Reg, load: Reg) -> bool:
    """Whether all that is stored may be taken by a load: after the loop, or every so many steps, it takes the last."""
    if not set(function.loops(store)) <= set(function.loops(load)):
        return False
    return bool(function.warmth(store).amortised) or not function.warmth(load).amortised


def _elements(function: FunctionFacts, reg: Reg) -> list[Reg]:
    """The registers that hold one element of a value, in the loops over it: `b` of `for i, b in enumerate(x)`."""
    found = []
    for user in function.users(reg):
        made = function.code[user]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if isinstance(made, p.Next):
            found.append(user)
        elif isinstance(made, p.Call) and isinstance(callee, p.Outer) and callee.name in ("zip", "enumerate"):
            place = 1 if callee.name == "enumerate" else made.args.index(reg) if reg in made.args else -1
            parts = (r for one in _elements(function, user) for r in function.users(one))
            found += [r for r in parts if isinstance(part := function.code[r], p.Unpack) and part.index == place]
    return found


def _formats(function: FunctionFacts, call: p.Call) -> bool:
    """True for what puts a number into a text: `"{:.4f}".format(x)`, `str(x)`."""
    callee = function.code[call.function]
    return isinstance(callee, p.Attr | p.Outer) and callee.name in ("format", "str")


def _done(function: FunctionFacts, call: p.Call) -> Reason | None:
    """What a call does that only the host can; None for any other."""
    callee = function.code[call.function]
    name = function.file.placement.names.dotted(function.function, call.function)
    if name.partition(".")[0] in HOST_LIBRARIES:
        return Reason(Cause.HOST_LIBRARY, name)
    if isinstance(callee, p.Attr):
        if SAVERS.match(callee.name):
            return Reason(Cause.SAVED, callee.name)
        owner = _last(function, callee.object)
        if callee.name in _PUTS and roles.QUEUES.search(owner) and not _makes_own_queues(function.file.functions[0]):
            return Reason(Cause.HANDED_OVER, f"{owner}.{callee.name}")
        return Reason(Cause.ENVIRONMENT, f"{owner}.{callee.name}") if _steps(function, callee) else None
    name = _last(function, call.function) if isinstance(callee, p.Load | p.Outer) else ""
    return Reason(Cause.SAVED, name) if SAVERS.match(name) else None


def steps_environment(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call that steps a simulated environment: `env.step(action)`."""
    made = function.code[reg]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    return isinstance(callee, p.Attr) and _steps(function, callee)


def _steps(function: FunctionFacts, callee: p.Attr) -> bool:
    return callee.name in _STEPS and bool(ENVIRONMENTS.search(_last(function, callee.object)))


@once
def _makes_own_queues(module: FunctionFacts) -> bool:
    """Whether a file makes queues that stay within the process; `module` is what runs when it is imported."""
    return any(
        (isinstance(one, p.Import) and one.module in _WITHIN and one.name in _QUEUES)
        or (isinstance(one, p.Attr) and one.name in _QUEUES and _last(function, one.object) in _WITHIN)
        for function in module.file.functions
        for one in function.code
    )


def _last(function: FunctionFacts, reg: Reg) -> str:
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.function.slot_names[made.slot]
    if isinstance(made, p.Subscript):
        return _last(function, made.object)
    return made.name if isinstance(made, p.Attr | p.Outer) else ""
