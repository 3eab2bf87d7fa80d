"""What becomes of a value: the calls upon it, the variable it is kept in, the statement it stands in."""

from __future__ import annotations

from transferlint.flow.callgraph.names import find
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import MODULE
from transferlint.knowledge.api import Api, Effect
from transferlint.knowledge.lookup import row_of
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

# What calls do that transfer something of which the source says nothing; their rows may say what helps.
_OWN = frozenset({Effect.COPIES_OPERAND, Effect.KEEP, Effect.READS_STATE})
_ENDS = (p.Store, p.SetAttr, p.SetItem, p.StoreOuter, p.Discard, p.Return)
_APART = (p.Collect, p.Choice, p.Boolean, p.Make, p.Next, p.Yield, p.Await)  # run later, again, or not at all


def called(function: FunctionFacts, reg: Reg) -> str:
    """The qualified name of what a call calls; "" for methods and for what is no call."""
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return ""
    return function.file.placement.names.dotted(function.function, made.function)


def method(function: FunctionFacts, reg: Reg) -> str:
    """The name of the method that a call calls; "" for functions and for what is no call."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or called(function, reg):
        return ""
    callee = function.code[made.function]
    return callee.name if isinstance(callee, p.Attr) else ""


def receiver(function: FunctionFacts, reg: Reg) -> Reg | None:
    """What the method of a call belongs to: `x` of `x.sum()`."""
    made = function.code[reg]
    callee = function.code[made.function] if isinstance(made, p.Call) else None
    return callee.object if isinstance(callee, p.Attr) else None


def called_row(function: FunctionFacts, reg: Reg) -> Api | None:
    """The row of what a call calls: a function, a method of an object or of a tensor, a module."""
    if name := called(function, reg):
        return row_of(name)
    owner, made = receiver(function, reg), function.code[reg]
    module = function.values[made.function] if isinstance(made, p.Call) else None
    if module is not None and module.is_a(MODULE):
        return row_of(f"{module.name}.forward")
    last = method(function, reg) if owner is not None else ""
    return row_of(f"{function.values[owner].name}.{last}") or row_of(f"Tensor.{last}") if owner is not None else None


def remedy(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps where a call of torch reads or uploads something itself; "" where the source says that it does."""
    row = called_row(function, transfer.register) if not transfer.explicit else None
    return row.instead if row is not None and row.effect in _OWN else ""


def user(function: FunctionFacts, reg: Reg) -> Reg | None:
    """What is computed from a register where that is one thing: of `x.sum()` the call, not the attribute."""
    users = function.users(reg)
    if len(users) != 1:
        return None
    made = function.code[users[0]]
    if isinstance(made, p.Attr):
        calls = function.users(users[0])
        if len(calls) == 1:
            call = function.code[calls[0]]
            if isinstance(call, p.Call) and call.function == users[0]:
                return calls[0]
    return users[0]


def alone(function: FunctionFacts, reg: Reg) -> bool:
    """True for a statement of its own, whose result nobody takes."""
    users = function.users(reg)
    return len(users) == 1 and isinstance(function.code[users[0]], p.Discard)


def captured(function: FunctionFacts, slot: int) -> bool:
    """True for a variable that functions within this one read or bind."""
    return (function.index, slot) in _captured(function.file.functions[0])


@once
def _captured(module: FunctionFacts) -> frozenset[tuple[int, int]]:
    """The variables (function, slot) that functions within the one that binds them read or bind."""
    program = module.file.program
    found: set[tuple[int, int]] = set()
    for inner in program.functions[1:]:
        outer = (inner.code[reg] for reg in inner.lookup.of(p.Outer, p.StoreOuter))
        read = {made.name for made in outer if isinstance(made, p.Outer | p.StoreOuter)}
        places = {find(program, inner, name) for name in read}
        found.update(place for place in places if place is not None and place[0] != inner.index)
    return frozenset(found)


def origin(function: FunctionFacts, reg: Reg) -> Reg:
    """What a variable was bound to, through assignments that are its only ones; the register itself for others."""
    for _ in range(8):
        made = function.code[reg]
        if not isinstance(made, p.Load) or any(q.slot == made.slot for q in function.function.parameters):
            return reg
        stores = [function.code[r] for r in function.stores(made.slot)]
        if len(stores) != 1 or not isinstance(stores[0], p.Store):
            return reg
        reg = stores[0].value
    return reg


def closes(text: str) -> bool:
    """True for a text that closes a bracket which it does not open, as that of `(x.to)(device)` behind `x` does."""
    depth = 0
    for one in text:
        depth += (one in "([{") - (one in ")]}")
        if depth < 0:
            return True
    return False


def statement(function: FunctionFacts, reg: Reg) -> tuple[Reg, int] | None:
    """The register that ends the simple statement a register is computed in, and the offset at which the statement's
    first line begins. None where that line holds more, or where the register may be left out or computed again."""
    at = reg
    first = function.span(reg)[0]
    while not isinstance(function.code[at], _ENDS):
        users = function.users(at)
        apart = at != reg and isinstance(function.code[at], _APART)
        if not users or apart or function.region(users[0]) != function.region(reg):
            return None
        at = users[0]
    if isinstance(function.code[at], p.Store | p.SetAttr | p.SetItem | p.StoreOuter | p.Discard | p.Return):
        first = min(first, function.span(at)[0]) if function.has_text(at) else first
    text = function.file.text
    begin = function.file.spans.line_start(first)
    return None if text[begin:first].strip() else (at, begin)
