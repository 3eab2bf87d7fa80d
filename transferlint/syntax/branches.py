"""Lowering of `if`, `try`, `with` and `match`."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax import patterns, targets
from transferlint.syntax.builder import Builder
from transferlint.syntax.program import Enter, Exception_, Reg, Test
from transferlint.syntax.regions import Region


def if_(b: Builder, node: cst.If) -> None:
    """`if`, each `elif` as an `if` in the "else" region, walked in a loop so that long chains do no harm."""
    outer = b.region
    ends: list[tuple[int, str]] = []
    kind = "if"
    at: Any = node
    test, asked = _arm(b, at, kind, ends)
    while type(at.orelse) is cst.If:
        b.open(b.add_region("else", test, at, b.function.regions[b.region].parent), asked)
        at = at.orelse
        test, asked = _arm(b, at, "elif", ends)
    around = b.function.regions[b.region].parent
    regions = b.function.regions
    if at.orelse is not None:
        b.open(b.add_region("else", test, at, around), asked)
        b.suite(at.orelse.body)
        ends.append((b.block, b.left))
    else:
        ends.append((asked, ""))
    if at is node and at.orelse is None and ends[0][1]:
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


def _arm(b: Builder, node: cst.If, kind: str, ends: list[tuple[int, str]]) -> tuple[Reg, int]:
    """The test and the suite under it; the open region is the suite's "then" afterwards."""
    around = b.region
    test = b.expressions[type(node.test)](b, node.test)
    b.emit(Test(test, kind), node.test)
    asked = b.block
    b.open(b.add_region("then", test, node, around), asked)
    b.suite(node.body)
    ends.append((b.block, b.left))
    return test, asked


def with_(b: Builder, node: cst.With) -> None:
    """Each item is entered in what encloses it; the body stands in the region of the last."""
    outer = b.region
    opened: list[int] = []
    for item in node.items:
        context = b.expressions[type(item.item)](b, item.item)
        region = b.add_region("with", context, node, b.region)
        entered = b.emit(Enter(context, region), item)
        if item.asname is not None:
            targets.assign(b, item.asname.name, entered)
        b.open(region, b.block)
        opened.append(region)
    b.suite(node.body)
    for region in opened:
        b.function.regions[region].leaves = b.left
    b.join([(b.block, b.left)], outer)


def try_(b: Builder, node: Any) -> None:
    """Suite, `else`, handlers, `finally`. Any block of the suite may go on in any handler: an exception can come
    from anywhere, so the handlers follow its beginning and its end."""
    outer = b.region
    before = b.block
    region = b.add_region("try", None, node, outer)
    first = b.open(region, before)
    b.suite(node.body)
    raising = [before, *range(first, len(b.function.blocks))]
    left = b.left
    if node.orelse is not None:
        if not left:
            b.open(region, b.block)
        else:
            b.open(region)
        b.suite(node.orelse.body)
        left = left or b.left
    ends = [(b.block, left)]
    b.function.regions[region].leaves = left
    for handler in node.handlers:
        _handler(b, handler, raising, outer)
        ends.append((b.block, b.left))
    if node.finalbody is None:
        b.join(ends, outer)
        return
    _finally(b, node.finalbody, (before, first), ends, outer)


def _handler(b: Builder, node: Any, raising: list[int], outer: int) -> None:
    region = b.add_region("handler", None, node, outer)
    b.open(region, *raising)
    if node.type is not None:
        b.function.regions[region].test = b.expressions[type(node.type)](b, node.type)
    if node.name is not None:
        targets.assign(b, node.name.name, b.emit(Exception_(None), node.name.name))
    b.suite(node.body)


def _finally(b: Builder, node: cst.Finally, start: tuple[int, int], ends: list[tuple[int, str]], outer: int) -> None:
    """Lowered once, after every block of the statement; what every path had left already stays left."""
    before, first = start
    sources = [before, *range(first, len(b.function.blocks))]
    left = "" if any(not how for _, how in ends) else ends[0][1]
    b.open(b.add_region("finally", None, node, outer), *sources)
    b.suite(node.body)
    end = b.block
    b.join([(end, b.left or left)], outer)


def match(b: Builder, node: cst.Match) -> None:
    """Every case may follow the subject; a guard that fails goes on with the next case."""
    outer = b.region
    subject = b.expressions[type(node.subject)](b, node.subject)
    asked = b.block
    failed: list[int] = []
    ends: list[tuple[int, str]] = []
    covered = False
    for case in node.cases:
        region = b.add_region("case", subject, case, outer)
        b.open(region, asked, *failed)
        failed = []
        patterns.capture(b, case.pattern, subject)
        if case.guard is not None:
            test = b.expressions[type(case.guard)](b, case.guard)
            b.emit(Test(test, "case"), case.guard)
            failed = [b.block]
            b.open(b.add_region("then", test, case, region), b.block)
        b.suite(case.body)
        b.function.regions[region].leaves = b.left if case.guard is None else ""
        ends.append((b.block, b.left))
        covered = covered or (case.guard is None and patterns.always_matches(case.pattern))
    if not covered:
        ends.extend((block, "") for block in (asked, *failed))
    b.join(ends, outer)
