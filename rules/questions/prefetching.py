"""Data sets of TensorFlow that training takes batches from: whether they prepare them ahead."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.knowledge.api import Effect
from transferlint.knowledge.frameworks import known, row_of
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method, receiver

_DEPTH = 12
_WRAPPERS = ("builtins.enumerate", "builtins.iter", "tqdm.")
# Methods of `tf.data.Dataset` that give a data set made of it, other than `prefetch` (tensorflow.org tf.data.Dataset).
_STEPS = frozenset(
    "apply batch cache concatenate enumerate filter flat_map interleave map padded_batch ragged_batch rebatch repeat"
    " shard shuffle skip snapshot take unbatch window with_options".split()
)


def unprepared(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Reg]]:
    """Where training takes batches of a data set that is made in the same function and has no `prefetch`: the loop over
    it, or the data set that `fit` is given."""
    for function in facts.functions:
        if function.role.traced or function.role.cold:
            continue
        for reg in function.of(p.Call):
            made = function.code[reg]
            data = made.args[0] if isinstance(made, p.Call) and made.args else None
            fits = data is not None and method(function, reg) == "fit"
            if data is not None and fits and _prefetches(function, data, _DEPTH) is False:
                yield function, data
        for region in function.function.regions:
            if region.kind == "for" and region.test is not None and function.attributes("apply_gradients"):
                over = _unwrapped(function, region.test)
                if _prefetches(function, over, _DEPTH) is False and function.has_text(over):
                    yield function, over


def _unwrapped(function: FunctionFacts, reg: Reg) -> Reg:
    made = function.code[reg]
    while isinstance(made, p.Call) and made.args and called(function, reg).startswith(_WRAPPERS):
        reg = made.args[0]
        made = function.code[reg]
    return reg


def _prefetches(function: FunctionFacts, reg: Reg, depth: int) -> bool | None:
    """Whether some step of how a data set is made is `prefetch`; None where it may be made in another way."""
    made = function.code[reg]
    if depth == 0:
        return None
    if isinstance(made, p.Load):
        return _stored(function, made.slot, depth)
    if not isinstance(made, p.Call):
        return None
    name = method(function, reg)
    base = receiver(function, reg)
    if not name or base is None:
        return False if _makes(called(function, reg)) else None
    if name == "prefetch":
        return True
    return _prefetches(function, base, depth - 1) if name in _STEPS else None


def _stored(function: FunctionFacts, slot: int, depth: int) -> bool | None:
    """The same of a variable: of all that it is bound to, where none of it is an argument."""
    if any(one.slot == slot for one in function.function.parameters):
        return None
    found: list[bool | None] = []
    for at in function.stores(slot):
        made = function.code[at]
        value = made.value if isinstance(made, p.Store) else None
        if value is None:
            return None
        if not _of_itself(function, value, slot):
            found.append(_prefetches(function, value, depth - 1))
        elif any(method(function, r) == "prefetch" for r in function.expression(value)):
            return True
    return None if not found or None in found else all(found)


def _of_itself(function: FunctionFacts, value: Reg, slot: int) -> bool:
    """True for `data.batch(32)`, of the variable itself."""
    at = value
    while (base := receiver(function, at)) is not None and method(function, at) in (*_STEPS, "prefetch"):
        at = base
    made = function.code[at]
    return at != value and isinstance(made, p.Load) and made.slot == slot


def _makes(name: str) -> bool:
    """True for what makes a data set of TensorFlow, by its name."""
    found = known(name) if name else None
    row = row_of(*found) if found is not None else None
    return row is not None and row.effect is Effect.LOADER and found is not None and found[1].startswith("tensorflow.")
