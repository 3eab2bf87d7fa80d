"""The fix of a branch whose body can run always: it does nothing for an empty mask."""

from __future__ import annotations

import ast
import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import BOOLEAN
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import rewriting, statement_text

_COUNTS = frozenset({"any", "sum", "count_nonzero"})
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)


def always(function: FunctionFacts, read: Reg, start: int, text: str, tree: ast.If) -> Fix | None:
    """`if mask.any(): ...` without the branch, and `if not mask.any(): return ...` without the way out, where the rest
    works with the mask."""
    if tree.orelse:
        return None
    test, negated = tree.test, False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, negated = test.operand, True
    others: list[ast.expr] = []
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and not negated:
        asked = [one for one in test.values if _mask(one)[0]]
        others = [one for one in test.values if one not in asked]
        if len(asked) != 1:
            return None
        test = asked[0]
    mask, empty = _mask(test)
    if not mask or not _is_mask(function, read, mask, test):
        return None
    if empty != negated and not others:
        return _gone_on(function, read, mask, start, text, tree)
    if empty or negated or not _works_with(tree.body, mask):
        return None
    title = "remove the branch, if the rest does nothing for an empty mask"
    if others:
        words = [ast.get_source_segment(text, one) for one in others]
        first, last = tree.test, tree.test.end_col_offset
        begin = start + statement_text.offset(text, first.lineno, first.col_offset)
        end = start + statement_text.offset(text, first.end_lineno or 1, last or 0)
        if not all(words) or _commented(function, begin, end):
            return None
        return Fix(title, Safety.DISPLAY, (Edit(begin, end, " and ".join(str(word) for word in words)),))
    body = dedented(function, start, text, tree)
    return Fix(title, Safety.DISPLAY, (Edit(start, start + len(text), body),)) if body else None


def _mask(test: ast.expr) -> tuple[str, bool]:
    """The text of the mask that a test asks for any truth, and whether the test is for none; "" for other tests."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        number = test.comparators[0]
        zero = isinstance(number, ast.Constant) and number.value == 0
        if zero and isinstance(test.ops[0], ast.Gt | ast.NotEq | ast.Eq):
            return _mask(test.left)[0], isinstance(test.ops[0], ast.Eq)
        return "", False
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute) or test.func.attr not in _COUNTS:
        return "", False
    whole = test.func.value
    if isinstance(whole, ast.Name) and whole.id in ("torch", "th") and len(test.args) == 1:
        whole = test.args[0]
    elif test.args:
        return "", False
    named = isinstance(whole, ast.Name | ast.Attribute) and not test.keywords
    return (ast.unparse(whole) if named else "", False)


def _is_mask(function: FunctionFacts, read: Reg, mask: str, test: ast.expr) -> bool:
    """True unless it is a sum that is asked for, of what is not known to be booleans."""
    if not any(isinstance(node, ast.Attribute) and node.attr == "sum" for node in ast.walk(test)):
        return True
    parts = [r for r in function.expression(read) if function.has_text(r) and function.text(r) == mask]
    return any(function.values[r].flags & BOOLEAN for r in parts)


def _gone_on(function: FunctionFacts, read: Reg, mask: str, start: int, text: str, tree: ast.If) -> Fix | None:
    end = start + len(text)
    leaves = len(tree.body) == 1 and isinstance(tree.body[0], ast.Return)
    after = [r for r in range(read + 1, len(function.code)) if function.has_text(r) and function.span(r)[0] >= end]
    used = any(isinstance(function.code[r], p.Load | p.Attr) and function.text(r) == mask for r in after)
    if not leaves or not used or _commented(function, start, end):
        return None
    title = "remove the early exit, if the rest does nothing for an empty mask"
    return Fix(title, Safety.DISPLAY, (rewriting.cut(function, start, end),))


def _works_with(body: list[ast.stmt], mask: str) -> bool:
    """True for statements that do not leave, and of which the first assignment reads the mask."""
    nodes = [node for one in body for node in ast.walk(one)]
    if any(isinstance(node, _LEAVES) for node in nodes):
        return False
    names = {ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}
    return mask in names and any(isinstance(node, ast.Assign | ast.AugAssign) for node in nodes)


def dedented(function: FunctionFacts, start: int, text: str, tree: ast.If) -> str:
    """The suite of a branch as it stands without the branch, its first line without blanks; "" where a comment would be
    lost, or the text of a string change."""
    lines = text.splitlines(keepends=True)
    first, last = tree.body[0], tree.body[-1]
    head = tree.test.end_lineno or 1
    while head < first.lineno and not re.search(r":\s*$", lines[head - 1]):
        head += 1
    if head >= first.lineno or any(_spans_lines(node) for node in ast.walk(tree)):
        return ""
    end = statement_text.offset(text, last.end_lineno or 1, last.end_col_offset or 0)
    begin = sum(map(len, lines[:head]))
    if _commented(function, start, start + begin) or _commented(function, start + end, start + len(text)):
        return ""
    outer = _indent(function, start)
    inner = re.match(r"[ \t]*", lines[first.lineno - 1])
    assert inner is not None
    made = []
    for line in text[begin:end].splitlines(keepends=True):
        if line.strip() and not line.startswith(inner[0]):
            return ""
        made.append(outer + line[len(inner[0]) :] if line.strip() else line)
    return "".join(made)[len(outer) :]


def _spans_lines(node: ast.AST) -> bool:
    plain = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return (plain or isinstance(node, ast.JoinedStr)) and getattr(node, "lineno", 0) != getattr(node, "end_lineno", 0)


def _indent(function: FunctionFacts, start: int) -> str:
    text = function.file.text
    return text[function.file.spans.line_start(start) : start]


def _commented(function: FunctionFacts, start: int, end: int) -> bool:
    return function.file.spans.commented(start, end)
