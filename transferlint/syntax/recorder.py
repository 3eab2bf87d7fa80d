"""What LibCST calls while it writes a tree out, which notes where each node stands."""

from __future__ import annotations

import bisect
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState  # the one hook to positions besides LibCST's slow metadata

# Punctuation and blanks, whose positions nobody asks for.
SILENT = frozenset(
    (
        cst.SimpleWhitespace, cst.TrailingWhitespace, cst.ParenthesizedWhitespace, cst.EmptyLine, cst.Newline,
        cst.Comma, cst.Dot, cst.Colon, cst.Semicolon, cst.AssignEqual,
    )
)  # fmt: skip


class Recorder(CodegenState):
    """Walks along while LibCST writes the tree out, and notes at which offset each node begins and ends.

    `inner` is without a node's own parentheses, or a statement's blank lines; `outer` with them, where that differs.
    """

    def __init__(self, tree: cst.Module) -> None:
        super().__init__(default_indent=tree.default_indent, default_newline=tree.default_newline)
        self.inner: dict[int, tuple[int, int]] = {}
        self.outer: dict[int, tuple[int, int]] = {}
        self.comments: list[tuple[int, int]] = []
        self.offset = 0
        self._starts: list[int] = []

    def add_indent_tokens(self) -> None:
        self.tokens.extend(self.indent_tokens)
        for token in self.indent_tokens:
            self.offset += len(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            self.offset -= len(self.tokens.pop())

    def before_codegen(self, node: cst.CSTNode) -> None:
        if type(node) not in SILENT:
            self._starts.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        kind = type(node)
        if kind in SILENT:
            return
        key = id(node)
        whole = (self._starts.pop(), self.offset)
        inner = self.inner.setdefault(key, whole)
        if inner != whole:
            self.outer[key] = whole
        if kind is cst.Comment:
            self.comments.append(whole)

    def shift(self, gaps: list[tuple[int, int]], length: int) -> None:
        """Move all offsets to where they are in a text that has more than was written (see `align`)."""
        at = [offset for offset, _ in gaps]
        moved = [0, *(left_out for _, left_out in gaps)]

        def shifted(span: tuple[int, int]) -> tuple[int, int]:
            start, end = span
            start += moved[bisect.bisect_right(at, start)]
            end += moved[bisect.bisect_left(at, end)]
            return min(start, length), min(max(start, end), length)

        self.inner = {key: shifted(span) for key, span in self.inner.items()}
        self.outer = {key: shifted(span) for key, span in self.outer.items()}
        self.comments = [shifted(span) for span in self.comments]

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Stretch:
        return _Stretch(self, node, start_node, end_node)


class _Stretch:
    """The text written while this context is open, or what the two given nodes within it stand at."""

    __slots__ = ("end_node", "node", "recorder", "start", "start_node")

    def __init__(
        self, recorder: Recorder, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self.recorder = recorder
        self.node = node
        self.start_node = start_node
        self.end_node = end_node

    def __enter__(self) -> None:
        self.start = self.recorder.offset

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        inner = self.recorder.inner
        start = self.start if self.start_node is None else inner[id(self.start_node)][0]
        end = self.recorder.offset if self.end_node is None else inner[id(self.end_node)][1]
        inner[id(self.node)] = (start, end)
