"""What was moved to a device of which a test asks whether it is the host: `x = x.to(device)`, `if device == cpu:`."""

from __future__ import annotations

from transferlint.flow.callgraph.names import Names
from transferlint.flow.placement.proofs import STILL, before_each, reaching
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot


def named_device(names: Names, function: Function, reg: Reg) -> str:
    """The name of the device that an expression stands for: of `"cpu"`, of `torch.device("cpu")`, and of a variable of
    the module that is bound to the host alone; "" for others."""
    made = function.code[reg]
    if not isinstance(made, p.Outer):
        return _named(names, function, reg)
    owner, slot = names.binding(function, made.name) or (-1, 0)
    if owner or _bound_elsewhere(names, made.name):
        return ""
    module = names.program.functions[0]
    stores = module.lookup.about(p.Store, slot)
    store = module.code[stores[0]] if len(stores) == 1 else None
    return "cpu" if isinstance(store, p.Store) and _named(names, module, store.value) == "cpu" else ""


def _named(names: Names, function: Function, reg: Reg) -> str:
    made = function.code[reg]
    if isinstance(made, p.Call) and names.dotted(function, made.function) == "torch.device" and made.args:
        made = function.code[made.args[0]]
    return made.value if isinstance(made, p.Const) and isinstance(made.value, str) else ""


def _bound_elsewhere(names: Names, name: str) -> bool:
    """Whether a function of the file may bind a variable of the module, by `global`."""
    return any(one.lookup.named(p.StoreOuter, name) for one in names.program.functions)


def moved_to(function: Function, device: Reg, at: Reg) -> frozenset[Slot]:
    """The variables that hold, at the register `at`, what was moved to a device whichever way was taken there. The
    device is a variable or an attribute of one, and is bound nowhere in between."""
    stores = _moves(function, device) if _stays(function, device) else {}
    if not stores:
        return frozenset()
    before = before_each(function)
    found = set()
    for slot, moves in stores.items():
        reached, entry = reaching(function, before, slot, "", at)
        if reached and not entry and reached <= moves:
            found.add(slot)
    return frozenset(found)


def _stays(function: Function, device: Reg) -> bool:
    """True for what the function does not bind, or a variable that it binds once."""
    made = function.code[device]
    if isinstance(made, p.Load):
        given = any(one.slot == made.slot for one in function.parameters)
        return len(function.lookup.about(p.Store, made.slot)) <= (not given)
    if not isinstance(made, p.Attr) or function.lookup.named(p.SetAttr, made.name):
        return False
    return isinstance(function.code[made.object], p.Load) and _stays(function, made.object)


def _moves(function: Function, device: Reg) -> dict[Slot, set[Reg]]:
    """The stores of what is moved to the device, by variable."""
    found: dict[Slot, set[Reg]] = {}
    code = function.code
    for reg in function.lookup.of(p.Store):
        made = code[reg]
        value = code[made.value] if isinstance(made, p.Store) else None
        while isinstance(value, p.Call) and isinstance(method := code[value.function], p.Attr) and method.name in STILL:
            value = code[method.object]
        callee = code[value.function] if isinstance(value, p.Call) else None
        if not isinstance(made, p.Store) or not isinstance(value, p.Call) or not isinstance(callee, p.Attr):
            continue
        targets = [one for key, one in value.keywords if key == "device"] or list(value.args[:1])
        if callee.name == "to" and targets and _same(function, targets[0], device):
            found.setdefault(made.slot, set()).add(reg)
    return found


def _same(function: Function, one: Reg, other: Reg) -> bool:
    """True for two readings of the same variable, or of the same attribute of the same one."""
    left, right = function.code[one], function.code[other]
    if isinstance(left, p.Attr) and isinstance(right, p.Attr):
        return left.name == right.name and _same(function, left.object, right.object)
    return isinstance(left, p.Load) and left == right
