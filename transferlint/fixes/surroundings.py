"""The statements around a change, so that what it makes of a text is judged without reading the whole text again."""

from __future__ import annotations

import ast
import bisect
import itertools
import warnings
from collections.abc import Iterator, Sequence

from transferlint import late

_LINE = late.pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as Python's parser counts them: a form feed ends none."""
    return _LINE.findall(text)


def starts_of(lines: Sequence[str]) -> list[int]:
    """The offsets at which lines begin, and where the last ends."""
    return [0, *itertools.accumulate(map(len, lines))]


def parsed(text: str) -> ast.Module | None:
    """The tree of a text, None where Python's parser refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class Statements:
    """The statements of a text, parsed once, however many changes of it are asked about: those of a function, whose
    offsets are among `functions`, by itself."""

    def __init__(self, text: str, functions: Sequence[tuple[int, int]] = ()) -> None:
        self.text = text
        self._functions = functions
        self._bodies: dict[tuple[int, int], list[ast.stmt]] = {}
        self.lines = lines_of(text)
        self.starts = starts_of(self.lines)
        self._tree: ast.Module | None = None
        self._is_parsed = False

    def line(self, offset: int) -> int:
        """The 1-based line that an offset lies in."""
        return max(1, min(bisect.bisect_right(self.starts, offset), len(self.lines)))

    def around(self, first: int, last: int) -> tuple[int, int, str, str] | None:
        """The fewest whole statements, or the head of one, that hold these 1-based lines: their first and last line,
        and what has to stand before and behind these to make a module of them. None where the text has no tree."""
        body = self._body(first, last)
        if body:
            return self._within(body, first, last)
        tree = self.tree()
        return None if tree is None or not tree.body else self._within(tree.body, first, last)

    def tree(self) -> ast.Module | None:
        """The tree of the text; None where it has none."""
        if not self._is_parsed:
            self._tree, self._is_parsed = parsed(self.text), True
        return self._tree

    def _body(self, first: int, last: int) -> Sequence[ast.stmt]:
        """The statements of the first function that has these lines below its header; none where there is none."""
        for span in self._functions:
            start, end = self.line(span[0]), self.line(span[1] - 1)
            if start < first and last <= end:
                if span not in self._bodies:
                    self._bodies[span] = self._parsed_body(start, end)
                body = self._bodies[span]
                holds = body and starts_at(body[0]) <= first and last <= _end(body[-1]) and self._own_line(body[0])
                return body if holds else ()
        return ()

    def _parsed_body(self, start: int, end: int) -> list[ast.stmt]:
        head = "if 1:\n" if start > 1 and self._indent(start) else ""
        above = "\n" * (start - 1 - len(head.splitlines()))
        tree = parsed(above + head + "".join(self.lines[start - 1 : end]))
        found: list[ast.stmt] = tree.body if tree is not None else []
        if head and found and isinstance(found[0], ast.If):
            found = found[0].body
        one = len(found) == 1 and isinstance(found[0], ast.FunctionDef | ast.AsyncFunctionDef)
        return getattr(found[0], "body", []) if one else []

    def _within(self, suite: Sequence[ast.stmt], first: int, last: int) -> tuple[int, int, str, str]:
        while True:
            low = max(bisect.bisect_right(suite, first, key=starts_at) - 1, 0)
            high = max(bisect.bisect_right(suite, last, key=starts_at) - 1, low)
            while low and _end(suite[low - 1]) >= starts_at(suite[low]):
                low -= 1
            while high + 1 < len(suite) and starts_at(suite[high + 1]) <= _end(suite[high]):
                high += 1
            inner = self._suite(suite[low], first, last) if low == high else None
            if inner is None:
                break
            suite = inner
        start, end = min(first, starts_at(suite[low])), max(last, _end(suite[high]))
        before, behind = self._before(suite[low]), ""
        body = getattr(suite[low], "body", None)
        if low == high and isinstance(body, list) and not isinstance(suite[low], ast.Try) and self._own_line(body[0]):
            top = starts_at(body[0])
            if last < top:
                end, behind = top - 1, self._indent(top) + "pass\n"
        return start, end, before, behind

    def _suite(self, statement: ast.stmt, first: int, last: int) -> Sequence[ast.stmt] | None:
        """The suite of a compound statement that holds these lines, None where they are not within one."""
        for suite in _suites(statement):
            if starts_at(suite[0]) <= first and last <= _end(suite[-1]) and self._own_line(suite[0]):
                return suite
        return None

    def _own_line(self, statement: ast.stmt) -> bool:
        line = self.lines[statement.lineno - 1]
        return not line.encode()[: statement.col_offset].strip()

    def _indent(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def _before(self, statement: ast.stmt) -> str:
        line = starts_at(statement)
        indent = self._indent(line)
        head = "if 1:\n" if indent else ""
        is_elif = isinstance(statement, ast.If) and self.lines[line - 1][len(indent) :].startswith("elif")
        return f"{head}{indent}if 1: pass\n" if is_elif else head


def starts_at(statement: ast.stmt) -> int:
    """The 1-based line on which a statement begins, or the first of its decorators."""
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(one.lineno for one in decorators)]) if decorators else statement.lineno


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _suites(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for one in (found := getattr(statement, name, None) or ())[:1]:
            if isinstance(one, ast.stmt):
                yield found
            else:  # the clauses of `try` and `match` have suites of their own
                yield from (clause.body for clause in found)
