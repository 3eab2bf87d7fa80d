"""Lowering of `if`, `try`, `with` and `match`; see `syntax/branches.py`."""

from __future__ import annotations

import ast
from typing import Any

from transferlint.syntax.from_ast import parts, targets
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.from_ast.places import Part
from transferlint.syntax.program import Enter, Exception_, Reg, Test
from transferlint.syntax.regions import Region


def if_(b: Builder, node: ast.If) -> None:
    """`if`, each `elif` as an `if` in the "else" region."""
    outer = b.region
    ends: list[tuple[int, str]] = []
    at = node
    test, asked = _arm(b, at, "if", ends)
    following = _elif(b, at)
    while following is not None:
        b.open(b.add_region("else", test, at, b.function.regions[b.region].parent), asked)
        at = following
        test, asked = _arm(b, at, "elif", ends)
        following = _elif(b, at)
    around = b.function.regions[b.region].parent
    regions = b.function.regions
    if at.orelse:
        b.open(b.add_region("else", test, at, around), asked)
        b.run(at.orelse)
        ends.append((b.block, b.left))
    else:
        ends.append((asked, ""))
    if at is node and not at.orelse and ends[0][1]:
        b.join(ends, outer)
        b.guard = Region("else", outer, test, node, implied=True)
        return
    left = ends[-1][1]
    for _, how in ends[-2:0:-1]:
        # The "else" region of an arm ends as the arms within it do.
        left = left if how else ""
        regions[around].leaves = left
        around = regions[around].parent
    b.join(ends, outer)
    b.guard = None


def _elif(b: Builder, node: ast.If) -> ast.If | None:
    if len(node.orelse) == 1:
        other = node.orelse[0]
        if type(other) is ast.If and parts.is_elif(b.places, other):
            return other
    return None


def _arm(b: Builder, node: ast.If, kind: str, ends: list[tuple[int, str]]) -> tuple[Reg, int]:
    """The test and the suite under it; the open region is the suite's "then" afterwards."""
    around = b.region
    test = b.expressions[type(node.test)](b, node.test)
    b.emit(Test(test, kind), node.test)
    asked = b.block
    b.open(b.add_region("then", test, node, around), asked)
    b.run(node.body)
    ends.append((b.block, b.left))
    return test, asked


def with_(b: Builder, node: ast.With | ast.AsyncWith) -> None:
    """Each item is entered in what encloses it; the body stands in the region of the last."""
    b.places.closers.add(parts.end_of_items(b.places, node))
    outer = b.region
    opened: list[int] = []
    for item in node.items:
        context = b.expressions[type(item.context_expr)](b, item.context_expr)
        region = b.add_region("with", context, node, b.region)
        entered = b.emit(Enter(context, region), Part(parts.item, item))
        if item.optional_vars is not None:
            targets.assign(b, item.optional_vars, entered)
        b.open(region, b.block)
        opened.append(region)
    b.run(node.body)
    for region in opened:
        b.function.regions[region].leaves = b.left
    b.join([(b.block, b.left)], outer)


def try_(b: Builder, node: Any) -> None:
    """Suite, `else`, handlers, `finally`. The handlers follow the beginning and the end of the suite."""
    outer = b.region
    before = b.block
    region = b.add_region("try", None, node, outer)
    first = b.open(region, before)
    b.run(node.body)
    raising = [before, *range(first, len(b.function.blocks))]
    left = b.left
    if node.orelse:
        if not left:
            b.open(region, b.block)
        else:
            b.open(region)
        b.run(node.orelse)
        left = left or b.left
    ends = [(b.block, left)]
    b.function.regions[region].leaves = left
    for handler in node.handlers:
        _handler(b, handler, raising, outer)
        ends.append((b.block, b.left))
    if not node.finalbody:
        b.join(ends, outer)
        return
    _finally(b, node, (before, first), ends, outer)


def _handler(b: Builder, node: ast.ExceptHandler, raising: list[int], outer: int) -> None:
    region = b.add_region("handler", None, node, outer)
    b.open(region, *raising)
    if node.type is not None:
        b.function.regions[region].test = b.expressions[type(node.type)](b, node.type)
    if node.name is not None:
        part = Part(parts.exception_name, node)
        b.bind(node.name, b.emit(Exception_(None), part), part)
    b.run(node.body)


def _finally(b: Builder, node: Any, start: tuple[int, int], ends: list[tuple[int, str]], outer: int) -> None:
    """Lowered once, after every block of the statement; what every path had left already stays left."""
    before, first = start
    sources = [before, *range(first, len(b.function.blocks))]
    left = "" if any(not how for _, how in ends) else ends[0][1]
    b.open(b.add_region("finally", None, Part(parts.finally_, node), outer), *sources)
    b.run(node.finalbody)
    end = b.block
    b.join([(end, b.left or left)], outer)


def match(b: Builder, node: ast.Match) -> None:
    """Every case may follow the subject; a guard that fails goes on with the next case."""
    outer = b.region
    subject = b.expressions[type(node.subject)](b, node.subject)
    asked = b.block
    failed: list[int] = []
    ends: list[tuple[int, str]] = []
    covered = False
    before: ast.AST = node.subject
    for case in node.cases:
        part = Part(parts.case, (before, case))
        before = case.body[-1]
        region = b.add_region("case", subject, part, outer)
        b.open(region, asked, *failed)
        failed = []
        targets.capture(b, case.pattern, subject)
        if case.guard is not None:
            test = b.expressions[type(case.guard)](b, case.guard)
            b.emit(Test(test, "case"), case.guard)
            failed = [b.block]
            b.open(b.add_region("then", test, part, region), b.block)
        b.run(case.body)
        b.function.regions[region].leaves = b.left if case.guard is None else ""
        ends.append((b.block, b.left))
        covered = covered or (case.guard is None and targets.always_matches(case.pattern))
    if not covered:
        ends.extend((block, "") for block in (asked, *failed))
    b.join(ends, outer)
