"""Lists that say something of each sample of a batch: they are made on the host, and have to cross."""

from __future__ import annotations

from transferlint.flow.callgraph.roles import serving
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import FRESH, TENSOR
from transferlint.knowledge import roles
from transferlint.model import Level
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..questions.detection import once_a_request
from . import making


def crosses_once(function: FunctionFacts, made: Reg, moved: Reg) -> bool:
    """True where a tensor is made (`made`) of a list that is worked out for each sample, `torch.tensor([len(t) for t in
    texts])`, and brought to the device (`moved`) once a batch; and for what a function that serves a request brings
    there, once a call, where nothing shows that it runs repeatedly."""
    warmth = function.warmth(moved)
    if function.loops(moved) or warmth.level > Level.PER_STEP:
        return False
    if made == moved and once_a_request(function, moved):
        return True
    if warmth.unsure and (roles.SERVING.search(function.function.name) or serving(function.file.program.path)):
        return True
    call = function.code[made]
    if not isinstance(call, p.Call) or len(call.args) != 1:
        return False
    if _of_filled(function, call.args[0]):
        return False
    return _worked_out(function, call.args[0], made)


def _of_filled(function: FunctionFacts, reg: Reg) -> bool:
    """True for a list of tensors that torch fills with nothing of the host's: `[torch.ones(n) for n in sizes]`."""
    item = function.values[reg].item
    if item is None or not item.is_a(TENSOR) or not item.flags & FRESH or not item.why:
        return False
    return all(one >= 0 and making.creates(function, one) for one in item.why)


def _worked_out(function: FunctionFacts, reg: Reg, tensor: Reg) -> bool:
    """True for a comprehension whose elements differ, and for a variable that holds one, or is filled step by step,
    before the `tensor` is made of it."""
    made = function.code[reg]
    if isinstance(made, p.Collect):
        bound = function.function.regions[made.region].target_slots
        elements = (function.code[r] for r in function.expression(made.value))
        return any(isinstance(one, p.Load) and one.slot in bound for one in elements)
    if not isinstance(made, p.Load):
        return False
    before = [function.code[r] for r in function.stores(made.slot) if r < tensor]
    stored = [one.value for one in before if isinstance(one, p.Store)]
    if len(stored) != len(before):
        return False
    grown = [r for r in stored if (isinstance(i := function.code[r], p.Binary) and i.inplace)]
    stored = [r for r in stored if r not in grown]
    return bool(stored) and all(_filled(function, r) or _collected(function, r, tensor) for r in stored)


def _collected(function: FunctionFacts, reg: Reg, tensor: Reg) -> bool:
    return isinstance(function.code[reg], p.Collect) and _worked_out(function, reg, tensor)


def _filled(function: FunctionFacts, reg: Reg) -> bool:
    """True for an empty list, also of several: `a, b = [], []`."""
    made = function.code[reg]
    if isinstance(made, p.Unpack):
        several = function.code[made.value]
        if not isinstance(several, p.Sequence) or any(several.stars) or made.star >= 0:
            return False
        return made.index < len(several.items) and _filled(function, several.items[made.index])
    return isinstance(made, p.Sequence) and made.kind == "list" and not made.items
