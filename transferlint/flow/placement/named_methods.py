"""Calls of a method of an object of which nothing is known, by what the few methods of that name give back.

What is told of them is one thing alone: that a result is on the host as what they are given is. Each method of the name
has to give back a tensor where one of its parameters is; what else the object may be was not seen.
"""

from __future__ import annotations

from transferlint.flow.callgraph.methods import few
from transferlint.flow.lattice.values import (
    ANYWHERE,
    HOST,
    MODULE,
    OBJECT,
    TENSOR,
    UNKNOWN,
    Value,
    join,
)
from transferlint.flow.placement import known_calls
from transferlint.flow.placement.frame import Frame
from transferlint.syntax.program import Attr, Call, Reg


def given_back(frame: Frame, reg: Reg, made: Call, method: Attr, unknown: Value) -> Value:
    """What a call of a method gives that would be this by nothing but its arguments: of tensors that this function made
    on the host, on the host or anywhere."""
    of = frame.values[method.object]
    if unknown.places != HOST | ANYWHERE or not unknown.is_a(UNKNOWN) or any(made.stars) or "" in dict(made.keywords):
        return unknown
    if of.name or not of.is_a(UNKNOWN | OBJECT | MODULE):
        return unknown
    found: Value | None = None
    for name in few(frame.file.methods(method.name)):
        place = frame.file.located(name)
        returns = known_calls.by_name(frame, reg, made, *place) if place is not None else None
        if returns is None or not returns.is_a(TENSOR) or not returns.on_host:
            return unknown
        found = join(found, returns)
    return unknown if found is None else found

