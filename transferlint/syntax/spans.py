"""Where a node stands in the text, computed when somebody asks for the first time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from transferlint import late
from transferlint.syntax import collector
from transferlint.syntax.deep import with_deep_stack
from transferlint.syntax.positions import Positions
from transferlint.syntax.recorder import Recorder

COMMENT = late.pattern(r"#[^\r\n]*")
_BLANK = late.pattern(r"(?:[\s\\]|#[^\r\n]*)*")
_COLON = late.pattern(r":|#[^\r\n]*")


class Spans(Positions):
    """Offsets, texts and sites of the nodes of one tree.

    `text` is what the tree was parsed from, without its byte order mark. Offsets are 0-based code points, ends
    exclusive. A node that is not part of the tree raises KeyError.
    """

    def __init__(self, tree: cst.Module, text: str) -> None:
        super().__init__(text)
        self._tree = tree
        self._record: Recorder | None = None

    def of(self, node: Any) -> tuple[int, int]:
        """The offsets of a node: of an expression without its own parentheses, of a statement or clause without the
        blanks and comments before it and without what follows its last token, of a module all of the text."""
        if node is self._tree:
            return 0, len(self.source)
        span = self._recorded().inner[id(node)]
        exact = _INEXACT.get(type(node))
        return span if exact is None else exact(self, node, *span)

    def _behind_blanks(self, node: Any, start: int, end: int) -> tuple[int, int]:
        match = _BLANK.match(self.source, start)
        return (match.end() if match else start), end

    def _up_to_colon(self, node: cst.Slice, start: int, end: int) -> tuple[int, int]:
        bounds = [part for part in (node.lower, node.upper, node.step) if part is not None]
        last = self.outer(bounds[-1])[1] if bounds else start
        for match in _COLON.finditer(self.source, last, end):
            if match.group() == ":":
                last = match.end()
        return start, last

    def outer(self, node: Any) -> tuple[int, int]:
        """The offsets of a node with its own parentheses."""
        record = self._recorded()
        inner = record.inner[id(node)]
        return record.outer.get(id(node), inner) if getattr(node, "lpar", ()) else inner

    def whole(self, node: Any) -> tuple[int, int]:
        """The offsets of everything LibCST keeps with a node: also the blanks and comments around it."""
        record = self._recorded()
        return record.outer.get(id(node)) or record.inner[id(node)]

    def comments(self) -> list[tuple[int, int]]:
        """The offsets of all comments, in order."""
        return sorted(self._recorded().comments)

    def _recorded(self) -> Recorder:
        if self._record is None:
            try:
                self._record = _record(self._tree, self.source)
            except RecursionError:
                self._record = with_deep_stack(lambda: _record(self._tree, self.source))
        return self._record


def _record(tree: cst.Module, text: str) -> Recorder:
    recorder = Recorder(tree)
    with collector.paused():
        tree._codegen(recorder)
    written = "".join(recorder.tokens)
    if written != text:
        gaps = align(written, text)
        recorder.shift(gaps, len(text))
        recorder.comments += _lost_comments(text, gaps)
    recorder.tokens.clear()
    return recorder


def align(written: str, text: str) -> list[tuple[int, int]]:
    """Where the text has more than was written: (offset in `written`, code points left out so far), ascending.

    LibCST's trees lose some blanks and comments (a space before the colon of `except A :`, a carriage return at the
    end of the file), so that what it writes is the text with a few gaps. Each gap is as short as lets the next
    stretch match.
    """
    gaps: list[tuple[int, int]] = []
    at = there = 0
    while at < len(written):
        run = _common(written, at, text, there)
        at += run
        there += run
        if at >= len(written):
            break
        for length in (64, 32, 16, 8, 4, 2, 1):
            found = text.find(written[at : at + length], there)
            if found >= 0:
                there = found
                gaps.append((at, there - at))
                break
        else:
            at += 1  # something the text does not have
    return gaps


def _lost_comments(text: str, gaps: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The offsets of the comments within the gaps."""
    before = 0
    for at, left_out in gaps:
        for match in COMMENT.finditer(text, at + before, at + left_out):
            yield match.span()
        before = left_out


def _common(one: str, start: int, other: str, other_start: int) -> int:
    """How many code points are the same from the two offsets on."""
    length = min(len(one) - start, len(other) - other_start)
    run = 0
    step = 4096
    while run < length:
        size = min(step, length - run)
        if one[start + run : start + run + size] == other[other_start + run : other_start + run + size]:
            run += size
        elif step == 1:
            break
        else:
            step = max(step // 8, 1)
    return run


# Kinds of nodes that LibCST counts the blanks before, or behind, as part of.
_INEXACT: dict[type, Callable[..., tuple[int, int]]] = {
    cst.CompFor: Spans._behind_blanks,
    cst.CompIf: Spans._behind_blanks,
    cst.Slice: Spans._up_to_colon,
}
