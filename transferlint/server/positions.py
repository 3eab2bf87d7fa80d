"""Offsets of a text as positions of the protocol, and back.

A position is a 0-based line and a 0-based character, counted in code units of the encoding that client and server
agreed on; lines end at \\n, \\r\\n or \\r alone (LSP 3.17, "Text Documents" and "PositionEncodingKind").
"""

from __future__ import annotations

import bisect
from typing import NamedTuple

from transferlint import late

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
_LINE_END = late.pattern(r"\r\n|\r|\n")


class Position(NamedTuple):
    """A 0-based line, and a 0-based character in code units."""

    line: int
    character: int


class Range(NamedTuple):
    """A stretch of a text; the end is exclusive."""

    start: Position
    end: Position


class Lines:
    """The lines of a text. `encoding` is that of the positions; offsets are 0-based code points."""

    def __init__(self, text: str, encoding: str = UTF16) -> None:
        self.text = text
        self.encoding = encoding
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
        self._plain = encoding == UTF32 or text.isascii()

    def line(self, number: int) -> str:
        """A 0-based line without its end, "" for one that is not there."""
        if not 0 <= number < len(self._starts):
            return ""
        following = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : following].rstrip("\r\n")

    def position(self, offset: int) -> Position:
        """The position of an offset; one that lies outside of the text is taken for its nearest end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect.bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        if self._plain:
            return Position(line, offset - start)
        return Position(line, units(self.text[start:offset], self.encoding))

    def offset(self, position: Position) -> int:
        """The offset of a position. A character behind the end of its line is that end (LSP 3.17, "Position"), and one
        within a character is where that begins; a line that is not there is the end of the text."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[max(position.line, 0)]
        line = self.line(max(position.line, 0))
        if self._plain or line.isascii():
            return start + min(max(position.character, 0), len(line))
        passed = 0
        for at, character in enumerate(line):
            passed += units(character, self.encoding)
            if passed > position.character:
                return start + at
        return start + len(line)

    def range(self, start: int, end: int) -> Range:
        """The range between two offsets."""
        return Range(self.position(start), self.position(end))

    def at(self, line: int, column: int) -> int:
        """The offset of a 1-based line and column in code points, as findings have them: a byte order mark is none."""
        if line > len(self._starts):
            return len(self.text)
        start = self._starts[max(line, 1) - 1] + (line <= 1 and self.text.startswith("\ufeff"))
        following = self._starts[line] if 0 < line < len(self._starts) else len(self.text)
        return min(start + max(column, 1) - 1, following)


def units(text: str, encoding: str) -> int:
    """How many code units a text has."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def edited(text: str, change: Range | None, new: str, encoding: str) -> str:
    """A text after one change: `new` in the place of a range, or (None) of all."""
    if change is None:
        return new
    lines = Lines(text, encoding)
    start = lines.offset(change.start)
    end = max(start, lines.offset(change.end))
    return text[:start] + new + text[end:]
