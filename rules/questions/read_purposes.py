"""What a value that the host reads is for, as far as its function shows: what helps depends on it."""

from __future__ import annotations

import functools

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import CONTAINER
from transferlint.flow.training_steps import takes_a_step
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import rows
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import derived
from ..code.chains import called, method
from . import parts

_CONVERSIONS = ("builtins.float", "builtins.int", "builtins.str")
_INTO_PARTS = (p.Sequence, p.Mapping, p.Format, p.Attr, p.Subscript)
_ABOUT = frozenset("shape dtype ndim size".split())
_SIZES = ("size", "shape")
_BRANCHES = ("if", "elif", "while", "choice")


@once
def decides(function: FunctionFacts, reg: Reg) -> bool:
    """True where the host goes on by what it reads: a branch or a loop in the same turn depends on it."""
    loops = function.loops(reg)
    try:
        found = derived.derived(
            function.function, {reg}, derived.ALL, within=_turn(function, loops[0]) if loops else None
        )
    except derived.TooLong:
        function.file.cut.add(function.function.qualname)
        return False
    asked = (at for one in found for at in function.users(one) if at > reg)
    return any(
        isinstance(made := function.code[at], p.Test)
        and made.kind in _BRANCHES
        and (not loops or loops[0] in function.loops(at))
        for at in asked
    )


@once
def _turn(function: FunctionFacts, loop: int) -> frozenset[Reg]:
    """The registers of a loop."""
    return frozenset(function.within(loop))


@once
def reduced(function: FunctionFacts, reg: Reg) -> bool:
    """True where numbers that are reduced from a copy are all that the host makes of it, also of several copies
    together: `np.var(y - p)`."""
    uses = _uses(function, reg)
    made = [function.code[one] for one in uses]
    if not any(_reduces(function, one) for one in uses):
        return False
    return all(
        isinstance(one, p.Store | p.Load | p.Binary | p.Unary | p.Compare | p.Attr | p.Discard | p.Unpack | p.Sequence)
        or _reduces(function, at)
        or method(function, at) in derived.FORMS
        for at, one in zip(uses, made, strict=True)
    )


@once
def collected(function: FunctionFacts, reg: Reg) -> bool:
    """True where a copy is put into a list, a table or an array, part by part."""
    uses = _uses(function, reg)
    return any(
        isinstance(function.code[at], p.SetItem | p.Collect) or method(function, at) in derived.INTO for at in uses
    )


@once
def added_up(function: FunctionFacts, reg: Reg) -> bool:
    """True where a copy is added to what the turns before it left, and that is no list."""
    return any(
        isinstance(made := function.code[at], p.Binary)
        and made.inplace
        and not any(function.values[one].is_a(CONTAINER) for one in (at, made.left, made.right))
        and method(function, made.right) != "tolist"
        for at in _uses(function, reg)
    )


@once
def put_aside(function: FunctionFacts, reg: Reg) -> bool:
    """True where all that is seen of a copy is that it is put into a list as it is, added to a sum, made a number of,
    printed, or given back by one step of a training, of which nobody knows when it is looked at: nothing else is
    computed from it. Who has made an array of the host for it means to have it there."""
    held, pending = {reg}, [reg]
    step = takes_a_step(function)
    while pending:
        for at in function.users(pending.pop()):
            made = function.code[at]
            if _last_use(function, at) or (step and isinstance(made, p.Return)):
                return True
            if isinstance(made, p.Store):
                end = min((other for other in function.stores(made.slot) if other > at), default=len(function.code))
                more = {at, *(load for load in function.loads(made.slot) if at < load < end)}
            elif (isinstance(made, _INTO_PARTS) and not _about(made)) or _spells(function, at):
                more = {at}
            else:
                continue
            pending += more - held
            held |= more
    return False


@once
def counted(function: FunctionFacts, reg: Reg) -> bool:
    """True where nothing is done with a selection but to ask for its size or to reduce it to numbers."""
    held, pending, asked = {reg}, [reg], False
    while pending:
        at = pending.pop()
        for user in function.users(at):
            made = function.code[user]
            if isinstance(made, p.Store):
                end = min((other for other in function.stores(made.slot) if other > user), default=len(function.code))
                more = {user, *(load for load in function.loads(made.slot) if user < load < end)}
            elif isinstance(made, p.Subscript) and made.object == at and isinstance(function.code[made.index], p.Const):
                more = {user}  # of `nonzero`, the indices of one dimension
            elif (
                _reduces(function, user)
                or (isinstance(made, p.Attr) and made.name in _SIZES)
                or called(function, user) == "builtins.len"
            ):
                asked, more = True, set()
            else:
                return False
            pending += more - held
            held |= more
    return asked


def _last_use(function: FunctionFacts, at: Reg) -> bool:
    """True for what puts a copy aside: `kept.append(x)`, `total += x`, `x.mean()`, `print(x)`."""
    made = function.code[at]
    if isinstance(made, p.Collect) or (isinstance(made, p.Binary) and made.inplace):
        return True
    shows = called(function, at) == "builtins.print" or method(function, at) in _shows()
    return shows or _appends(function, at) or _reduces(function, at)


def _appends(function: FunctionFacts, at: Reg) -> bool:
    """True for `kept.append(x)` of a list, which takes one thing."""
    made = function.code[at]
    alone = isinstance(made, p.Call) and len(made.args) == 1 and not made.keywords
    return alone and method(function, at) == "append"


@functools.cache
def _shows() -> frozenset[str]:
    """The methods that put their arguments into words at the call, as progress bars do."""
    return frozenset(name.rpartition(".")[2] for name, row in rows().items() if row.effect is Effect.FORMATS_ARGUMENTS)


def _about(made: p.Instruction) -> bool:
    """True for what is known of an array without its data."""
    return isinstance(made, p.Attr) and made.name in _ABOUT


def _spells(function: FunctionFacts, at: Reg) -> bool:
    """True for `"%f" % x`, `"{}".format(x)`, `float(x)`."""
    made = function.code[at]
    if isinstance(made, p.Binary):
        return made.operator == "%"
    return method(function, at) == "format" or called(function, at) in _CONVERSIONS


@once
def _uses(function: FunctionFacts, reg: Reg) -> tuple[Reg, ...]:
    """All that is done with a value and with what is computed from it, short of numbers that are reduced from it."""
    try:
        found = derived.derived(function.function, {reg}, derived.PARTS)
    except derived.TooLong:
        function.file.cut.add(function.function.qualname)
        return ()
    return tuple(sorted({at for one in found for at in function.users(one)} - {reg}))


def _reduces(function: FunctionFacts, at: Reg) -> bool:
    made = function.code[at]
    if isinstance(made, p.Attr):
        return made.name in parts.REDUCES
    return method(function, at) in parts.REDUCES or called(function, at).rpartition(".")[2] in parts.REDUCES
