"""What an instruction reads: the registers it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from transferlint.flow.dataflow.once import once
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Instruction, Reg

_READ: dict[type, Callable[[Any], tuple[Reg | None, ...]]] = {
    p.Store: lambda i: (i.value,),
    p.StoreOuter: lambda i: (i.value,),
    p.Attr: lambda i: (i.object,),
    p.SetAttr: lambda i: (i.object, i.value),
    p.Subscript: lambda i: (i.object, i.index),
    p.SetItem: lambda i: (i.object, i.index, i.value),
    p.Slice: lambda i: (i.lower, i.upper, i.step),
    p.Call: lambda i: (i.function, *i.args, *(r for _, r in i.keywords)),
    p.Binary: lambda i: (i.left, i.right),
    p.Unary: lambda i: (i.operand,),
    p.Compare: lambda i: i.operands,
    p.Boolean: lambda i: i.operands,
    p.Choice: lambda i: (i.test, i.body, i.orelse),
    p.Sequence: lambda i: i.items,
    p.Mapping: lambda i: (*i.keys, *i.values),
    p.Format: lambda i: i.values,
    p.Next: lambda i: (i.iterable,),
    p.Unpack: lambda i: (i.value,),
    p.Collect: lambda i: (i.key, i.value),
    p.Test: lambda i: (i.value,),
    p.Return: lambda i: (i.value,),
    p.Yield: lambda i: (i.value,),
    p.Await: lambda i: (i.value,),
    p.Raise: lambda i: (i.value,),
    p.Enter: lambda i: (i.context,),
    p.Exception_: lambda i: (i.subject,),
    p.Make: lambda i: (*i.decorators, *(r for _, r in i.defaults), *i.bases, *(r for _, r in i.keywords)),
    p.Discard: lambda i: (i.value,),
}


def operands(instruction: Instruction) -> tuple[Reg, ...]:
    """The registers an instruction takes, in order; none for constants, loads and imports."""
    read = _READ.get(type(instruction))
    return tuple(r for r in read(instruction) if r is not None) if read is not None else ()


@once
def users(function: Function) -> list[list[Reg]]:
    """By register, the registers computed directly from it."""
    found: list[list[Reg]] = [[] for _ in function.code]
    for user, instruction in enumerate(function.code):
        for operand in operands(instruction):
            found[operand].append(user)
    return found


def tree(code: list[Instruction], reg: Reg) -> Iterator[Reg]:
    """A register and all registers its expression was computed from, outermost first."""
    pending = [reg]
    while pending:
        at = pending.pop()
        yield at
        pending.extend(reversed(operands(code[at])))
