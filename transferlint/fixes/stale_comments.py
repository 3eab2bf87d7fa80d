"""Comments that a fix would make untrue: they speak of the place or the copy that it changes, and a fix does not write
prose. Such an unsafe fix is only shown."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence

from transferlint import late
from transferlint.model import Edit, Fix, Safety

_OURS = late.pattern(r"#\s*transferlint:\s*\S+")  # what it says to this linter is no prose; a reason may follow
_CLOSING = late.pattern(r"(?:(?:\r\n|\n|\r)[ \t]*[)\]}]+[)\]},; \t]*(?:#[^\r\n]*)?)+")
_SPEAKS = late.pattern(
    r"\b(cpu|gpus?|cuda|xpu|mps|hosts?|devices?|\.?item|tolist|lists?|numpy|mov(e[sd]?|ing)|cop(y|ies|ied)|sync\w*|"
    r"transfer\w*|pin(s|ned|ning)?|uploads?|downloads?|waits?|waiting|blocking|async\w*)\b",
    re.I,
)


def without_stale_comments(text: str, comments: Sequence[tuple[int, int]], fix: Fix) -> Fix:
    """The fix, only shown if a comment on a line that it changes, or right above it, speaks of places and copies.
    `comments` are the offsets of the comments of `text`, in order."""
    if fix.safety is not Safety.UNSAFE:
        return fix
    starts = [start for start, _ in comments]
    for edit in fix.edits:
        for start, end in _beside(text, comments, starts, edit):
            if _SPEAKS.search(_OURS.sub("", text[start:end])):
                return late.replace(fix, safety=Safety.DISPLAY, title=f"{fix.title}, and see to the comment")
    return fix


def _beside(
    text: str, comments: Sequence[tuple[int, int]], starts: Sequence[int], edit: Edit
) -> Iterator[tuple[int, int]]:
    """The comments on the lines that an edit changes, those that stand on lines of their own right above, and what
    stands behind the brackets that close the statement right below. A line that is put in changes none."""
    if edit.start == edit.end and edit.text.endswith(("\n", "\r")):
        return
    line = max(text.rfind("\n", 0, edit.start), text.rfind("\r", 0, edit.start)) + 1
    last = max(edit.start, edit.end - 1)
    stop = min((at for at in (text.find("\n", last), text.find("\r", last)) if at >= 0), default=len(text))
    closing = _CLOSING.match(text, stop)
    stop = closing.end() if closing is not None else stop
    first = bisect.bisect_left(starts, line)
    yield from (comment for comment in comments[first : bisect.bisect_left(starts, stop)])
    for at in range(first - 1, -1, -1):
        start, end = comments[at]
        own = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
        if text[own:start].strip() or text[end:line].strip() or len(text[end:line].splitlines()) > 1:
            return
        yield comments[at]
        line = own
