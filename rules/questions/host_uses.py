"""Whether a copy on the host serves for all that is done with a value: it is read, counted with, used as a bound."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import BOOLEAN, CONTAINER, HOST_VALUE, ON_DEVICE
from transferlint.knowledge.torch_names import SIZED
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, captured

_READS = frozenset({"item", "tolist", "cpu", "numpy"})
_KEEPS = frozenset("detach int long float double bool clone round squeeze view reshape flatten contiguous".split())
_NUMBERS = SIZED | frozenset(
    f"builtins.{name}" for name in "int float bool range round abs min max str print len".split()
)
_NAMES = frozenset({"shape", "dtype", "data", "ndim"})
_MOST = 40  # uses to follow


@once
def serves_host(function: FunctionFacts, reg: Reg) -> bool:
    """True where whoever uses a register (an element of a tensor) is served by the host's copy of it: numbers, bounds,
    sizes, indices and texts are made of it, or it meets numbers alone."""
    pending, seen = [reg], set[Reg]()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for user in function.users(at):
            more = _use(function, at, user)
            if more is None or len(seen) > _MOST:
                return False
            pending += more
    return True


def _use(function: FunctionFacts, at: Reg, user: Reg) -> list[Reg] | None:
    """The registers that hold a value after one use of it, [] where it is a number then; None where the use may need
    the value on the device."""
    made = function.code[user]
    if isinstance(made, p.Slice | p.Test | p.Format | p.Discard):
        return []
    if isinstance(made, p.Subscript):
        return [user] if made.object == at else None if _mask(function, at) else []
    if isinstance(made, p.SetItem):
        return [] if made.index == at and not _mask(function, at) else None
    if isinstance(made, p.Attr):
        if made.name in _NAMES:
            return [user]
        calls = [r for r in function.users(user) if getattr(function.code[r], "function", None) == user]
        if len(calls) < len(function.users(user)) or made.name not in _READS | _KEEPS:
            return None
        return [] if made.name in _READS else calls
    if isinstance(made, p.Call):
        return [] if called(function, user) in _NUMBERS and made.function != at else None
    if isinstance(made, p.Binary) and made.operator == "*" and _lists(function, made, at):
        return []  # a list, so many times
    if isinstance(made, p.Binary | p.Compare | p.Unary | p.Boolean):
        return [user] if all(_number(function, r) for r in _operands(made) if r != at) else None
    if isinstance(made, p.Sequence):  # of several indices or sizes
        return [] if all(_takes_numbers(function, r) for r in function.users(user)) else None
    if isinstance(made, p.Store) and not captured(function, made.slot):
        return function.loads(made.slot)
    return None


def _lists(function: FunctionFacts, made: p.Binary, at: Reg) -> bool:
    return function.values[made.left if made.right == at else made.right].kinds == CONTAINER


def _takes_numbers(function: FunctionFacts, reg: Reg) -> bool:
    return isinstance(function.code[reg], p.Subscript | p.SetItem) or called(function, reg) in SIZED


def _mask(function: FunctionFacts, reg: Reg) -> bool:
    """True for booleans: what they select from must be where they are."""
    return bool(function.values[reg].flags & BOOLEAN)


def _number(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return value.kinds in (HOST_VALUE, CONTAINER) or not value.places & ON_DEVICE


def _operands(made: p.Binary | p.Compare | p.Unary | p.Boolean) -> tuple[Reg, ...]:
    if isinstance(made, p.Binary):
        return made.left, made.right
    return (made.operand,) if isinstance(made, p.Unary) else made.operands


# What takes values to another process or machine, where a device's memory means nothing or must not be shared.
_CARRIERS = late.pattern(
    r"^(torch\.distributed\.rpc|(torch\.)?multiprocessing|pickle|dill|cloudpickle|joblib|queue|socket|ray|zmq|grpc"
    r"|concurrent\.futures)(\.|$)"
)


def leaves_process(function: FunctionFacts) -> bool:
    """True where what a function returns may be taken to another process: its file imports what does that, or hands the
    function itself on, to be called by somebody else."""
    for one in function.file.functions[0].code:
        if isinstance(one, p.Import) and _CARRIERS.match(f"{one.module}.{one.name}"):
            return True
    own = function.function.name
    for other in function.file.functions:
        for reg, made in enumerate(other.code):
            if isinstance(made, p.Load):
                name = other.function.slot_names[made.slot]
            else:
                name = made.name if isinstance(made, p.Outer | p.Attr) else ""
            uses = (other.code[user] for user in other.users(reg)) if name == own else ()
            if any(isinstance(use, p.Call) and use.function != reg for use in uses):
                return True
    return False
