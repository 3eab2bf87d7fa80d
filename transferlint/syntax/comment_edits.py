"""Suppression comments as text: codes taken out of one, codes put into one, a comment put at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from transferlint import late
from transferlint.model import Edit
from transferlint.syntax.suppressions import NOQA, OURS, Suppression

_SEPARATED = late.pattern(r"[,\s]+")


def without(text: str, comment: Suppression, codes: Collection[str]) -> Edit:
    """Take `codes` out of a suppression of `text`; where it has no others, it goes with its reason, and a line that
    held nothing else goes too."""
    match = _match(text, comment)
    listed = match["codes"] or ""
    kept = [code for code in _SEPARATED.split(listed.strip()) if code and code.upper() not in codes]
    offset = comment.start
    if kept:
        separator = ", " if "," in listed or comment.kind != "noqa" else " "
        return Edit(offset + match.start("codes"), offset + match.end("codes"), separator.join(kept))
    start, end = offset + match.start(), offset + _end(match, comment, text)
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if end < comment.end:
        return Edit(start, end, "")  # another comment follows: it takes the place
    before = text[line:start]
    if before.strip():
        return Edit(line + len(before.rstrip()), end, "")
    return Edit(line, end + len(_newline(text, end)), "")


def appended(end: int, codes: Sequence[str], reason: str, header: bool = False) -> Edit:
    """Silence `codes` on the line whose text, without blanks at its end, reaches up to `end` and has no comment.
    `header`: the line alone, though it opens a block."""
    return Edit(end, end, "  " + _written(codes, reason, header))


def extended(text: str, start: int, end: int, codes: Sequence[str], reason: str, header: bool = False) -> Edit:
    """Silence `codes` in the comment from `start` to `end`: in the suppression that it holds, or behind it."""
    comment = text[start:end]
    ours = OURS.search(comment)
    noqa = NOQA.search(comment)
    usable = ours is None or (ours["form"].lower() == "ignore" and (ours["codes"] or "").strip())
    as_noqa = header or not usable
    coded = noqa if noqa is not None and noqa["codes"] else None
    match = coded if as_noqa else ours
    if match is None:
        end = start + len(comment.rstrip())
        return Edit(end, end, "  " + _written(codes, reason, as_noqa))
    present = [code for code in _SEPARATED.split(match["codes"].strip()) if code]
    merged = sorted({code.upper() for code in present} | set(codes)) if match is ours else [*present, *codes]
    return Edit(start + match.start("codes"), start + match.end("codes"), ", ".join(merged))


def _written(codes: Sequence[str], reason: str, header: bool) -> str:
    if header:  # what follows the codes must not look like another one
        return f"# noqa: {', '.join(codes)}" + (f" - {reason}" if reason else "")
    return f"# transferlint: ignore[{', '.join(codes)}]" + (f" {reason}" if reason else "")


def _match(text: str, comment: Suppression) -> re.Match[str]:
    match = (NOQA if comment.kind == "noqa" else OURS).search(text[comment.start : comment.end])
    assert match is not None
    return match


def _end(match: re.Match[str], comment: Suppression, text: str) -> int:
    """Where a suppression ends within its comment, with its reason and the blanks behind."""
    following = text.find("#", comment.start + match.end(), comment.end)
    return (following if following >= 0 else comment.end) - comment.start


def _newline(text: str, at: int) -> str:
    return "\r\n" if text.startswith("\r\n", at) else text[at : at + 1]
