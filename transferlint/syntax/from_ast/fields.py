"""The expressions of formatted strings where `ast` is wrong about them.

Before Python 3.12 they were parsed apart from their string, within parentheses that the text does not have, and their
positions put right afterwards for some (docs.python.org, What's New in Python 3.12, PEP 701). Where `ast` says of one
anything but where it stands, it is parsed again.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence
from typing import Any

from transferlint.syntax.from_ast.places import Places
from transferlint.syntax.scan import NESTS_QUOTES


class Misplaced(Exception):
    """The expressions of the formatted string at this offset were not found in the text."""


def expressions(places: Places, node: Any) -> list[Any]:
    """The expressions of a formatted string, each followed by those of its format specification."""
    found = list(_values(node.values))
    return found if NESTS_QUOTES else _mended(places, node, found)


def _values(parts: list[Any]) -> Iterator[ast.expr]:
    for part in parts:
        if type(part) is not ast.Constant:
            yield part.value
            if part.format_spec is not None:
                yield from _values(part.format_spec.values)


def _mended(places: Places, node: ast.JoinedStr, found: list[ast.expr]) -> list[ast.expr]:
    start, end = places.raw(node)
    fields: Sequence[tuple[int, ...]] = places.fields
    # From behind the prefix: a field around this string may begin where it does.
    within = fields[bisect.bisect_left(fields, (start + 1,)) : bisect.bisect_left(fields, (end,))]
    level = min((field[2] for field in within), default=0)
    own = [field for field in within if field[2] == level]
    if len(own) != len(found):
        raise Misplaced(start)
    return [_at(places, value, field) for value, field in zip(found, own, strict=True)]


def _at(places: Places, value: ast.expr, field: tuple[int, ...]) -> ast.expr:
    start, end, _ = field
    text = places.text[start:end]
    if text.isascii() and "\n" not in text and "\r" not in text and _stands_at(places, value, start, end):
        return value
    try:
        parsed = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        raise Misplaced(start) from None
    _move(places, parsed, start)
    return parsed


def _stands_at(places: Places, value: ast.expr, start: int, end: int) -> bool:
    line, column = places.line(start)
    return (value.lineno, value.col_offset, value.end_col_offset) == (line, column, column + end - start)


def _move(places: Places, parsed: ast.expr, start: int) -> None:
    """Give the nodes of an expression that was parsed behind a parenthesis the positions that they have in the text."""
    line, column = places.line(start)
    if type(parsed) is ast.Tuple and parsed.col_offset == 0:
        # The parentheses are not the text's: the tuple reaches from its first element to its last comma.
        parsed.col_offset = 1
        parsed.end_col_offset = (parsed.end_col_offset or 0) - 1
    for node in ast.walk(parsed):
        if isinstance(node, ast.expr | ast.keyword | ast.arg):
            if node.lineno == 1:
                node.col_offset += column - 1
            if node.end_lineno == 1:
                node.end_col_offset = (node.end_col_offset or 0) + column - 1
            node.lineno += line - 1
            node.end_lineno = (node.end_lineno or 1) + line - 1
