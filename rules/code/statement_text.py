"""Statements as text: where one begins and ends, and its tree, with columns as in the file."""

from __future__ import annotations

import ast
import itertools
import re

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.syntax.program import Reg

_LONGEST = 60  # lines
_BLANKS = late.pattern(r"[ \t]*")
_LINE = late.pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def if_statement(function: FunctionFacts, value: Reg) -> tuple[int, str, ast.If] | None:
    """The `if` statement of a condition: its offset, its text and its tree. None for an `elif`, for one that does not
    begin its line, and for what is longer than anybody would rewrite."""
    first = function.outer_span(value)[0]
    text = function.file.text
    line = function.file.spans.line_start(first)
    blanks = _BLANKS.match(text, line)
    assert blanks is not None
    start = blanks.end()
    found = _trimmed(text, start, blanks[0]) if re.match(r"if\b", text[start:first]) else None
    return (start, found[0], found[1]) if found is not None and isinstance(found[1], ast.If) else None


def statement_at(text: str, start: int) -> tuple[str, ast.stmt] | None:
    """The text and the tree of the statement at an offset, which begins its line."""
    line = start
    while line and text[line - 1] in " \t\f":
        line -= 1
    return _trimmed(text, start, text[line:start]) if not line or text[line - 1] in "\r\n" else None


def _trimmed(text: str, start: int, blanks: str) -> tuple[str, ast.stmt] | None:
    """The statement at an offset, parsed where it stands: columns count from the beginning of its line."""
    lines = [one[0] for one in itertools.islice(_LINE.finditer(text, start), _LONGEST + 1)]
    for number in range(1, min(len(lines), _LONGEST) + 1):
        if number < len(lines) and (not _code(lines[number]) or _deeper(lines[number], blanks)):
            continue
        while number > 1 and not _code(lines[number - 1]):
            number -= 1
        source = "".join(lines[:number]).rstrip()
        made = parsed(f"if 1:\n{blanks}{source}\n" if blanks else source)
        if made is None:
            continue
        if blanks and isinstance(made[0], ast.If):
            made = made[0].body
        return (source, _moved(made[0], len(blanks))) if len(made) == 1 else None
    return None


def _moved(node: ast.stmt, columns: int) -> ast.stmt:
    """A tree with positions in the text of the statement, which begins behind the blanks of its line."""
    if not columns:
        return node
    moved = ast.increment_lineno(node, -1)
    for one in ast.walk(moved):
        if isinstance(one, ast.expr | ast.stmt | ast.keyword) and one.lineno == 1:
            one.col_offset -= columns
            if one.end_lineno == 1 and one.end_col_offset is not None:
                one.end_col_offset -= columns
    return moved


def _code(line: str) -> bool:
    """True for a line that is neither blank nor a comment alone."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _deeper(line: str, blanks: str) -> bool:
    own = line[: len(line) - len(line.lstrip())]
    rest = line[len(own) :]
    return len(own) > len(blanks) or (own == blanks and bool(re.match(r"(?:else|elif)\b|[)\]}]", rest)))


def line_end(text: str, at: int) -> int:
    """The offset of the next end of a line, or of the text."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def offset(text: str, line: int, column: int) -> int:
    """The offset of a line and a column in bytes, as the compiler counts them."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def parsed(text: str) -> list[ast.stmt] | None:
    """The statements of a text, None where it does not parse."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def filled_in(before: str, inner: str, after: str = "") -> str:
    """Three pieces of code as one, the inner in parentheses where it would mean something else without them."""
    plain, closed = f"{before}{inner}{after}", f"{before}({inner}){after}"
    one, other = parsed(plain), parsed(closed)
    same = one is not None and other is not None and list(map(ast.dump, one)) == list(map(ast.dump, other))
    return plain if same else closed


_OPERATOR = r"\*\*|//|<<|>>|[-+*/%@&|^~]"
_LEFT = late.pattern(rf"({_OPERATOR}|\bawait)\s*\Z")
_RIGHT = late.pattern(rf"[\s\\]*({_OPERATOR}|[.\[(])")
_DECORATOR = late.pattern(r"[ \t]*(?:\r?\n[ \t]*){2,}@\w")
_NEAR = 200  # characters of blanks, at most, between an operator and what it works on


def in_place(function: FunctionFacts, start: int, end: int, inner: str) -> str:
    """The arithmetic that stands for what is between two offsets of the file, in parentheses where the operators beside
    it would take a part of it alone. What lies between these is not searched: a comment there asks for parentheses."""
    text = function.file.text
    above = text[max(start - _NEAR, 0) : start]
    left, right = _LEFT.search(above), _RIGHT.match(text, end, end + _NEAR)
    if _DECORATOR.match(text, end):
        right = None
    line = above.rstrip().rpartition("\n")[2]
    if "#" in line and "\n" in above[len(above.rstrip()) :]:
        return f"({inner})"
    after = {".": ".a", "[": "[0]", "(": "()"}.get(right[1], f" {right[1]} a") if right else ""
    before = ("await " if left[1] == "await" else f"a {left[1]} ".replace("a ~", "~")) if left else ""
    return filled_in(before, inner, after)[len(before) :].removesuffix(after)
