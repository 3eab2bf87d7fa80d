"""What a loop goes over: a few constants, epochs, steps, or elements of something."""

from __future__ import annotations

from transferlint.flow import guards
from transferlint.flow.values import LOADER, Value
from transferlint.knowledge import roles
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Region

_FEW = 4
_REQUESTS = frozenset({"recv", "broadcast", "input", "accept", "readline"})
_STRIDED = 3  # range(start, stop, size): batches of something


def classify(function: Function, region: Region, value: Value | None) -> str:
    """What the loop of a region goes over, "few", "epoch", "step" or "element"; `value` is what its iterable holds."""
    if region.test is None:
        return "epoch" if region.kind == "while" and _awaits(function, region) else "step"
    words = [function.slot_names[s] for s in region.target_slots]
    spelled = _spelled(function, region.test)
    if region.kind == "while":
        return "epoch" if any(roles.EPOCH_WORDS.search(w) for w in spelled) else "step"
    iterable = function.code[region.test]
    loader = value is not None and bool(value.kinds & LOADER)
    if _few(function, iterable):
        return "few"
    if isinstance(iterable, p.Call) and _short_range(function, iterable):
        return "few"
    if isinstance(iterable, p.Call) and len(iterable.args) == _STRIDED and _is_range(function, iterable):
        return "step"
    if any(roles.EPOCH_WORDS.search(w) for w in words) and not loader:
        return "epoch"
    if any(roles.FEW_WORDS.match(w) for w in spelled):
        return "few"
    if loader or any(roles.LOADER_WORDS.search(w) for w in spelled):
        return "step"
    if any(roles.EPOCH_WORDS.search(w) for w in spelled):
        return "epoch"
    if region.kind == "for" and any(roles.STEP_WORDS.search(w) for w in words + spelled):
        return "step"
    return "element"


def _awaits(function: Function, region: Region) -> bool:
    """True for a loop that waits for requests: each turn is a run of its own."""
    at = next(number for number, one in enumerate(function.regions) if one is region)
    for block in function.blocks:
        if block.region != at:
            continue
        for made in function.code[block.start : block.end]:
            if isinstance(made, p.Call):
                callee = function.code[made.function]
                if isinstance(callee, p.Attr | p.Outer) and callee.name in _REQUESTS:
                    return True
    return False


def _spelled(function: Function, reg: Reg) -> list[str]:
    """The names that say what is gone over: of a call the callee and the first argument, not the options."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return _spelled(function, made.object)
    if not isinstance(made, p.Call):
        return list(guards.identifiers(function, reg))
    found = list(guards.identifiers(function, made.function))
    for argument in made.args if found[:1] in (["zip"], ["range"]) else made.args[:1]:
        found += _spelled(function, argument)
    return found


def _is_range(function: Function, iterable: p.Call) -> bool:
    callee = function.code[iterable.function]
    return isinstance(callee, p.Outer) and callee.name in ("range", "trange")


def _few(function: Function, iterable: p.Instruction) -> bool:
    """True for a display of a few items, also where they are counted: `enumerate([10, 20])`."""
    if isinstance(iterable, p.Call) and len(iterable.args) == 1:
        callee = function.code[iterable.function]
        if isinstance(callee, p.Outer) and callee.name in ("enumerate", "reversed", "sorted"):
            iterable = function.code[iterable.args[0]]
    return isinstance(iterable, p.Sequence) and len(iterable.items) <= _FEW and not any(iterable.stars)


def _short_range(function: Function, iterable: p.Call) -> bool:
    if not _is_range(function, iterable) or len(iterable.args) != 1:
        return False
    bound = function.code[iterable.args[0]]
    return isinstance(bound, p.Const) and isinstance(bound.value, int) and bound.value <= _FEW
