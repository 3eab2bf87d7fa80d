"""Which classes can have no attributes but those that the file shows."""

from __future__ import annotations

import re

from transferlint.flow.callgraph.names import split
from transferlint.flow.facts import FunctionFacts
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg


def own(function: FunctionFacts, reg: Reg) -> bool:
    """True for the first argument of a method."""
    made, method = function.code[reg], function.function
    first = method.parameters[0] if method.parameters else None
    return (
        isinstance(made, p.Load)
        and first is not None
        and made.slot == first.slot
        and not function.stores(made.slot)
        and not method.decorators
        and method.parent >= 0
        and function.file.program.functions[method.parent].kind == "class"
    )


def closed(function: FunctionFacts, index: int, seen: set[int]) -> bool:
    """True for a class of the file above which there are only classes of the file, `object` and torch's modules, and
    that takes no attributes from elsewhere."""
    if index in seen:
        return True
    seen.add(index)
    program, names = function.file.program, function.file.placement.names
    if re.search(r"\b(setattr|__dict__|vars)\b", function.file.text):
        return False  # which attributes are set then, nobody can see
    makes = function.file.makes.get(index, [])
    if len(makes) != 1 or {"__getattr__", "__getattribute__"} & program.functions[index].slots.keys():
        return False
    outer, made = makes[0]
    for base in made.bases:
        name = names.resolved(names.dotted(outer, base))
        place = split(name)
        inside = place is not None and place[0] == program.path and closed(function, place[1], seen)
        if not inside and name not in ("torch.nn.Module", "torch.nn.modules.module.Module", "builtins.object"):
            return False
    return not made.keywords and not made.decorators


def of_parameters(function: FunctionFacts, made: p.Call) -> bool:
    """True for `next(self.parameters())` of a module."""
    if len(made.args) != 1 or made.keywords or any(made.stars):
        return False
    inner = function.code[made.args[0]]
    callee = function.code[inner.function] if isinstance(inner, p.Call) else None
    if not isinstance(callee, p.Attr) or callee.name not in ("parameters", "buffers"):
        return False
    info = function.file.placement.class_of(function.function) if own(function, callee.object) else None
    return info is not None and info.module and callee.name not in info.methods
