"""What is one of several parts of a batch that a loader gave."""

from __future__ import annotations

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import DATA, UNKNOWN
from transferlint.knowledge.torch_names import MOVES
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import method, receiver

_ITEMS = frozenset({"items", "values"})
_LEAVING_KIND = MOVES | {"detach", "clone"}  # what it gives is of the kind of what it is called on


@once
def of_a_batch(function: FunctionFacts, reg: Reg) -> bool:
    """True for one of several parts of what a loader gives, `batch["x"]` or `x` of `for x, y in loader`, by variables
    and tuples too, and moved: what has a move there is a tensor (docs.pytorch.org torch.utils.data default_collate). A
    batch as a whole may be an object that moves itself."""
    return _is_part(function, reg, frozenset())


def _is_part(function: FunctionFacts, reg: Reg, asked: frozenset[int]) -> bool:
    """The same; a variable that is `asked` about is one where all that is stored in it is: `x = x.to(device)`."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return _loaded(function, reg) and _loaded(function, made.object)
    if isinstance(made, p.Unpack):
        inner = function.code[made.value]
        if isinstance(inner, p.Sequence) and not any(inner.stars):
            return made.index < len(inner.items) and _is_part(function, inner.items[made.index], asked)
        return _loaded(function, made.value) or _is_part(function, made.value, asked)
    if isinstance(made, p.Next):
        inner = function.code[made.iterable]
        if isinstance(inner, p.Sequence):
            return not any(inner.stars) and all(_is_part(function, item, asked) for item in inner.items)
        over = receiver(function, made.iterable) if method(function, made.iterable) in _ITEMS else made.iterable
        return over is not None and _loaded(function, over)
    if method(function, reg) in _LEAVING_KIND:
        moved = receiver(function, reg)
        return moved is not None and _is_part(function, moved, asked)
    if not isinstance(made, p.Load) or not function.values[reg].is_a(UNKNOWN):
        return False
    if made.slot in asked:
        return True
    stores = [one for at in function.stores(made.slot) if isinstance(one := function.code[at], p.Store)]
    return bool(stores) and all(_is_part(function, store.value, asked | {made.slot}) for store in stores)


def _loaded(function: FunctionFacts, reg: Reg) -> bool:
    """True for what a loader gave, or a part of it, of a kind that is not known."""
    value = function.values[reg]
    return value.is_a(UNKNOWN) and bool(value.flags & DATA)
