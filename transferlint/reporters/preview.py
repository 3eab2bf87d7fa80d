"""The edits of a fix that no option applies, as the lines that they change."""

from __future__ import annotations

import itertools

from transferlint import escaping
from transferlint.model import Edit, Finding, Safety
from transferlint.reporters.report import lines_of
from transferlint.rows import Row

_MOST = 12  # lines of a preview; with more it is no longer looked at
_WIDTH = 160


def rows(finding: Finding, text: str, width: int = 0) -> list[Row]:
    """What the edits of a fix that is only shown would make: a heading, then each changed line before and after, in
    `width` cells (0: as wide as any source line is shown)."""
    fix = finding.fix
    if fix is None or fix.safety is not Safety.DISPLAY or not fix.edits or not text:
        return []
    changes = _changes(text, sorted(fix.edits, key=lambda edit: (edit.start, edit.end)))
    most = min(width - 6, _WIDTH) if width else _WIDTH
    shown: list[Row] = [[("dim", "   = "), ("label", "shown only"), ("", f": {fix.title}")]]
    for old, new in changes:
        shown += [[("dim", "     "), ("site", f"-{_cut(line, most)}")] for line in old]
        shown += [[("dim", "     "), ("option", f"+{_cut(line, most)}")] for line in new]
    return shown if len(shown) <= _MOST else [*shown[:_MOST], [("dim", "     ...")]]


def _changes(text: str, edits: list[Edit]) -> list[tuple[list[str], list[str]]]:
    """The lines that edits touch, before and after, as one pair for edits on the same lines."""
    found: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        start, end = _line(text, edit.start), _end(text, edit.end)
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]), [*found[-1][2], edit])
        else:
            found.append((start, end, [edit]))
    pairs = []
    for start, end, inside in found:
        made, at = "", start
        for edit in inside:
            made += text[at : edit.start] + edit.text
            at = edit.end
        old, new = (_listed(part) for part in (text[start:end], made + text[at:end]))
        same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
        old, new = old[same:], new[same:]
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        pairs.append((old, new))
    return pairs


def _listed(text: str) -> list[str]:
    lines = lines_of(text)
    return lines[:-1] if lines[-1] == "" else lines


def _line(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _end(text: str, offset: int) -> int:
    """The offset after the end of the line that an edit ends in; of one that ends before a line's first character, its
    own."""
    if offset and text[offset - 1] in "\r\n":
        return offset
    ends = [at for at in (text.find("\n", offset), text.find("\r", offset)) if at >= 0]
    return min(ends) + 1 if ends else len(text)


def _cut(line: str, most: int) -> str:
    clean = escaping.escaped(line.expandtabs(4))
    return clean if len(clean) <= most else clean[: most - 3] + "..."
