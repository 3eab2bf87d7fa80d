"""The fix that puts an expression before a loop under a name of its own.

A safe one rests on these proofs (`_proven`), and is only shown without one of them:

- what is moved is a tensor (`proven.tensor`), and what it is moved to names a place and types (`proven.device`,
  `proven.dtype`): another object's `.to` may do anything, and give another result in each turn;
- its variable, and the place's, are bound before the loop and have the same value there (`_settled`, `_constant`);
- neither the loop nor what it goes over writes to its memory (`memory.py`), and nobody writes to the copy or keeps it;
- the move is made in each turn that begins: it stands straight in the loop's body;
- an error that it raises is not new: the loop turns at least once, or something was put on the same device before;
- the tensor takes no part in gradients, or no code of others that may switch their recording runs in the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint.flow.callgraph.names import find
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import MOVE
from transferlint.flow.lattice.values import DEVICE_NAME, DTYPE
from transferlint.knowledge.torch_kinds import MAKERS
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, rewriting
from ..code.chains import captured
from ..proofs import altering, memory_effects, proven
from ..proofs import memory as memory_of

_TITLE = "move it before the loop"
_NAMELESS = "value"  # what nothing gives a name: somebody has to find one


def hoist(function: FunctionFacts, reg: Reg, region: int) -> Fix | None:
    """Put the expression of `reg` before the loop `region`; None where the text does not allow it. Safe where the
    tensor and its copy are proven to be only read, only shown otherwise; a copy that is seen to be written or kept is
    copied in each turn, on the device."""
    loop = function.function.regions[region]
    if loop.node is None or loop.kind not in ("for", "while"):
        return None
    text = function.file.text
    start, _ = function.file.spans.of(loop.node)
    line_start = function.file.spans.line_start(start)
    indent = text[line_start:start]
    if indent.strip():
        return None  # `x = 1; for ...` cannot be, but `async for` and the like keep their keyword in front
    begin, end = function.span(reg)
    expression = text[begin:end]
    if "\n" in expression or "\r" in expression or rewriting.switched(function, reg, region):
        return None
    if _guarded(function, reg, region):
        return None
    moved = _moved(function, reg, line_start, indent)
    safe = _proven(function, reg, region)
    if moved is not None and not altering.altered(function, reg) and not safe:
        return Fix(_TITLE, Safety.DISPLAY, moved)  # the name is bound where the loop never turns, too
    name = _fresh_name(function, reg)
    newline = "\r\n" if "\r\n" in text else "\n"
    used = f"{name}.clone()" if altering.altered(function, reg) else name
    edits = (Edit(line_start, line_start, f"{indent}{name} = {expression}{newline}"), Edit(begin, end, used))
    return Fix(_TITLE, Safety.SAFE if safe and not name.startswith(_NAMELESS) else Safety.DISPLAY, edits)


def _guarded(function: FunctionFacts, reg: Reg, region: int) -> bool:
    """True where a condition in the loop asks for something that the expression reads: `if x is not None: x.to(d)`."""
    read = {one.slot for r in function.expression(reg) if isinstance(one := function.code[r], p.Load)}
    at = function.region(reg)
    while at not in (region, 0):
        around = function.function.regions[at]
        if around.kind in ("then", "else") and around.test is not None:
            asked = (function.code[r] for r in function.expression(around.test))
            if any(isinstance(made, p.Load) and made.slot in read for made in asked):
                return True
        at = around.parent
    return False


def _moved(function: FunctionFacts, reg: Reg, line_start: int, indent: str) -> tuple[Edit, ...] | None:
    """The whole assignment of a variable that nothing else binds, moved with its line; None where it is no such."""
    users = function.users(reg)
    store = function.code[users[0]] if len(users) == 1 else None
    if not isinstance(store, p.Store) or len(function.stores(store.slot)) != 1 or captured(function, store.slot):
        return None
    name = function.function.slot_names[store.slot]
    text = function.file.text
    begin, end = function.span(reg)
    first = max(text.rfind("\n", 0, begin), text.rfind("\r", 0, begin)) + 1
    rest = re.compile(r"[ \t]*(\r\n|\n|\r)").match(text, end)
    if text[first:begin].strip() != f"{name} =" or rest is None:
        return None
    if any(r < reg for r in function.loads(store.slot)):
        return None
    above = text[:first].rstrip(" \t\r\n")
    below = re.compile(r"(?:[ \t]*[\r\n])*([ \t]*)").match(text, rest.end())
    own = len(text[first:begin]) - len(text[first:begin].lstrip())
    if above.endswith(":") and (below is None or len(below[1]) < own):
        return None  # the suite would be empty
    line = f"{indent}{name} = {text[begin:end]}{rest[1]}"
    return Edit(line_start, line_start, line), Edit(first, rest.end(), "")


def _fresh_name(function: FunctionFacts, reg: Reg) -> str:
    """A name nobody uses in the file: `tensor_on_device` for `tensor.to(device)`."""
    base = _NAMELESS
    for at in function.expression(reg):
        made = function.code[at]
        if (
            isinstance(made, p.Attr)
            and made.name not in ("to", "cuda")
            and not isinstance(function.code[made.object], p.Outer)
        ):
            base = made.name
            break
        index = function.code[made.index] if isinstance(made, p.Subscript) else None
        if isinstance(index, p.Const) and isinstance(index.value, str) and index.value.isidentifier():
            base = index.value  # of `batch["labels"]` the key says what it is
            break
        if isinstance(made, p.Load | p.Outer | p.Attr) and function.values[at].is_a(DEVICE_NAME | DTYPE):
            continue
        if isinstance(made, p.Load):
            base = function.function.slot_names[made.slot]
            break
        if isinstance(made, p.Outer) and made.name != "torch":
            base = made.name
            break
    base = re.sub(r"\W", "_", base)
    name = f"{base}_on_device"
    taken = function.file.words
    number = 2
    while name in taken:
        name = f"{base}_on_device_{number}"
        number += 1
    return name


def _proven(function: FunctionFacts, reg: Reg, region: int) -> bool:
    """True where the loop may be proven to read the same bytes in every turn, and the moved value to be only read.

    The proof covers a plain variable that surely holds a tensor, moved by `.to` or `.cuda()` straight in the body of a
    loop that either turns for certain or comes after something that was put on the same device: an empty loop would
    otherwise begin to fail where there is no such device."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or function.region(reg) != region or made.stars:
        return False
    callee = function.code[made.function]
    if not isinstance(callee, p.Attr) or callee.name not in ("to", "cuda"):
        return False
    if not proven.tensor(function, callee.object) or not _settled(function, callee.object, region):
        return False
    targets = [*made.args, *(r for _, r in made.keywords)]
    if not all(_constant(function, r, region) for r in targets) or any(not k for k, _ in made.keywords):
        return False
    if not _turns(function, region) and not _there(function, made, callee.name, region):
        return False
    memory = memory_of.Memory(function, reg)
    foreign = memory.of(memory_effects.WORLD) in memory.written(_turned(function, region))
    if foreign and not proven.without_gradient(function, callee.object):
        return False
    everything = memory.everything()
    result = memory.of(memory_effects.RESULT)
    if result in everything or result == memory.of(memory_effects.WORLD):
        return False
    return not memory.classes(callee.object) & memory.written(_turned(function, region))


def _turned(function: FunctionFacts, region: int) -> Iterator[Reg]:
    """The registers of a loop, and those of what it goes over."""
    first = len(function.code)
    for reg in function.within(region):
        first = min(first, reg)
        yield reg
    test = function.function.regions[region].test
    if test is not None and test < first:
        yield from range(min(function.expression(test)), first)


def _settled(function: FunctionFacts, reg: Reg, region: int) -> bool:
    """True for a variable that is bound before the loop for certain, and not by other functions."""
    made = function.code[reg]
    program = function.file.program
    if isinstance(made, p.Outer):
        bound = find(program, function.function, made.name)
        if bound is None:
            return False
        owner = function.file.functions[bound[0]]
        given = any(q.slot == bound[1] for q in owner.function.parameters)
        return len(owner.stores(bound[1])) + given == 1 and not bindings.bound_elsewhere(owner, bound[1])
    if not isinstance(made, p.Load) or bindings.bound_elsewhere(function, made.slot):
        return False
    if function.function.lookup.about(p.Delete, made.slot):
        return False
    if any(function.inside(r, region) for r in function.stores(made.slot)) or _bound_by_test(function, made, region):
        return False
    if any(q.slot == made.slot for q in function.function.parameters):
        return True
    return any(_runs_before(function, store, region) for store in function.stores(made.slot))


def _bound_by_test(function: FunctionFacts, made: p.Load, region: int) -> bool:
    """True where what the loop goes over binds the variable: `for x in read(t := load())`."""
    return any(isinstance(i := function.code[r], p.Store) and i.slot == made.slot for r in _turned(function, region))


def _runs_before(function: FunctionFacts, reg: Reg, region: int) -> bool:
    """True where a register has been computed whenever the loop begins."""
    regions = function.function.regions
    around = {0}
    at = regions[region].parent
    while at > 0:
        around.add(at)
        at = regions[at].parent
    first = next(iter(function.within(region)), 0)
    return reg < first and function.region(reg) in around


def _constant(function: FunctionFacts, reg: Reg, region: int) -> bool:
    """True for a place or dtype whose evaluation has no effect and the same outcome before the loop."""
    made = function.code[reg]
    if isinstance(made, p.Const) or (proven.dtype(function, reg) and bindings.api(function, reg)):
        return True
    if not proven.device(function, reg, absent=True) and not proven.dtype(function, reg):
        return False
    if isinstance(made, p.Attr):
        return proven.tensor(function, made.object) and _settled(function, made.object, region)
    if isinstance(made, p.Call):
        named = bindings.api(function, made.function) == "torch.device"
        return named and all(isinstance(function.code[r], p.Const) for r in made.args) and not made.keywords
    return _settled(function, reg, region)


def _turns(function: FunctionFacts, region: int) -> bool:
    """True for a loop that turns at least once: `while True`, a range of a number, a display."""
    test = function.function.regions[region].test
    if test is None:
        return True
    made = function.code[test]
    if isinstance(made, p.Sequence):
        return bool(made.items) and not any(made.stars)
    if not isinstance(made, p.Call) or len(made.args) != 1 or made.stars:
        return False
    count = function.code[made.args[0]]
    ranged = bindings.api(function, made.function) == "builtins.range"
    return ranged and isinstance(count, p.Const) and isinstance(count.value, int) and count.value > 0


def _there(function: FunctionFacts, made: p.Call, method: str, region: int) -> bool:
    """True where the device is known to exist when the loop begins: a tensor names it, or it was used."""
    given = dict(made.keywords)
    device = given.get("device", made.args[0] if made.args else None)
    if device is not None:
        at = function.code[device]
        if isinstance(at, p.Attr) and at.name == "device" and proven.tensor(function, at.object):
            return True
    wanted = "" if device is None else function.text(device)
    if device is not None and not _bound_once(function, device):
        return False
    for transfer in function.transfers:
        if transfer.kind == MOVE and _runs_before(function, transfer.register, region):
            other = function.code[transfer.register]
            if isinstance(other, p.Call) and _target(function, other) == (method, wanted):
                return True
    for reg, other in enumerate(function.code):
        if isinstance(other, p.Call) and wanted and _runs_before(function, reg, region):
            where = dict(other.keywords).get("device")
            if (
                where is not None
                and bindings.api(function, other.function) in MAKERS
                and function.text(where) == wanted
            ):
                return True
    return False


def _bound_once(function: FunctionFacts, reg: Reg) -> bool:
    """True for a constant, and where a name says the same wherever it stands in the function."""
    made = function.code[reg]
    if isinstance(made, p.Outer):
        return bool(proven.kinds(function, reg)) and bindings.settled(function, reg)
    if not isinstance(made, p.Load):
        return isinstance(made, p.Const)
    given = any(q.slot == made.slot for q in function.function.parameters)
    return given + len(function.stores(made.slot)) == 1


def _target(function: FunctionFacts, made: p.Call) -> tuple[str, str]:
    callee = function.code[made.function]
    device = dict(made.keywords).get("device", made.args[0] if made.args else None)
    return (callee.name if isinstance(callee, p.Attr) else ""), "" if device is None else function.text(device)
