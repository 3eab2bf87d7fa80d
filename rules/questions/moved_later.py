"""Whether a function moves to the device, further down, what it reads: its author does not hold it to be there."""

from __future__ import annotations

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import ON_DEVICE, TENSOR, UNKNOWN, only_assumed
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot

from ..code.chains import origin

_MOST = 32  # steps from what is read to the variables that it is a part of


def moved_later(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a part of an argument that is only taken to be on the device, and that the function moves there after
    the read: `n = lengths.max().item()`, `lengths = lengths.to(device)`."""
    return transfer.subject is not None and _is_moved(function, transfer.subject, transfer)


def follows_what_moves_later(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what goes to where such an argument is: `scale = torch.ones(2).to(x.device)`, `x = x.to(device)`."""
    made = function.code[transfer.register]
    if not isinstance(made, p.Call):
        return False
    named = [reg for key, reg in made.keywords if key in ("device", "other")]
    callee = function.code[made.function]
    if not named and isinstance(callee, p.Attr) and callee.name == "to":
        named = list(made.args[:1])
    for reg in named:
        device = origin(function, reg)
        asked = function.code[device]
        of = asked.object if isinstance(asked, p.Attr) and asked.name == "device" else device
        if function.values[of].is_a(TENSOR | UNKNOWN) and _is_moved(function, of, transfer):
            return True
    return False


def _is_moved(function: FunctionFacts, reg: Reg, transfer: Transfer) -> bool:
    """True for a part of an argument that is only taken to be on the device, and is moved there after a transfer."""
    before = transfer.before if reg == transfer.subject else function.values[reg]
    if not only_assumed(before):
        return False
    moved = {slot for at, slot in _moves(function) if at > transfer.register}
    return bool(moved) and not moved.isdisjoint(_variables(function, reg))


@once
def _moves(function: FunctionFacts) -> tuple[tuple[Reg, Slot], ...]:
    """Where the function moves a variable to the device, whole or by its parts."""
    found = []
    for one in function.transfers:
        made = function.code[one.subject] if one.kind == MOVE and one.subject is not None else None
        while isinstance(made, p.Subscript):
            made = function.code[made.object]
        if isinstance(made, p.Load) and one.places & ON_DEVICE and one.inside is None:
            found.append((one.register, made.slot))
    return tuple(found)


def _variables(function: FunctionFacts, reg: Reg) -> frozenset[Slot]:
    """The variables that an expression is a part of, or computed from by methods, and what loops bind of them."""
    found: set[Slot] = set()
    pending, steps = [reg], 0
    while pending and steps < _MOST:
        steps += 1
        made = function.code[pending.pop()]
        if isinstance(made, p.Load) and made.slot not in found:
            found.add(made.slot)
            stores = (function.code[at] for at in function.stores(made.slot) if at < reg)
            pending += [one.value for one in stores if isinstance(one, p.Store) and _is_part(function, one.value)]
        elif isinstance(made, p.Subscript | p.Attr):
            pending.append(made.object)
        elif isinstance(made, p.Unpack):
            pending.append(made.value)
        elif isinstance(made, p.Next):
            pending.append(made.iterable)
        elif isinstance(made, p.Compare):
            pending += made.operands
        elif isinstance(made, p.Call):
            callee = function.code[made.function]
            loops = isinstance(callee, p.Outer) and callee.name in ("zip", "enumerate")
            pending += made.args if loops else [callee.object] if isinstance(callee, p.Attr) else []
    return frozenset(found)


def _is_part(function: FunctionFacts, reg: Reg) -> bool:
    return isinstance(function.code[reg], p.Load | p.Subscript | p.Unpack | p.Next | p.Call)
