"""On which lines the statements and headers of a LibCST tree stand, for comments that speak for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from transferlint.syntax.spans import Spans
from transferlint.syntax.suppressions import Entry, Lines

_BLOCKS = (cst.FunctionDef, cst.ClassDef, cst.For, cst.While, cst.With)
_SIMPLE = (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.Decorator)


def lines(tree: cst.Module, spans: Spans) -> Lines:
    """The lines of a tree."""
    return Lines(spans, _walk(tree, spans))


def _walk(tree: cst.Module, spans: Spans) -> Iterator[Entry]:
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        body = getattr(node, "body", None)
        if isinstance(node, _SIMPLE):
            first, last = _extent(node, spans)
            yield first, last, last, "line"
        elif isinstance(node, cst.Module | cst.IndentedBlock):
            waiting.extend(node.body)
        elif body is not None or isinstance(node, cst.Match):
            header = _header(node, spans)
            last = _extent(body, spans)[1] if isinstance(node, _BLOCKS) else header[1]
            yield *header, last, "block" if isinstance(node, _BLOCKS) else "line"
            inner = (body, getattr(node, "orelse", None), getattr(node, "finalbody", None))
            waiting.extend(part for part in inner if part is not None)
            for parts in ("handlers", "cases", "decorators"):
                waiting.extend(getattr(node, parts, ()))


def _extent(node: Any, spans: Spans) -> tuple[int, int]:
    start, end = spans.of(node)
    return spans.position(start)[0], spans.position(max(end - 1, start))[0]


def _header(node: Any, spans: Spans) -> tuple[int, int]:
    """The lines of a compound statement or clause up to its colon."""
    first = spans.position(spans.of(node)[0])[0]
    body = getattr(node, "body", None)
    if body is None:  # a match: its subject ends the header
        return first, spans.position(spans.outer(node.subject)[1])[0]
    return first, spans.position(spans.whole(body)[0])[0]
