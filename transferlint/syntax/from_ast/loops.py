"""Lowering of loops; see `syntax/loops.py`."""

from __future__ import annotations

import ast
from typing import Any

from transferlint.syntax.builder import Loop
from transferlint.syntax.from_ast import targets
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.program import Next, Test


def for_(b: Builder, node: ast.For | ast.AsyncFor) -> None:
    """Header (`Next`), body, back edge; the `else` suite where the elements ran out; then what `break` jumps to."""
    outer = b.region
    iterable = b.expressions[type(node.iter)](b, node.iter)
    region = b.add_region("for", iterable, node, outer)
    header = b.open(region, b.block)
    element = b.emit(Next(iterable, region), node.target)
    b.open(region, header)
    targets.assign(b, node.target, element)
    bound = targets.names(node.target)
    b.function.regions[region].target_slots = tuple(b.slot(name) for name in bound if name not in b.declared_outer)
    loop = _body(b, header, node.body)
    _after(b, node, outer, loop, header)


def while_(b: Builder, node: ast.While) -> None:
    """Header (the test), body, back edge; `while True` has no test and only `break` leads out of it."""
    outer = b.region
    region = b.add_region("while", None, node, outer)
    header = b.open(region, b.block)
    endless = _endless(node.test)
    asked = header
    if not endless:
        test = b.expressions[type(node.test)](b, node.test)
        b.emit(Test(test, "while"), node.test)
        b.function.regions[region].test = test
        asked = b.block
        b.open(region, asked)
    loop = _body(b, header, node.body)
    if not endless:
        _after(b, node, outer, loop, asked)
    elif loop.breaks:
        b.open(outer, *loop.breaks)
    else:
        b.region = outer
        b.left = "return"


def _endless(test: ast.expr) -> bool:
    """Whether a test is `True` or `1` as it is written."""
    if type(test) is not ast.Constant:
        return False
    return test.value is True or (type(test.value) is int and test.value == 1 and _width(test) == 1)


def _width(node: ast.expr) -> int:
    return (node.end_col_offset or 0) - node.col_offset


def _body(b: Builder, header: int, body: list[ast.stmt]) -> Loop:
    loop = Loop(header)
    b.loops.append(loop)
    b.run(body)
    b.loops.pop()
    if not b.left:
        b.link((b.block,), header)
    return loop


def _after(b: Builder, node: Any, outer: int, loop: Loop, asked: int) -> None:
    """The way out of a loop whose last test stands at the end of block `asked`."""
    b.open(outer, asked)
    if node.orelse:
        b.run(node.orelse)
        if loop.breaks:
            ends = loop.breaks if b.left else [*loop.breaks, b.block]
            b.open(outer, *ends)
    else:
        b.link(loop.breaks, b.block)
