"""Comments that silence findings.

    x = loss.item()  # transferlint: ignore[TL101, TL2] read once on purpose      these codes, or all that begin so
    x = loss.item()  # transferlint: ignore                                       every code
    def log(loss):   # transferlint: ignore[TL101] called once an epoch           the whole body
    # transferlint: ignore-file[TL401] generated code                             the file; on a line of its own
    x = loss.item()  # noqa: TL101                                                this line, as flake8 and ruff have it

On any line of a simple statement a comment covers the whole statement; on the header of a `def`, `class`, `for`,
`while` or `with` that and the whole body; on the header of an `if` or another clause only the header. Text in strings
is never a comment.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from transferlint import late
from transferlint.syntax.positions import Positions

OURS = late.pattern(r"#\s*transferlint\s*:\s*(?P<form>[\w-]*)\s*(?:\[(?P<codes>[^\]#]*)\])?\s*(?P<rest>[^#]*)", re.I)
NOQA = late.pattern(r"#\s*noqa(?P<colon>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?(?![\w-])", re.I)
CODE = late.pattern(r"[A-Z]+[0-9]*\Z")
OUR_NOQA = late.pattern(r"TL[0-9]+\Z")

# First and last line of a simple statement or header, the last line that a comment on it covers, "line" or "block".
Entry = tuple[int, int, int, str]


@late.dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that silences findings whose first line is one of `first_line` to `last_line` (1-based, inclusive).

    `codes` are codes or beginnings of codes, empty for all. `line` is the comment's own, `start` and `end` its offsets.
    `kind`: "line" (a statement or header), "block" (a statement with its body), "file", "noqa", or "malformed": a
    comment that is addressed to us and not understood, silences nothing, and has that in its `codes`.
    """

    codes: tuple[str, ...]
    reason: str
    first_line: int
    last_line: int
    line: int
    start: int
    end: int
    kind: str

    def silences(self, code: str, first_line: int, last_line: int) -> bool:
        """Whether a finding of this code on these lines is silenced: one that begins in the covered lines, or has the
        comment on one of its own."""
        if self.kind == "malformed" or not (not self.codes or code.startswith(self.codes)):
            return False
        return self.first_line <= first_line <= self.last_line or first_line <= self.line <= last_line


def find(text: str, comments: Sequence[tuple[int, int]], lines: Callable[[], Lines]) -> list[Suppression]:
    """The suppressions of a file, in the order of its comments, which stand at the given offsets of `text`. `lines` is
    only called where a comment can be one."""
    found: list[Suppression] = []
    known: Lines | None = None
    for start, end in comments:
        comment = text[start:end]
        lowered = comment.lower()
        if "transferlint" in lowered or "noqa" in lowered:
            known = known or lines()
            found.extend(_of_comment(comment, start, text, known))
    return found


def _of_comment(comment: str, start: int, text: str, lines: Lines) -> Iterator[Suppression]:
    line, column = lines.positions.position(start)
    end = start + len(comment)
    ours = OURS.search(comment)
    if ours is not None:
        alone = not text[start - column + 1 : start].strip()
        yield _ours(ours, lines, line, (start, end), alone)
    noqa = NOQA.search(comment)
    if noqa is not None:
        codes = tuple(code.upper() for code in re.split(r"[,\s]+", noqa["codes"] or "") if code)
        of_ours = tuple(code for code in codes if OUR_NOQA.match(code))
        if of_ours or not codes:
            first, last, kind = lines.covered(line)
            if kind == "block":
                first = last = line
            reason = comment[noqa.end() :].partition("#")[0].strip().lstrip(":-").strip()
            yield Suppression(of_ours, reason, first, last, line, start, end, "noqa")


def _ours(match: re.Match[str], lines: Lines, line: int, span: tuple[int, int], alone: bool) -> Suppression:
    """One comment addressed to us."""
    form = match["form"].lower()
    codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
    reason = match["rest"].strip().lstrip(":-").strip()
    wrong = [code for code in codes if not CODE.match(code)]
    bracketed = match["codes"] is not None
    unclosed = match["rest"].lstrip().startswith("[")
    if form not in ("ignore", "ignore-file") or wrong or unclosed or (bracketed and not codes):
        what = wrong or [match["form"] + match["rest"] if form not in ("ignore", "ignore-file") else "["]
        return Suppression((" ".join(what).strip() or "transferlint:",), reason, line, line, line, *span, "malformed")
    if form == "ignore-file":
        if not alone:
            return Suppression((match["form"],), reason, line, line, line, *span, "malformed")
        return Suppression(codes, reason, 1, len(lines.positions.line_starts()), line, *span, "file")
    first, last, kind = lines.covered(line)
    return Suppression(codes, reason, first, last, line, *span, kind)


class Lines:
    """Which lines a comment on a line speaks for; `positions` are those of the text."""

    def __init__(self, positions: Positions, entries: Iterable[Entry]) -> None:
        self.positions = positions
        self.entries = sorted(entries)

    def covered(self, line: int) -> tuple[int, int, str]:
        """The first and last line that a comment on this line covers, and "line" or "block"."""
        first, _, covered, kind = self._entry(line)
        return first, max(covered, line), kind

    def statement(self, line: int) -> tuple[int, int, str]:
        """The first and last line of the innermost statement on this line (of a compound one, of its header), and
        "line" or "block" as in `covered`."""
        first, last, _, kind = self._entry(line)
        return first, last, kind

    def _entry(self, line: int) -> Entry:
        at = bisect.bisect_right(self.entries, (line, float("inf"))) - 1
        while at >= 0:
            entry = self.entries[at]
            if line <= entry[1]:
                return entry
            if at and self.entries[at - 1][0] != entry[0]:
                break
            at -= 1
        return line, line, line, "line"
