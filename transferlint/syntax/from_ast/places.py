"""Where the nodes of an `ast` tree stand: what `Spans` says of the nodes of a LibCST tree of the same text.

`ast` counts columns in bytes of UTF-8, and knows nothing of parentheses. What is missing is read off the text. Offsets
are 0-based code points, ends exclusive.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Callable, Sequence
from typing import Any

from transferlint import late
from transferlint.syntax.positions import NEWLINE
from transferlint.syntax.scan import Scan
from transferlint.syntax.spelling import one_style

Span = tuple[int, int]

# Blanks, line ends, comments: what may stand between any two tokens within brackets.
BLANK = late.pattern(r"(?:[\s\\]|\#[^\r\n]*)*")
_BLANKS = " \t\r\n\f\\"


class Part:
    """What an instruction or region came from where that is no node: something that `find` finds from `node`."""

    __slots__ = ("find", "node")

    def __init__(self, find: Callable[[Places, Any], Span], node: Any) -> None:
        self.find = find
        self.node = node


class Places:
    """The offsets of the nodes of one tree. `text` is what it was parsed from.

    `closers` are the offsets of closing parentheses that belong to a call or a statement and not to what stands within;
    whoever lowers adds them.
    """

    def __init__(self, text: str, scan: Scan) -> None:
        self.text = text
        self.pairs = scan.pairs
        self.comments = scan.comments
        self.fields = scan.fields
        self.lines: list[int] = [0, *(match.end() for match in NEWLINE.finditer(text))]
        self.closers: set[int] = set()
        self._starts = [0, *self.lines]  # by line numbers from 1
        self._wide = {} if text.isascii() else self._wide_lines()
        self._wraps: dict[Span, Span] | None = None
        self._opening: dict[int, int] = {}

    def _wide_lines(self) -> dict[int, list[int]]:
        """For each line with other characters than ASCII: the code point of each of its bytes."""
        found = {}
        ends = [*self.lines[1:], len(self.text)]
        for number, (start, end) in enumerate(zip(self.lines, ends, strict=True), 1):
            line = self.text[start:end]
            if not line.isascii():
                sizes = [len(character.encode("utf-8", "surrogatepass")) for character in line]
                found[number] = [*(at for at, size in enumerate(sizes) for _ in range(size)), len(line)]
        return found

    def offset(self, line: int, column: int) -> int:
        """The offset of a line number and a column of `ast`."""
        if line in self._wide:
            column = self._wide[line][column]
        return self._starts[line] + column

    def line(self, offset: int) -> tuple[int, int]:
        """The line number and column of `ast` that an offset has."""
        number = bisect.bisect_right(self.lines, offset)
        start = self.lines[number - 1]
        return number, len(self.text[start:offset].encode("utf-8", "surrogatepass"))

    def start(self, node: Any) -> int:
        """Where `ast` says that a node begins."""
        return self.offset(node.lineno, node.col_offset)

    def raw(self, node: Any) -> Span:
        """What `ast` says of a node."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def raws(self, nodes: Sequence[Any]) -> list[Span | None]:
        """What `ast` says of many nodes; None for what is no node."""
        if self._wide:
            return [self.raw(node) if hasattr(node, "lineno") else None for node in nodes]
        starts = self._starts
        return [
            (starts[node.lineno] + node.col_offset, starts[node.end_lineno] + node.end_col_offset)
            if node is not None and type(node) is not Part
            else None
            for node in nodes
        ]

    def of(self, node: Any) -> Span:
        """The offsets of a node as `Spans.of` has them; those of a module are of all its text."""
        kind = type(node)
        if kind is Part:
            found: Span = node.find(self, node.node)
            return found
        if kind is ast.Module:
            return 0, len(self.text)
        span = self.raw(node)
        return self.exact(node, span) if kind in INEXACT else span

    def exact(self, node: Any, span: Span) -> Span:
        """The offsets of a node of an `INEXACT` kind, of which `ast` says `span`: of a tuple or generator expression
        without its parentheses, of a statement without the semicolon behind it."""
        kind = type(node)
        if kind is ast.Tuple or kind is ast.GeneratorExp:
            return self.within(span[0], span[1] - 1) if self.parenthesised(span) else span
        while self.text[span[1] - 1] == ";":
            node = _last_statement(node)
            span = span[0], self.raw(node)[1]
        return span

    def outer(self, node: ast.expr) -> Span:
        """The offsets of an expression with its own parentheses."""
        span = self.raw(node)
        if type(node) is ast.GeneratorExp and span[1] - 1 in self.closers:
            return self.of(node)
        wraps = self.wraps()
        while span in wraps:
            span = wraps[span]
        return span

    def wraps(self) -> dict[Span, Span]:
        """For what stands alone between parentheses that belong to it: itself with them. To be asked for when all
        `closers` are known."""
        if self._wraps is None:
            own = [(start, end) for start, end in self.pairs.items() if end not in self.closers]
            self._wraps = {self.within(start, end): (start, end + 1) for start, end in own}
        return self._wraps

    def within(self, start: int, end: int) -> Span:
        """What stands between two brackets, without the blanks and comments around it."""
        first = start + 1
        if self.text[first] in " \t\r\n\f\\#":
            match = BLANK.match(self.text, first)
            first = match.end() if match else first
        return first, max(self._trimmed(first, end), first)

    def _trimmed(self, start: int, end: int) -> int:
        """The end of what stands in this stretch, without the blanks and comments that it ends with."""
        text = self.text
        while end > start:
            if text[end - 1] in _BLANKS:
                end = start + len(text[start:end].rstrip(_BLANKS))
            at = bisect.bisect_left(self.comments, (end, -1)) - 1
            if at < 0 or self.comments[at][1] != end:
                break
            end = self.comments[at][0]
        return end

    def parenthesised(self, span: Span) -> bool:
        """Whether a stretch is a pair of parentheses with what they hold."""
        return self.pairs.get(span[0]) == span[1] - 1

    def written(self, node: ast.expr) -> str:
        """`constants.written` for an annotation, a default or a decorator: the brackets right around such an
        expression are its own."""
        kind = type(node)
        if kind is ast.Name:
            return node.id  # type: ignore[attr-defined,no-any-return]
        if kind is ast.Attribute and type(node.value) is ast.Name:  # type: ignore[attr-defined]
            return f"{node.value.id}.{node.attr}"  # type: ignore[attr-defined]
        span = self.raw(node)
        while (wider := self._around(span)) is not None:
            span = wider
        return one_style(self.text[slice(*span)])

    def _around(self, span: Span) -> Span | None:
        """The pair of parentheses that holds a stretch and nothing else."""
        match = BLANK.match(self.text, span[1])
        end = match.end() if match else span[1]
        if not self.text.startswith(")", end):
            return None
        if not self._opening:
            self._opening = {close: start for start, close in self.pairs.items()}
        start = self._opening[end]
        return (start, end + 1) if self.within(start, end) == span else None


def _last_statement(node: Any) -> Any:
    """The last of the statements within a compound one; of a simple one itself."""
    for name in ("finalbody", "orelse", "handlers", "cases", "body"):
        inner = getattr(node, name, None)
        if inner:
            return inner[-1]
    return node


_COMPOUND = (
    "If", "For", "AsyncFor", "While", "With", "AsyncWith", "Try", "TryStar", "Match", "FunctionDef", "AsyncFunctionDef",
    "ClassDef", "ExceptHandler",
)  # fmt: skip
INEXACT = frozenset(
    (ast.Tuple, ast.GeneratorExp, *(getattr(ast, name) for name in _COMPOUND if hasattr(ast, name)))
)  # fmt: skip
