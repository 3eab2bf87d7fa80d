"""Expressions that run only where another one lets them: what stands behind `and` and `or`, the branches of a
conditional expression, what a comprehension does for each element, the body of a lambda, the message of an `assert`.

That the line of such an expression ran does not say that the expression did.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runtime_check.marking import BUILTINS
from transferlint.model import Site

Span = tuple[int, int, int, int]  # first line, first byte in it, last line, the byte after the last one
Column = tuple[int, int]  # the line and the column that a site starts at, as `Site` counts them
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def deciding(source: bytes | str, sites: Iterable[Site]) -> dict[Span, tuple[Column, ...]]:
    """The sites that lie in an expression of `source` which may not run although its line does, by the innermost such
    expression. None of a source that cannot be parsed, nor of sites without columns."""
    try:
        return within(ast.parse(source), lines_of(source), sites)
    except (SyntaxError, ValueError, RecursionError):  # a source in no encoding is a ValueError
        return {}


def within(tree: ast.AST, lines: Sequence[str], sites: Iterable[Site]) -> dict[Span, tuple[Column, ...]]:
    """As `deciding`, for a source that has been parsed and split."""
    spans = [span_of(node) for node in operands(tree)]
    found: dict[Span, tuple[Column, ...]] = {}
    for site in sites:
        if not site.column or site.end_line > len(lines):
            continue
        start = site.line, _byte(lines[site.line - 1], site.column)
        end = site.end_line, _byte(lines[site.end_line - 1], site.end_column)
        around = [span for span in spans if span[:2] <= start and end <= span[2:]]
        if around:
            innermost = max(around, key=lambda span: (span[0], span[1], -span[2], -span[3]))
            found[innermost] = (*found.get(innermost, ()), (site.line, site.column))
    return found


def operands(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions in a tree that run only where another one lets them."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield from _decided(node)
        if isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
            continue  # what stands in an f-string has wrong positions there
        pending += ast.iter_child_nodes(node)


def span_of(node: ast.expr) -> Span:
    """Where an expression stands."""
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def marked(tree: ast.Module, calls: Mapping[Span, tuple[str, Sequence[object]]]) -> ast.Module:
    """The tree with a call before each expression at one of these positions: of a function by name, with constants.
    What the function returns must be false. Positions stay as they are."""
    made = _Marking(calls).visit(tree)
    assert isinstance(made, ast.Module)
    return made


def _decided(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        yield from node.values[1:]
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Compare):
        yield from node.comparators[1:]
    elif isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, ast.Assert) and node.msg is not None:
        yield node.msg
    elif isinstance(node, _COMPREHENSIONS):
        yield from (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for number, loop in enumerate(node.generators):
            yield from loop.ifs
            if number:
                yield loop.iter


class _Marking(ast.NodeTransformer):
    """Puts calls before expressions. A function that is sent to another process by value, or that a finalizer calls at
    the interpreter's end, finds no such name: what then stands for it is made before the statement (see `marking`), and
    in a lambda, which has no statement, asked for each time."""

    def __init__(self, calls: Mapping[Span, tuple[str, Sequence[object]]]) -> None:
        self._calls = calls
        self._lambdas = 0

    def visit(self, node: ast.AST) -> ast.AST:
        inside = isinstance(node, ast.Lambda)
        self._lambdas += inside
        made = super().visit(node)
        self._lambdas -= inside
        call = self._calls.get(span_of(node)) if isinstance(node, ast.expr) else None
        return made if call is None else self._after(node, made, *call)  # type: ignore[arg-type]

    def _after(self, node: ast.expr, made: ast.expr, name: str, given: Sequence[object]) -> ast.expr:
        arguments = ", ".join(map(repr, given))
        known = f"{BUILTINS}.get({name!r}, lambda *_: None)" if self._in_lambda(node) else name
        whole = ast.parse(f"{known}({arguments}) or None", mode="eval").body
        assert isinstance(whole, ast.BoolOp)
        for part in ast.walk(whole):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        whole.values[1] = made
        return whole

    def _in_lambda(self, node: ast.expr) -> bool:
        return self._lambdas > 0 and not isinstance(node, ast.Lambda)


def lines_of(source: bytes | str) -> list[str]:
    """The lines of a source, without a byte order mark. Raises ValueError and SyntaxError where it is no text."""
    text = importlib.util.decode_source(source) if isinstance(source, bytes) else source
    return text.removeprefix("\ufeff").split("\n")


def _byte(line: str, column: int) -> int:
    """Where a column of 1-based code points lies in the line's UTF-8, which `ast` and code objects count."""
    return len(line[: column - 1].encode())
