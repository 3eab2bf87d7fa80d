"""The fix of a read of what was only uploaded: the host has it still, and reads its own."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import rewriting
from ..code.chains import captured, statement
from ..proofs import altering

_TITLE = "use the data that is still on the host"


def from_host(function: FunctionFacts, transfer: Transfer, uploads: list[Reg]) -> Fix | None:
    """`row.sum().item()` to `batch.sum().item()` after `row = batch.to(device)`, and to `row_on_host.sum().item()`
    after `row = row.to(device)`; None where more than one upload went into it, or it may have been written since."""
    moves = [t for t in function.transfers if t.register in uploads and t.kind == MOVE]
    if len(uploads) != 1 or len(moves) != 1 or transfer.inside is not None:
        return None
    move = moves[0]
    users = function.users(move.register)
    stored = function.code[users[0]] if len(users) == 1 else None
    if move.subject is None or not isinstance(stored, p.Store) or captured(function, stored.slot):
        return None
    if any(users[0] < store < transfer.register for store in function.stores(stored.slot)):
        return None
    if any(_writes(function, reg, stored.slot) for reg in range(move.register, transfer.register)):
        return None
    if any(users[0] < store < transfer.register for store in function.stores(stored.slot)):
        return None  # the name has come to mean what was computed
    if altering.altered(function, move.register):
        return None
    loads = [
        r
        for r in function.expression(transfer.register)
        if isinstance(one := function.code[r], p.Load) and one.slot == stored.slot
    ]
    text = rewriting.operand(function, move.subject)
    other = [
        r for r in function.expression(transfer.register) if isinstance(function.code[r], p.Load) and r not in loads
    ]
    if not loads or not text or any(function.values[r].on_device for r in other):
        return None
    subject = set(function.expression(move.subject))
    slots = {one.slot for r in subject if isinstance(one := function.code[r], p.Load)}
    if not all(isinstance(function.code[r], p.Load | p.Subscript | p.Const | p.Attr | p.Outer) for r in subject):
        return None
    edits = []
    if stored.slot in slots:
        home = statement(function, move.register)
        if home is None or not isinstance(function.code[move.subject], p.Load) or move.before.kinds != TENSOR:
            return None  # other things (a batch of a graph library, a module) are moved themselves, and not copied
        text = rewriting.fresh(function, f"{text}_on_host")
        indent = function.file.text[home[1] : function.span(move.register)[0]]
        indent = indent[: len(indent) - len(indent.lstrip())]
        line = f"{indent}{text} = {function.text(move.subject)}{rewriting.newline(function)}"
        edits.append(Edit(home[1], home[1], line))
    elif any(move.register < store < transfer.register for slot in slots for store in function.stores(slot)):
        return None
    edits += [Edit(*function.span(r), text) for r in loads]
    copied = transfer.api.startswith((".cpu", ".to("))  # the copy stays, of what is there
    return Fix(_TITLE, Safety.DISPLAY if copied else Safety.UNSAFE, tuple(edits))


def _writes(function: FunctionFacts, reg: Reg, slot: int) -> bool:
    """True where an instruction may write into the tensor of a variable."""
    made = function.code[reg]
    target = made.object if isinstance(made, p.SetItem) else None
    if isinstance(made, p.Attr) and made.name.endswith("_"):
        target = made.object
    if isinstance(made, p.Binary) and made.inplace:
        target = made.left
    load = function.code[target] if target is not None else None
    return isinstance(load, p.Load) and load.slot == slot
