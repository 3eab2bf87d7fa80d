"""Tests that look like questions to a tensor and are none: whether something was given, and what another test has kept
tensors away from."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import ON_DEVICE, SCALAR, TENSOR
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

# What holds more than one number by everybody's convention, but not `has_mask`.
_MANY = late.pattern(
    r"^(?!_*(has|is|are|any|all|no|not|use|uses|need|needs|should|with|want|empty)_)(\w+_)?"
    r"(bias|weights?|masks?|states?|hiddens?|embs?|embeds?|embeddings?|residuals?|logits|features?)(_\d+)?$"
)
_Condition = tuple[str, bool]


def asks_whether_given(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the truth of a plain name that stands for more than one number: of such a tensor it raises, so that what
    gets there is None or a list."""
    if transfer.subject is None or isinstance(function.code[transfer.register], p.Call | p.Compare):
        return False
    made = function.code[transfer.subject]
    if isinstance(made, p.Load):
        if any(made.slot in region.target_slots for region in function.function.regions):
            return False  # an element of what bears that name
        name = function.function.slot_names[made.slot]
    elif isinstance(made, p.Attr | p.Outer):
        name = made.name
    else:
        return False
    return bool(_MANY.match(name)) and not transfer.before.flags & SCALAR


def switched_apart(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where a variable is a tensor only on one side of a switch, and the test stands on the other: `if
    self.training: n = n.to(d)` and then `not self.training and i >= n`."""
    if transfer.subject is None:
        return False
    known = set(_conditions(function, transfer.register))
    loads = [one.slot for r in function.expression(transfer.subject) if isinstance(one := function.code[r], p.Load)]
    if not known or not loads:
        return False
    tensors = [
        at
        for slot in set(loads)
        for at in function.stores(slot)
        if isinstance(one := function.code[at], p.Store)
        and function.values[one.value].kinds & TENSOR
        and function.values[one.value].places & ON_DEVICE
    ]
    return bool(tensors) and all(
        any((text, not side) in known for text, side in _conditions(function, at)) for at in tensors
    )


def _conditions(function: FunctionFacts, reg: Reg) -> Iterator[_Condition]:
    """What holds of attributes of `self` where a register is computed, by the tests around it and before it in the same
    `and`: the text of each, and on which side."""
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Boolean) and made.operator == "and" and reg in made.operands:
            for one in made.operands[: made.operands.index(reg)]:
                yield from _switch(function, one, True)
    for region in function.function.ancestors(function.region(reg)):
        if region.kind in ("then", "else") and region.test is not None:
            yield from _switch(function, region.test, region.kind == "then")


def _switch(function: FunctionFacts, reg: Reg, side: bool) -> Iterator[_Condition]:
    """The condition that a test of an attribute of `self` sets, where the function does not set the attribute."""
    made = function.code[reg]
    while isinstance(made, p.Unary) and made.operator == "not":
        reg, side = made.operand, not side
        made = function.code[reg]
    if isinstance(made, p.Compare) and made.operators in (("is",), ("==",)):
        other = function.code[made.operands[1]]
        if isinstance(other, p.Const) and isinstance(other.value, bool):
            reg, side = made.operands[0], side is other.value
            made = function.code[reg]
    if not isinstance(made, p.Attr) or not isinstance(owner := function.code[made.object], p.Load):
        return
    if function.function.slot_names[owner.slot] != "self":
        return
    if not function.attributes(made.name, p.SetAttr):
        yield made.name, side
