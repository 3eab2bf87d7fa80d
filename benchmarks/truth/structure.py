"""What the source says of a line's surroundings: its function, its statement, and what stands at a place."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator

Site = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class Structure:
    """Of each line: the first line of the function it stands in (decorators count), and of the statement."""

    functions: dict[int, int]
    statements: dict[int, int]
    tree: ast.Module

    def expression(self, site: Site) -> ast.AST | None:
        """The largest expression that spans a place; columns are 1-based."""
        line, column, end_line, end_column = site
        for node in ast.walk(self.tree):
            where = (getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
            if tuple(where) == (line, column - 1, end_line, end_column - 1):
                return node
        return None

    @functools.cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def conditions(self, site: Site) -> Iterator[tuple[ast.expr, bool]]:
        """What must have been true, or false, for an expression at a place to run within its statement: the tests of
        conditional expressions, and the operands before it of `and` and `or`."""
        node = self.expression(site)
        while node is not None and not isinstance(node, ast.stmt):
            above = self._parents.get(node)
            if isinstance(above, ast.IfExp) and node is not above.test:
                yield above.test, node is above.body
            if isinstance(above, ast.BoolOp):
                at = next((number for number, one in enumerate(above.values) if one is node), 0)
                yield from ((one, isinstance(above.op, ast.And)) for one in above.values[:at])
            node = above


def place(node: ast.expr) -> Site:
    """Where an expression stands; columns are 1-based, the end column is the one after."""
    return node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1


def read(text: str) -> Structure:
    """The structure of a source text. Raises SyntaxError."""
    tree = ast.parse(text)
    functions: dict[int, int] = {}
    statements: dict[int, int] = {}
    for node, first in _functions(tree, 0):
        own = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        last = node.end_lineno or node.lineno
        body = getattr(node, "body", None)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(body, list) and body:
            last = max(own, _begin(body[0]) - 1)
        for line in range(own, last + 1):
            statements[line] = own
            functions[line] = first
    return Structure(functions, statements, tree)


def _begin(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def _functions(node: ast.AST, first: int) -> Iterator[tuple[ast.stmt, int]]:
    """Each statement with the first line of the function around it (0: none), outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child, first
        inner = _begin(child) if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else first
        yield from _functions(child, inner)


def describe(node: ast.AST | None) -> str:
    """What a place holds, in a word or two: what the analysis would have to know."""
    if isinstance(node, ast.Call):
        called = node.func
        return f"call of .{called.attr}" if isinstance(called, ast.Attribute) else "call of a name"
    if isinstance(node, ast.Subscript):
        return "subscript"
    if isinstance(node, (ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.AugAssign)):
        return "operator"
    if isinstance(node, (ast.For, ast.comprehension)):
        return "iteration"
    if isinstance(node, (ast.Name, ast.Attribute)):
        return "truth of a value"
    return "other"
