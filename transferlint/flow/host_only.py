"""What only the host can do with a value: write it away, or step a simulated environment with it."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.knowledge.libraries import ENVIRONMENTS, SAVERS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_STEPS = ("step", "reset", "act")


def host_only_use(function: FunctionFacts, reg: Reg) -> str:
    """What only the host does with the value of a register, where it goes straight there, by way of one variable at
    most: "`envs.step` takes it", "`np.save` writes it away"; "" where it does not."""
    return _use(function, reg, False)


def _use(function: FunctionFacts, reg: Reg, followed: bool) -> str:
    for user in function.users(reg):
        made = function.code[user]
        found = ""
        if isinstance(made, p.Attr):
            calls = (c for c in function.users(user) if isinstance(function.code[c], p.Call))
            found = next(filter(None, (_use(function, call, followed) for call in calls)), "")
        elif isinstance(made, p.Call) and made.function != reg:
            found = _done(function, made)
        elif isinstance(made, p.Sequence | p.Mapping | p.Subscript | p.Binary):
            found = _use(function, user, followed)
        elif isinstance(made, p.Store) and not followed:
            loads = (r for r, i in enumerate(function.code) if isinstance(i, p.Load) and i.slot == made.slot)
            found = next(filter(None, (_use(function, load, True) for load in loads)), "")
        if found:
            return found
    return ""


def _done(function: FunctionFacts, call: p.Call) -> str:
    """What a call does that only the host can; "" for any other."""
    callee = function.code[call.function]
    if isinstance(callee, p.Attr):
        if SAVERS.match(callee.name):
            return f"`{callee.name}` writes it away"
        owner = _last(function, callee.object)
        return f"`{owner}.{callee.name}` takes it" if callee.name in _STEPS and ENVIRONMENTS.search(owner) else ""
    name = _last(function, call.function) if isinstance(callee, p.Load | p.Outer) else ""
    return f"`{name}` writes it away" if SAVERS.match(name) else ""


def _last(function: FunctionFacts, reg: Reg) -> str:
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.function.slot_names[made.slot]
    if isinstance(made, p.Subscript):
        return _last(function, made.object)
    return made.name if isinstance(made, p.Attr | p.Outer) else ""
