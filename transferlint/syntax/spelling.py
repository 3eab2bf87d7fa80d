"""Names and small expressions as they are kept, however they were written."""

from __future__ import annotations

import unicodedata

from transferlint import late

_LINE_END = late.pattern(r"[ \t\f]*(?:\r\n|\r|\n)[ \t\f]*")


def identifier(text: str) -> str:
    """The name that an identifier stands for (docs.python.org, lexical analysis, 'Identifiers': compared in NFKC)."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def one_style(text: str) -> str:
    """The text of an expression on several lines with line ends as "\\n", and without the blanks around them."""
    return _LINE_END.sub("\n", text) if "\n" in text or "\r" in text else text
