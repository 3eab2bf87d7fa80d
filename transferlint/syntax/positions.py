"""Offsets into a text as lines, columns and sites; what `Spans` and `FrozenSpans` share."""

from __future__ import annotations

import abc
import bisect
from collections.abc import Sequence
from typing import Any

from transferlint import late
from transferlint.model import Site

NEWLINE = late.pattern(r"\r\n|\r|\n")


class Positions(abc.ABC):
    """Lines, columns and texts of what has offsets in `source`. Offsets are 0-based code points, ends exclusive;
    `lines`, where they are known, are the offsets at which lines begin."""

    def __init__(self, text: str, lines: Sequence[int] = ()) -> None:
        self.source = text
        self._lines = lines
        self._found: list[tuple[int, int]] = []
        self._ends: list[int] | None = None

    @abc.abstractmethod
    def of(self, node: Any) -> tuple[int, int]:
        """The offsets of a node."""

    @abc.abstractmethod
    def outer(self, node: Any) -> tuple[int, int]:
        """The offsets of an expression with its own parentheses."""

    def text(self, node: Any) -> str:
        """The text at `of(node)`."""
        start, end = self.of(node)
        return self.source[start:end]

    def site(self, path: str, start: int, end: int) -> Site:
        """The lines and columns of two offsets. Lines end at \\n, \\r\\n or \\r, as in Python; not at form feeds."""
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Site(path, line, column, end_line, end_column)

    def position(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column, in code points, of an offset."""
        starts = self.line_starts()
        line = bisect.bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line_start(self, offset: int) -> int:
        """The offset at which the line of an offset begins."""
        starts = self.line_starts()
        return starts[bisect.bisect_right(starts, offset) - 1]

    @abc.abstractmethod
    def comments(self) -> list[tuple[int, int]]:
        """The offsets of all comments, in order."""

    def commented(self, start: int, end: int) -> bool:
        """True where a comment stands between two offsets, or in part."""
        return self.comment(start, end) is not None

    def comment(self, start: int, end: int) -> tuple[int, int] | None:
        """The first comment of which a part stands between two offsets."""
        if self._ends is None:
            self._found = self.comments()
            self._ends = [stop for _, stop in self._found]
        at = bisect.bisect_right(self._ends, start)
        return self._found[at] if at < len(self._found) and self._found[at][0] < end else None

    def line_starts(self) -> Sequence[int]:
        """The offsets at which the lines of the text begin."""
        if not self._lines:
            self._lines = [0, *(match.end() for match in NEWLINE.finditer(self.source))]
        return self._lines
