"""What a function shows to be on the host: `x.numpy()` raises for a tensor that is on the device, and `x.astype(...)`
for any, as numpy's arrays have that.

What reaches such a call, without `.cpu()`, is on the host from where it is bound on. Calls behind a test of the device
prove nothing, and neither do variables that are brought to the host elsewhere: that code is for both. Nor does
`.astype` behind any test of the variable.
"""

from __future__ import annotations

import re

from transferlint import late
from transferlint.flow.dataflow.guards import identifiers
from transferlint.flow.dataflow.operands import tree
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

# What gives back a tensor that is where its receiver is.
STILL = frozenset(
    "detach float double long int bool squeeze unsqueeze flatten reshape view mean sum clone contiguous permute"
    " transpose t abs".split()
)
_DEVICE_WORDS = late.pattern(r"(^|_)(cuda|cpu|gpus?|device|host|npu|xpu|mps|numpy)(_|$)", re.IGNORECASE)

_ARMS = ("then", "else", "case")
_MOST = 64  # calls that are looked at

# What is shown of a variable, by where it is bound: its own path "", and those of its items, "['a']".
Proofs = dict[Reg, frozenset[str]]


def proofs(
    function: Function, arrays: list[Reg], plainly: bool = False
) -> tuple[Proofs, dict[Slot, frozenset[str]]]:
    """What calls of `.numpy()`, or of `.astype` (`arrays`, their registers), show: by the register of the `Store` that
    binds a variable, and by the slot of a parameter. `plainly`: only those that no test of the variable guards."""
    stored: Proofs = {}
    given: dict[Slot, frozenset[str]] = {}
    if not arrays:
        return stored, given
    brought, before = _brought(function), before_each(function)
    parameters = {one.slot for one in function.parameters}
    for reg in arrays[:_MOST]:
        found = _subject(function, function.code[reg])
        if found is None or found[0] in brought or _asked(function, reg):
            continue
        slot, path = found
        if plainly and _guarded(function, reg, slot):
            continue
        stores, entry = reaching(function, before, slot, path, reg)
        for store in stores:
            stored[store] = stored.get(store, frozenset()) | {path}
        if entry and slot in parameters:
            given[slot] = given.get(slot, frozenset()) | {path}
    return stored, given


def _subject(function: Function, call: p.Instruction) -> tuple[Slot, str] | None:
    """The variable, and the path from it, of what a method is called on; None for other expressions."""
    code, path, unsure = function.code, "", False
    callee = code[call.function] if isinstance(call, p.Call) else None
    made = code[callee.object] if isinstance(callee, p.Attr) else None
    while made is not None and not isinstance(made, p.Load):
        method = code[made.function] if isinstance(made, p.Call) else None
        if isinstance(method, p.Attr) and method.name in STILL and not path:
            made = code[method.object]
        elif isinstance(made, p.Attr) and made.name == "data" and not path:
            made = code[made.object]
        elif isinstance(made, p.Subscript) and isinstance(key := code[made.index], p.Const):
            if not isinstance(key.value, str | int):
                return None
            path = f"[{key.value!r}]{path}"
            made = code[made.object]
        elif isinstance(made, p.Subscript) and isinstance(code[made.index], p.Slice) and not path:
            made = code[made.object]  # a slice of a tensor: a list has no such method
        elif isinstance(made, p.Subscript) and not path:
            unsure = not _of_dimensions(function, made.index)  # the key of a mapping, or a mask of rows
            made = code[made.object]
        else:
            return None
    return (made.slot, path) if made is not None and not unsure else None


def _of_dimensions(function: Function, index: Reg) -> bool:
    """True for an index of several dimensions, which tensors alone take: `x[:, j]`, and so does what it is taken of."""
    made = function.code[index]
    parts = made.items if isinstance(made, p.Sequence) and made.kind == "tuple" else ()
    return any(isinstance(function.code[one], p.Slice) for one in parts)


def _brought(function: Function) -> frozenset[Slot]:
    """The variables that are brought to the host, or asked whether they are on the device, somewhere."""
    code = function.code
    found = set()
    for made in code:
        if isinstance(made, p.Attr) and made.name in ("cpu", "is_cuda", "to_local"):
            base = code[made.object]
            while isinstance(base, p.Subscript | p.Attr):
                base = code[base.object]
            if isinstance(base, p.Load):
                found.add(base.slot)
    return frozenset(found)


def _asked(function: Function, reg: Reg) -> bool:
    """True behind a test of the device, and in what is tried or done when that fails."""
    block = next(b for b in function.blocks if b.start <= reg < b.end)
    for region in function.ancestors(block.region):
        words = identifiers(function, region.test) if region.kind in _ARMS and region.test is not None else ()
        if region.kind == "handler" or any(_DEVICE_WORDS.search(word) for word in words):
            return True
    return False


def _guarded(function: Function, reg: Reg, slot: Slot) -> bool:
    """True behind a test that reads a variable, and in what is done when something fails."""
    for region in function.ancestors(function.lookup.regions[reg]):
        if region.kind == "handler":
            return True
        read = tree(function.code, region.test) if region.kind in _ARMS and region.test is not None else ()
        if any(isinstance(made := function.code[one], p.Load) and made.slot == slot for one in read):
            return True
    return False


def before_each(function: Function) -> dict[int, list[int]]:
    """The blocks that come before each block."""
    found: dict[int, list[int]] = {}
    for number, block in enumerate(function.blocks):
        for follower in block.successors:
            found.setdefault(follower, []).append(number)
    return found


def reaching(
    function: Function, before: dict[int, list[int]], slot: Slot, path: str, reg: Reg
) -> tuple[set[Reg], bool]:
    """The stores of a variable that reach a register, but for those after which the path is bound anew, and whether
    what it was on entry does."""
    at = next(number for number, block in enumerate(function.blocks) if block.start <= reg < block.end)
    found: set[Reg] = set()
    entry = False
    seen: set[int] = set()
    pending = [(at, reg)]
    while pending:
        number, end = pending.pop()
        for one in range(end - 1, function.blocks[number].start - 1, -1):
            made = function.code[one]
            if isinstance(made, p.Store) and made.slot == slot:
                found.add(one)
                break
            if (isinstance(made, p.Delete) and made.slot == slot) or (path and _binds(function, made, slot, path)):
                break
        else:
            entry = entry or number == 0
            for earlier in before.get(number, ()):
                if earlier not in seen:
                    seen.add(earlier)
                    pending.append((earlier, function.blocks[earlier].end))
    return found, entry


def _binds(function: Function, made: p.Instruction, slot: Slot, path: str) -> bool:
    """True where an item is bound that is the path, or what the path starts with."""
    if not isinstance(made, p.SetItem):
        return False
    base, key = function.code[made.object], function.code[made.index]
    if not isinstance(base, p.Load) or base.slot != slot:
        return False
    return not isinstance(key, p.Const) or path.startswith(f"[{key.value!r}]")
