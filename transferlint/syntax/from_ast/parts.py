"""Where things stand that are no nodes of `ast`: names, clauses, items, read off the text around the nodes."""

from __future__ import annotations

import ast
import re
from typing import Any

from transferlint import late
from transferlint.syntax.from_ast.places import Places, Span

_BLANK = r"(?:[\s\\]|\#[^\r\n]*)"
_NAME = r"[^\x00-/:-@\[-^`{-\x7f]"  # nothing of ASCII but letters, digits and "_"
_WORD = late.pattern(f"{_NAME}+")
_DEFINED = late.pattern(rf"(?:async{_BLANK}+)?(?:def|class){_BLANK}+({_NAME}+)")
_AS = late.pattern(rf"(?:[\s\\)]|\#[^\r\n]*)*as{_BLANK}+({_NAME}+)")
_REST = late.pattern(rf"(?:[\s\\),{{]|\#[^\r\n]*)*\*\*{_BLANK}*({_NAME}+)")
_CLOSING = late.pattern(r"(?:[\s\\)]|\#[^\r\n]*)*")
_UP_TO_CLAUSE = late.pattern(r"(?:[\s\\);:,]|\#[^\r\n]*)*")
_WITH = late.pattern(rf"(?:async{_BLANK}+)?with{_BLANK}*")
_COLON = late.pattern(rf"{_BLANK}*:")
_BLANKS = late.pattern(f"{_BLANK}*")


def defined_name(places: Places, node: Any) -> Span:
    """The name of a function or class where it is defined."""
    return _group(_DEFINED, places, places.start(node))


def first_name(places: Places, node: ast.alias) -> Span:
    """The name that `import a.b` binds."""
    return _group(_WORD, places, places.start(node), 0)


def last_name(places: Places, node: Any) -> Span:
    """The name that something ends with."""
    start, end = places.raw(node)
    at = end
    while at > start and _WORD.match(places.text, at - 1, end):
        at -= 1
    return at, end


def exception_name(places: Places, node: ast.ExceptHandler) -> Span:
    """`name` of `except T as name`."""
    return _group(_AS, places, places.raw(node.type)[1])


def rest_name(places: Places, node: ast.MatchMapping) -> Span:
    """`name` of the pattern `{..., **name}`."""
    return _group(_REST, places, places.raw(node.patterns[-1])[1] if node.patterns else places.start(node))


def item(places: Places, node: ast.withitem) -> Span:
    """An item of a `with`: its expression and what it is bound to."""
    start, end = places.outer(node.context_expr)
    return start, places.outer(node.optional_vars)[1] if node.optional_vars is not None else end


def clause(places: Places, node: tuple[ast.expr, ast.expr]) -> Span:
    """A clause of a comprehension: what follows one expression, up to the end of another."""
    before, last = node
    return _skipped(_CLOSING, places, places.raw(before)[1]), places.outer(last)[1]


def finally_(places: Places, node: Any) -> Span:
    """The `finally` clause of a `try`."""
    before = node.orelse or (node.handlers[-1].body if node.handlers else node.body)
    return following_clause(places, before[-1]), places.of(node.finalbody[-1])[1]


def following_clause(places: Places, before: ast.stmt) -> int:
    """Where the `else` or `finally` begins that follows a suite which ends with this statement."""
    return _skipped(_UP_TO_CLAUSE, places, places.raw(before)[1])


def is_elif(places: Places, node: ast.If) -> bool:
    """Whether an `if` that stands alone in an `else` was written as `elif`."""
    return places.text.startswith("elif", places.start(node))


def case(places: Places, node: tuple[ast.AST, ast.match_case]) -> Span:
    """A case of a `match`; what stands before it, and itself."""
    before, own = node
    return _skipped(_UP_TO_CLAUSE, places, places.raw(before)[1]), places.of(own.body[-1])[1]


def end_of_items(places: Places, node: ast.With | ast.AsyncWith) -> int:
    """The offset of the closing parenthesis around all items of a `with`, which belongs to none of them; -1 for none.

    The grammar takes parentheses for those of the items wherever it can (docs.python.org, 'The with statement').
    """
    start = _skipped(_WITH, places, places.start(node))
    end = places.pairs.get(start, -1)
    if end < 0 or _COLON.match(places.text, end + 1) is None:
        return -1
    first = node.items[0]
    alone = len(node.items) == 1 and first.optional_vars is None
    if alone and type(first.context_expr) in (ast.Yield, ast.YieldFrom, ast.NamedExpr):
        return -1 if places.raw(first.context_expr) == places.within(start, end) else end
    return -1 if alone and places.raw(first.context_expr) == (start, end + 1) else end


def end_of_bases(places: Places, node: ast.ClassDef) -> int:
    """The offset of the closing parenthesis of a class with bases or keywords."""
    return places.pairs[places.text.index("(", _end_of_name(places, node))]


def _end_of_name(places: Places, node: Any) -> int:
    """Where the name of a function or class ends, with its type parameters."""
    parameters = getattr(node, "type_params", ())
    if parameters:
        return places.text.index("]", places.raw(parameters[-1])[1]) + 1
    return defined_name(places, node)[1]


def end_of_header(places: Places, node: Any) -> int:
    """The end of the last thing that a compound statement, but for `match`, has before its colon."""
    if getattr(node, "returns", None) is not None:
        return places.raw(node.returns)[1]
    if hasattr(node, "decorator_list"):
        at = _end_of_name(places, node)
        start = _skipped(_BLANKS, places, at)
        return places.pairs[start] if places.text.startswith("(", start) else at
    if hasattr(node, "items"):
        last = node.items[-1]
        return places.raw(last.optional_vars or last.context_expr)[1]
    part = getattr(node, "iter", None) or getattr(node, "test", None)
    return places.raw(part)[1] if part is not None else places.start(node)


def _group(pattern: re.Pattern[str], places: Places, at: int, group: int = 1) -> Span:
    match = pattern.match(places.text, at)
    return match.span(group) if match is not None else (at, at)


def _skipped(pattern: re.Pattern[str], places: Places, at: int) -> int:
    match = pattern.match(places.text, at)
    return match.end() if match is not None else at
