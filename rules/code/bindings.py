"""What names stand for, by proof: which module a name is imported from, and that nothing binds it otherwise."""

from __future__ import annotations

from transferlint.flow.callgraph.names import find
from transferlint.flow.facts import FunctionFacts
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg


def api(function: FunctionFacts, reg: Reg) -> str:
    """The qualified name that an expression stands for, where nothing but imports of one meaning binds its first name,
    and no star import may hide a builtin; "" for others."""
    name = function.file.placement.names.dotted(function.function, reg)
    if not name or "#" in name:
        return ""
    root = function.code[reg]
    while isinstance(root, p.Attr):
        root = function.code[root.object]
    if isinstance(root, p.Outer):
        bound = find(function.file.program, function.function, root.name)
        if bound is None:
            return "" if function.file.placement.names.stars else name
        owner, slot = function.file.functions[bound[0]], bound[1]
    elif isinstance(root, p.Load):
        owner, slot = function, root.slot
    else:
        return ""
    return name if _imported(owner, slot) else ""


def _imported(owner: FunctionFacts, slot: int) -> bool:
    """Asked once for each variable: a module may bind a name, and use it, any number of times."""
    known, key = owner.file.known_imports, (owner.index, slot)
    if key not in known:
        known[key] = _only_imported(owner, slot)
    return known[key]


def _only_imported(owner: FunctionFacts, slot: int) -> bool:
    names = owner.file.placement.names
    meanings = set()
    for reg in owner.stores(slot):
        store = owner.code[reg]
        assert isinstance(store, p.Store)
        made = owner.code[store.value]
        if isinstance(made, p.Import):
            meanings.add(names.qualified(made))
        elif not (isinstance(made, p.Const) and made.value is None):
            return False  # `except ImportError: torch = None` raises where it is used
    given = any(q.slot == slot for q in owner.function.parameters)
    return len(meanings) == 1 and not given and not bound_elsewhere(owner, slot)


def bound_elsewhere(owner: FunctionFacts, slot: int) -> bool:
    """True where another function binds the variable, by `global` or `nonlocal`."""
    program, name = owner.file.program, owner.function.slot_names[slot]
    return name in owner.file.rebound and any(
        isinstance(made, p.StoreOuter) and made.name == name and find(program, other, name) == (owner.index, slot)
        for other in program.functions
        for made in other.code
    )


def bound(function: FunctionFacts, reg: Reg) -> bool:
    """True for a name that is bound whenever it is read: an argument, what a statement before it in a suite around it
    stores, a name of the module or a builtin that nothing deletes."""
    made = function.code[reg]
    if isinstance(made, p.Outer):
        found = find(function.file.program, function.function, made.name)
        if found is None:
            return bool(api(function, reg))
        owner = function.file.functions[found[0]]
        deleted = any(isinstance(i, p.Delete) and i.slot == found[1] for i in owner.code)
        settled_ = any(owner.region(r) == 0 for r in owner.stores(found[1]))
        return not deleted and (settled_ or any(q.slot == found[1] for q in owner.function.parameters))
    if not isinstance(made, p.Load) or any(isinstance(i, p.Delete) and i.slot == made.slot for i in function.code):
        return False
    regions = around(function, reg)
    earlier = any(r < reg and function.region(r) in regions for r in function.stores(made.slot))
    return earlier or any(q.slot == made.slot for q in function.function.parameters)


def settled(function: FunctionFacts, reg: Reg) -> bool:
    """True for a name of the file that is bound once."""
    made = function.code[reg]
    bound = find(function.file.program, function.function, made.name) if isinstance(made, p.Outer) else None
    if bound is None:
        return False
    owner = function.file.functions[bound[0]]
    given = any(q.slot == bound[1] for q in owner.function.parameters)
    return len(owner.stores(bound[1])) + given == 1 and not bound_elsewhere(owner, bound[1])


def around(function: FunctionFacts, reg: Reg) -> set[int]:
    """The regions around a register: what stands in them before it has run whenever it does."""
    found, at = {0}, function.region(reg)
    while at > 0:
        found.add(at)
        at = function.function.regions[at].parent
    return found
