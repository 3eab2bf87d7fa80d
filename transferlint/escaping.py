"""Text that others wrote (names of files, source, settings), made fit for a terminal and for the log of a CI job.

Three things in it would be taken for more than text, and are shown as the escapes that a Python string would have:

- control characters, line and paragraph separators (they move the cursor, colour, or begin a line that is not ours),
  and format characters, among them the bidirectional ones with which text reads otherwise than it runs
  (Unicode Standard Annex 9; CVE-2021-42574);
- `##[`, `##vso[` and `##teamcity[`, which CI services take for commands anywhere in a line (GitHub's runner in
  `ActionCommand.TryParse`, Azure Pipelines in its logging commands);
- `::` at the beginning of a line, which GitHub's runner takes for a command (`ActionCommand.TryParseV2`).

What was escaped holds nothing that is escaped again, so that it does not matter how often it is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from transferlint import late

_ESCAPED = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_COMMAND = late.pattern(r"##(?=\w*\[)")
_AT_THE_START = late.pattern(r"\A(\s*):(?=:)")


def character(one: str) -> str:
    """A character as it may be shown: itself, or its escape."""
    if one.isprintable():
        return one
    import unicodedata  # which few texts need

    if unicodedata.category(one) not in _ESCAPED:
        return one
    return one.encode("unicode_escape", "surrogatepass").decode("ascii")


def escaped(text: str) -> str:
    """A text that stands within a line."""
    if not text.isprintable():
        text = "".join(map(character, text))
    return _COMMAND.sub(r"#\\x23", text) if "##" in text else text


def line(text: str) -> str:
    """A whole line, without its end."""
    return _AT_THE_START.sub(r"\1\\x3a", escaped(text))


def lines(texts: Iterable[str]) -> str:
    """Whole lines, each with its end."""
    return "".join(line(text) + "\n" for text in texts)


def diff(text: str) -> str:
    """A unified diff, in which the tabs of its lines and their ends stay as they are."""
    return "".join(_AT_THE_START.sub(r"\1\\x3a", _line_of_diff(one)) for one in re.findall(r"[^\n]*\n|[^\n]+", text))


def _line_of_diff(text: str) -> str:
    content = text.rstrip("\n").removesuffix("\r")
    return "\t".join(map(escaped, content.split("\t"))) + text[len(content) :]


def data(text: str) -> str:
    """JSON in ASCII, with what CI services take for commands written as JSON's own escapes: it says the same."""
    return _COMMAND.sub(r"\\u0023#", text)
