"""Whether an unsafe fix reads as well as what was there, once it is laid out: if not, it is only shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transferlint import late
from transferlint.fixes.layout import laid_out
from transferlint.fixes.line_length import YAPF
from transferlint.fixes.rounds import apply_edits
from transferlint.fixes.surroundings import Statements
from transferlint.model import Edit, Fix, Safety

_SHORTEST = 79  # of "PEP 8"
_MORE = 3  # lines that one statement may not need on top of those there were
_IMPORT = late.pattern(r"(?:import|from)\b")


def laid_out_fix(statements: Statements, fix: Fix, limit: int, formatter: str) -> Fix:
    """A fix of a text whose lines keep to `limit` characters, as far as that can be done. An unsafe one that does not
    read well then is only shown: it takes more lines than it is worth, or has lines that the `formatter` of the project
    may lay out otherwise ("" for none: then no statement is put on more lines than its author did)."""
    edits = laid_out(statements, fix.edits, limit)
    shown = fix.safety is Safety.UNSAFE and (
        _lengthens(statements, fix, edits)
        or (formatter == YAPF and not all(_on_one_line(statements, edit) for edit in edits))
        or (not formatter and (_splits(statements, edits) or _unwraps(statements, edits)))
        or _fits(statements, edits, limit if formatter else _SHORTEST)
    )
    return late.replace(fix, edits=edits, safety=Safety.DISPLAY if shown else fix.safety)


def _lengthens(statements: Statements, fix: Fix, edits: Sequence[Edit]) -> bool:
    """True where a fix takes more lines than it is worth: of one statement, of those that it puts in, or of all."""
    more = {edit: _more(statements, edit) for edit in edits if not _IMPORT.match(edit.text)}
    whole = sum(lines for edit, lines in more.items() if _is_line(edit))
    changed = (lines for edit, lines in more.items() if edit not in fix.edits)
    return whole >= _MORE or any(lines >= _MORE for lines in changed) or sum(more.values()) > fix.lines


def _more(statements: Statements, edit: Edit) -> int:
    return edit.text.count("\n") - statements.text.count("\n", edit.start, edit.end)


def _is_line(edit: Edit) -> bool:
    return edit.start == edit.end and edit.text.endswith(("\n", "\r"))


def _on_one_line(statements: Statements, edit: Edit) -> bool:
    """True for an edit of a statement that is on one line and stays there, and for whole lines."""
    first, last = statements.line(edit.start), statements.line(max(edit.start, edit.end - 1))
    if _is_line(edit) or (not edit.text and edit.start == statements.starts[first - 1]):
        return True
    around = statements.around(first, last)
    one = around is not None and around[0] == around[1]
    return one and "\n" not in edit.text.removesuffix("\n")


def _splits(statements: Statements, edits: Sequence[Edit]) -> bool:
    """True where a statement takes more lines than its author gave it."""
    return any(_more(statements, edit) > 0 for edit in edits if not _is_line(edit))


def _unwraps(statements: Statements, edits: Sequence[Edit]) -> bool:
    """True where a line of a statement that its author wrapped becomes longer than any was there."""
    return any(
        max(map(len, new)) > max(_SHORTEST, *(len(line.rstrip()) for line in old))
        for old, new in _wrapped(statements, edits)
    )


def _fits(statements: Statements, edits: Sequence[Edit], limit: int) -> bool:
    """True where a statement that did not fit on one line does now: nobody would have wrapped it."""
    return any(_joined(new) <= limit < _joined(old) for old, new in _wrapped(statements, edits))


def _joined(lines: Sequence[str]) -> int:
    """How long the lines of a statement are as one."""
    ends = sum(line.rstrip().endswith(",") for line in lines[:-1])
    return len(lines[0].rstrip()) + sum(len(line.strip()) for line in lines[1:]) + ends


def _wrapped(statements: Statements, edits: Sequence[Edit]) -> Iterator[tuple[list[str], list[str]]]:
    """The lines of each statement of several that is changed, and what they become."""
    for edit in edits:
        lines = statements.line(edit.start), statements.line(max(edit.start, edit.end - 1))
        around = None if _is_line(edit) else statements.around(*lines)
        if around is None or around[0] == around[1]:
            continue
        start, end = statements.starts[around[0] - 1], statements.starts[around[1]]
        inner = [
            late.replace(one, start=one.start - start, end=one.end - start)
            for one in edits
            if start <= one.start and one.end <= end
        ]
        old = statements.lines[around[0] - 1 : around[1]]
        yield old, [line.rstrip() for line in apply_edits("".join(old), inner).splitlines()] or [""]
