"""Lowering of `for` and `while`, and of the two ways out of them."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax import targets
from transferlint.syntax.builder import Builder, Loop
from transferlint.syntax.program import Next, Test
from transferlint.syntax.spelling import identifier


def for_(b: Builder, node: cst.For) -> None:
    """Header (`Next`), body, back edge; the `else` suite where the elements ran out; then what `break` jumps to."""
    outer = b.region
    iterable = b.expressions[type(node.iter)](b, node.iter)
    region = b.add_region("for", iterable, node, outer)
    header = b.open(region, b.block)
    element = b.emit(Next(iterable, region), node.target)
    b.open(region, header)
    targets.assign(b, node.target, element)
    bound = [identifier(name.value) for name in targets.names(node.target)]
    b.function.regions[region].target_slots = tuple(b.slot(name) for name in bound if name not in b.declared_outer)
    loop = _body(b, header, node.body)
    _after(b, node, outer, loop, header)


def while_(b: Builder, node: cst.While) -> None:
    """Header (the test), body, back edge; `while True` has no test and only `break` leads out of it."""
    outer = b.region
    region = b.add_region("while", None, node, outer)
    header = b.open(region, b.block)
    endless = type(node.test) is cst.Name and node.test.value == "True"
    endless = endless or (type(node.test) is cst.Integer and node.test.value == "1")
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


def _body(b: Builder, header: int, body: cst.BaseSuite) -> Loop:
    loop = Loop(header)
    b.loops.append(loop)
    b.suite(body)
    b.loops.pop()
    if not b.left:
        b.link((b.block,), header)
    return loop


def _after(b: Builder, node: Any, outer: int, loop: Loop, asked: int) -> None:
    """The way out of a loop whose last test stands at the end of block `asked`."""
    b.open(outer, asked)
    if node.orelse is not None:
        b.suite(node.orelse.body)
        if loop.breaks:
            ends = loop.breaks if b.left else [*loop.breaks, b.block]
            b.open(outer, *ends)
    else:
        b.link(loop.breaks, b.block)


def break_(b: Builder, node: cst.Break) -> None:
    if b.loops:
        b.loops[-1].breaks.append(b.block)
    b.left = "break"


def continue_(b: Builder, node: cst.Continue) -> None:
    if b.loops:
        b.link((b.block,), b.loops[-1].header)
    b.left = "continue"
