"""The smallest case that still has a fault: files, statements, lines and parts of expressions are taken away for as
long as it keeps it."""

from __future__ import annotations

import ast
import dataclasses
import textwrap
import time
from collections.abc import Callable, Iterator

from fuzz.judging import Case

_SECONDS = 60.0  # of the processor


def reduced(case: Case, fails: Callable[[Case], bool], seconds: float = _SECONDS) -> Case:
    """A case that `fails` holds of, and of none of those that are one step smaller, unless time runs out first."""
    end = time.process_time() + seconds
    smaller = True
    while smaller:
        smaller = False
        for tried in _smaller(case):
            if time.process_time() > end:
                return case
            if fails(tried):
                case, smaller = tried, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    if len(case.files) > 1:
        for name in case.files:
            yield dataclasses.replace(case, files={key: text for key, text in case.files.items() if key != name})
    for name, text in case.files.items():
        for made in texts(text):
            if len(made) < len(text):
                yield dataclasses.replace(case, files={**case.files, name: made})


def texts(text: str) -> Iterator[str]:
    """Shorter texts, those that lack most first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        yield from _without_lines(text)
        return
    lines = text.splitlines(keepends=True)
    yield "".join(line for line in lines if line.strip())
    blocks = [
        block
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody", "handlers", "cases")
        if isinstance(block := getattr(node, name, None), list) and block
    ]
    for part in (1, 2, 4, 8):
        for block in blocks:
            size = max(1, len(block) // part)
            if part == 1 or size < len(block) // (part // 2):
                for at in range(0, len(block), size):
                    yield _without(lines, block[at : at + size], whole=size >= len(block))
    for block in blocks:
        for one in block:
            yield _without(lines, [one], whole=len(block) == 1)
            yield from _bodies(lines, one)
    if text.isascii():
        yield from _parts(text, tree)


def _first(node: ast.AST) -> int:
    """The line that a statement begins on, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return int(min([getattr(node, "lineno", 1), *(one.lineno for one in decorators)]))


def _without(lines: list[str], block: list[ast.AST], whole: bool) -> str:
    if not all(hasattr(node, "lineno") for node in block):
        return "".join(lines)
    start, end = _first(block[0]) - 1, int(getattr(block[-1], "end_lineno", 0))
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    return "".join([*lines[:start], *([f"{indent}pass\n"] if whole else []), *lines[end:]])


def _bodies(lines: list[str], node: ast.AST) -> Iterator[str]:
    """The body of a compound statement in its place."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        start, end = _first(node) - 1, int(getattr(node, "end_lineno", 0))
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        inner = "".join(lines[_first(body[0]) - 1 : int(body[-1].end_lineno or 0)])
        yield "".join([*lines[:start], textwrap.indent(textwrap.dedent(inner), indent), *lines[end:]])


def _parts(text: str, tree: ast.AST) -> Iterator[str]:
    """A part of an expression in its place."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 1) - 1] + (
            node.end_col_offset or 0
        )

    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.Assign, ast.AugAssign, ast.Return)):
            start, end = span(node)
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    inner, outer = span(child)
                    yield f"{text[:start]}{text[inner:outer]}{text[end:]}"
            if end - start > 4:
                yield f"{text[:start]}x{text[end:]}"
                yield f"{text[:start]}1{text[end:]}"


def _without_lines(text: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    size = len(lines)
    while size > 1:
        size //= 2
        for at in range(0, len(lines), size):
            yield "".join([*lines[:at], *lines[at + size :]])
