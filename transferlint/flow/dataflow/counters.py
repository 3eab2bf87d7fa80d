"""Tests that hold in one turn: what is counted up in every one equals a given value."""

from __future__ import annotations

from transferlint.flow.dataflow.kept import is_self, own
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Program, Reg


def counted(program: Program) -> frozenset[str]:
    """The attributes of `self` that a file counts up (`self.x += 1`) or a loop binds (`for self.x in range(n)`)."""
    found = set()
    for function in program.functions:
        for reg in function.lookup.of(p.SetAttr):
            made = function.code[reg]
            if not isinstance(made, p.SetAttr) or not is_self(function, made.object):
                continue
            value = function.code[made.value]
            if isinstance(value, p.Next) or _one_more(function, value, made.name):
                found.add(made.name)
    return frozenset(found)


def _one_more(function: Function, value: p.Instruction, name: str) -> bool:
    if not isinstance(value, p.Binary) or value.operator != "+":
        return False
    added = function.code[value.right]
    return name in own(function, value.left) and isinstance(added, p.Const) and isinstance(added.value, int)


def in_one_turn(function: Function, test: Reg, when: bool, counters: frozenset[str]) -> bool:
    """True where a test, being `when`, asks that a counter has a value which is none itself."""
    made = function.code[test]
    if isinstance(made, p.Unary) and made.operator == "not":
        return in_one_turn(function, made.operand, not when, counters)
    if isinstance(made, p.Boolean):
        parts = [in_one_turn(function, part, when, counters) for part in made.operands]
        return any(parts) if (made.operator == "and") == when else all(parts)
    if not isinstance(made, p.Compare) or made.operators != (("==",) if when else ("!=",)):
        return False
    return sum(bool(own(function, side) & counters) for side in made.operands) == 1
