"""What a parsed text holds besides its tree: comments and parentheses, found in one pass over it.

The text must be one that a parser accepts; of any other the answer means nothing, though there is one. Takes time
linear in the length of the text.
"""

from __future__ import annotations

import re
import sys

from transferlint import late

# Strings end at the latest at the end of the text, so that nothing backtracks. One with the prefix of a formatted
# string (or behind a word that ends like one: `if"x":`) is left to `Scan`.
_STRING = r"""(?:'''[^\\']*(?:(?:\\.|'(?!''))[^\\']*)*(?:''')?|\"\"\"[^\\"]*(?:(?:\\.|"(?!""))[^\\"]*)*(?:\"\"\")?
    |'[^\\'\r\n]*(?:\\(?:\r\n|.)[^\\'\r\n]*)*'?|"[^\\"\r\n]*(?:\\(?:\r\n|.)[^\\"\r\n]*)*"?)"""
_FLAGS = re.X | re.S
_PLAIN = late.pattern(_STRING, _FLAGS)
_TOKENS = late.pattern(
    r"""(?:[^'"\#()]+|(?<![fFtT])(?<![fFtT][rR])STRING)*
    (?:('''|\"\"\"|'|")|(\#[^\r\n]*)|(\()|(\))|\Z)""".replace("STRING", _STRING),
    _FLAGS,
)
_PREFIX = late.pattern(r"(?:^|\W)([fFtT][rR]?|[rR][fFtT])\Z")
_LITERAL = late.pattern(r"[^\\{}'\"]+")
_CODE = late.pattern(r"[^'\"\#()\[\]{}:!=<>]+")
_NAMED = late.pattern(r"\\N\{[^{}]*\}")
_QUOTE, _COMMENT, _OPEN, _CLOSE = range(1, 5)
NESTS_QUOTES = sys.version_info >= (3, 12)  # PEP 701: a formatted string may hold its own quotes


class Scan:
    """The comments of a text, as offsets in order, and its parentheses: for each offset of `(` that of its `)`.

    `fields` are the expressions in formatted strings, as offsets in order with the number of formatted strings around
    their own.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[tuple[int, int]] = []
        self.pairs: dict[int, int] = {}
        self.fields: list[tuple[int, int, int]] = []
        self._stack: list[int] = []
        at = 0
        while at < len(text):
            at = self._code(at)

    def _code(self, at: int) -> int:
        """Go on up to the end of the next formatted string, or of the text; where that is."""
        stack, pairs, comments = self._stack, self.pairs, self.comments
        for match in _TOKENS.finditer(self.text, at):
            kind = match.lastindex
            if kind == _OPEN:
                stack.append(match.end() - 1)
            elif kind == _CLOSE:
                if stack:
                    pairs[stack.pop()] = match.end() - 1
            elif kind == _COMMENT:
                comments.append(match.span(_COMMENT))
            elif kind == _QUOTE:
                return self._string(match.start(_QUOTE), 0)
            else:
                break
        return len(self.text)

    def _string(self, at: int, level: int) -> int:
        """The end of the string whose opening quote stands at `at`."""
        text = self.text
        prefix = _PREFIX.search(text, max(at - 3, 0), at)
        plain = _PLAIN.match(text, at)
        end = plain.end() if plain else at + 1
        if prefix is None:
            return end
        quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
        limit = len(text) if NESTS_QUOTES else end - len(quote)
        raw = "r" in prefix[1].lower()
        return self._literal(at + len(quote), limit, quote, raw, level)

    def _literal(self, at: int, limit: int, quote: str, raw: bool, level: int) -> int:
        """The end of a formatted string whose literal text goes on at `at`."""
        text = self.text
        while at < limit:
            match = _LITERAL.match(text, at, limit)
            if match is not None:
                at = match.end()
            elif text.startswith(quote, at):
                return at + len(quote)
            elif text[at] == "\\":
                at = self._escape(at, raw)
            elif text.startswith(("{{", "}}"), at):
                at += 2
            elif text[at] == "{":
                at = self._field(at + 1, limit, raw, level)
            else:
                at += 1
        return min(limit + len(quote), len(text))

    def _escape(self, at: int, raw: bool) -> int:
        """Behind a backslash and what it takes with it; a brace is never taken."""
        named = None if raw else _NAMED.match(self.text, at)
        if named is not None:
            return named.end()
        return at + (1 if self.text.startswith(("{", "}"), at + 1) else 2)

    def _field(self, at: int, limit: int, raw: bool, level: int) -> int:
        """The end of a replacement field whose expression begins at `at`, with its format specification."""
        text = self.text
        number = len(self.fields)
        self.fields.append((at, at, level))
        start = at
        at = self._expression(at, limit, level)
        self.fields[number] = (start, at, level)
        while at < limit and text[at] not in ":}":  # `=` and `!r`, with blanks
            at = self._comment(at, limit) if text[at] == "#" else at + 1
        if at < limit and text[at] == ":":
            at += 1
            while at < limit and text[at] != "}":
                if text[at] == "{":
                    at = self._field(at + 1, limit, raw, level)
                else:
                    at = self._escape(at, raw) if text[at] == "\\" else at + 1
        return at + 1

    def _expression(self, at: int, limit: int, level: int) -> int:
        """The end of the expression in a replacement field: `}`, `:`, `!` or `=` outside of all brackets."""
        text = self.text
        depth = 0
        while at < limit:
            sign = text[at]
            if sign in "([{":
                depth += 1
                if sign == "(":
                    self._stack.append(at)
            elif sign in ")]}":
                if depth == 0:
                    break
                depth -= 1
                if sign == ")" and self._stack:
                    self.pairs[self._stack.pop()] = at
            elif sign in "'\"":
                at = self._string(at, level + 1)
                continue
            elif sign == "#":
                at = self._comment(at, limit)
                continue
            elif sign in "!=<>" and text.startswith("=", at + 1):
                at += 2
                continue
            elif sign in ":!=" and depth == 0:
                break
            match = _CODE.match(text, at + 1, limit)
            at = match.end() if match else at + 1
        return at

    def _comment(self, at: int, limit: int) -> int:
        """The end of the comment that begins here."""
        end = at
        while end < limit and self.text[end] not in "\r\n":
            end += 1
        self.comments.append((at, end))
        return end
