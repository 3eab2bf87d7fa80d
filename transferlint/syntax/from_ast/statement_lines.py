"""On which lines the statements and headers of an `ast` tree stand; see `syntax/statement_lines.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from transferlint import late
from transferlint.syntax.from_ast import parts
from transferlint.syntax.from_ast.places import Places
from transferlint.syntax.positions import Positions
from transferlint.syntax.suppressions import Entry, Lines

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (*_DEFINITIONS, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
_SAME_LINE = late.pattern(r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*;(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
_UP_TO_COLON = late.pattern(r"(?:[^:\#]|\#[^\r\n]*)*:")


def lines(tree: ast.Module, places: Places, positions: Positions) -> Lines:
    """The lines of a tree whose nodes stand at `places`."""
    return Lines(positions, _Walk(places, positions).suite(tree.body))


class _Walk:
    def __init__(self, places: Places, positions: Positions) -> None:
        self.places = places
        self.positions = positions

    def line(self, offset: int) -> int:
        """The number of the line that an offset is on."""
        return self.positions.position(offset)[0]

    def suite(self, body: list[ast.stmt]) -> Iterator[Entry]:
        """The entries of statements that follow each other, and of all that stands within them."""
        waiting: list[list[ast.stmt]] = [body]
        while waiting:
            statements = waiting.pop()
            at = 0
            while at < len(statements):
                node = statements[at]
                at += 1
                if hasattr(node, "body") or type(node) is ast.Match:
                    yield from self._compound(node, waiting)
                    continue
                start, end = self.places.raw(node)
                while at < len(statements) and self._on_line(end, statements[at]):
                    end = self.places.raw(statements[at])[1]
                    at += 1
                yield self._simple(start, end)

    def _on_line(self, end: int, following: ast.stmt) -> bool:
        match = _SAME_LINE.match(self.places.text, end)
        return match is not None and match.end() == self.places.start(following)

    def _simple(self, start: int, end: int) -> Entry:
        last = self.line(max(end - 1, start))
        return self.line(start), last, last, "line"

    def _compound(self, node: Any, waiting: list[list[ast.stmt]]) -> Iterator[Entry]:
        places = self.places
        start = places.start(node)
        if type(node) is ast.Match:
            end = places.of(node.subject)[1] if type(node.subject) is ast.GeneratorExp else 0
            yield self.line(start), (last := self.line(end or places.outer(node.subject)[1])), last, "line"
            before: Any = node.subject
            for case in node.cases:
                begin = parts.case(places, (before, case))[0]
                yield self._clause(begin, places.raw(case.guard or case.pattern)[1])
                waiting.append(case.body)
                before = case.body[-1]
            return
        last = self.line(self._colon(parts.end_of_header(places, node)))
        block = isinstance(node, _BLOCKS)
        covered = self.line(places.of(node.body[-1])[1] - 1) if block else last
        yield self.line(start), last, covered, "block" if block else "line"
        waiting.append(node.body)
        for decorator in getattr(node, "decorator_list", ()):
            begin, end = places.outer(decorator)
            yield self._simple(places.text.rindex("@", 0, begin), end)
        yield from self._clauses(node, waiting)

    def _clauses(self, node: Any, waiting: list[list[ast.stmt]]) -> Iterator[Entry]:
        """The handlers, the `else` and the `finally` of a statement."""
        before = node.body
        for handler in getattr(node, "handlers", ()):
            begin = self.places.start(handler)
            yield self._clause(begin, self.places.raw(handler.type)[1] if handler.type is not None else begin)
            waiting.append(handler.body)
            before = handler.body
        for following in (getattr(node, "orelse", ()), getattr(node, "finalbody", ())):
            if not following:
                continue
            first = following[0]
            if not (type(first) is ast.If and len(following) == 1 and parts.is_elif(self.places, first)):
                begin = parts.following_clause(self.places, before[-1])
                yield self._clause(begin, begin)
            waiting.append(following)
            before = following

    def _clause(self, start: int, end: int) -> Entry:
        """A clause that begins at `start`; the last of what stands before its colon ends at `end`."""
        last = self.line(self._colon(end))
        return self.line(start), last, last, "line"

    def _colon(self, at: int) -> int:
        match = _UP_TO_COLON.match(self.places.text, at)
        return match.end() - 1 if match is not None else at
