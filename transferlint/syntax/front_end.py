"""From a source to all that the analysis needs of it, by the front end that suits.

There are two, proven to give the same: Python's own parser, ten times as fast, and LibCST's, the reference, which is
also what every edit is made on and reads syntax that is newer than the running Python. A file that only one of them can
read is read by that one.
"""

from __future__ import annotations

import array
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from transferlint.syntax import portable, suppressions
from transferlint.syntax.parts import Parts
from transferlint.syntax.positions import Positions
from transferlint.syntax.source import Source, SourceError, parse, parse_ast
from transferlint.syntax.suppressions import Lines

if TYPE_CHECKING:
    import libcst as cst

EITHER, AST, LIBCST = "", "ast", "libcst"


def read(source: Source, front_end: str = EITHER, before: tuple[Source, Parts] | None = None) -> Parts:
    """What is kept of a source; `before` is another text of the file, and what was kept of that. Raises SourceError
    where the front end, or each of both, cannot read it."""
    if before is not None and front_end != LIBCST:
        from transferlint.syntax import again

        found = again.read(source, before)
        if found is not None:
            return found
    if front_end != LIBCST:
        try:
            return by_ast(source)[0]
        except SourceError:
            if front_end == AST:
                raise
    return by_libcst(source)[0]


def refusal(source: Source) -> str:
    """Why a source cannot be edited, in one line; "" where it can."""
    try:
        parse(source)
    except SourceError as error:
        place = f" line {error.line}" if error.line else " it"
        return f"LibCST, which makes all changes, cannot read{place} ({error.message})"
    return ""


def by_ast(source: Source) -> tuple[Parts, Callable[[], Lines]]:
    """What Python's own parser makes of a source, and how to get the lines of its statements. Raises SourceError."""
    from transferlint.syntax import lower_ast
    from transferlint.syntax.from_ast import statement_lines
    from transferlint.syntax.from_ast.fields import Misplaced
    from transferlint.syntax.from_ast.places import Places
    from transferlint.syntax.scan import Scan

    tree = parse_ast(source)
    scan = Scan(source.text)
    places = Places(source.text, scan)
    try:
        program = lower_ast.lower(tree, places, source.path)
    except Misplaced as error:
        raise SourceError(source.path, places.line(error.args[0])[0], "a formatted string cannot be read") from None
    parentheses = lower_ast.freeze(program, places)
    positions = portable.FrozenSpans(source.text, places.lines)
    lines = functools.partial(statement_lines.lines, tree, places, positions)
    comments = suppressions.find(source.text, scan.comments, lines)
    return (portable.share(program), tuple(comments), *_arrays(positions, scan.comments), parentheses), lines


def by_libcst(source: Source) -> tuple[Parts, Callable[[], Lines]]:
    """The same by LibCST. Raises SourceError, too, where the tree nests more deeply than the interpreter can recurse:
    since Python 3.12 no stack and no `sys.setrecursionlimit` lifts its limit for calls by way of C
    (docs.python.org/3/whatsnew/3.12.html, "sys")."""
    tree = parse(source)
    try:
        return _by_libcst(source, tree)
    except RecursionError:
        raise SourceError(source.path, None, "nests too deeply for this version of Python") from None


def _by_libcst(source: Source, tree: cst.Module) -> tuple[Parts, Callable[[], Lines]]:
    from transferlint.syntax import lower, spans, statement_lines

    positions = spans.Spans(tree, source.text)
    program = lower.lower(tree, source.path)
    parentheses = portable.parenthesised(program, positions)
    marks = positions.comments()
    lines = functools.partial(statement_lines.lines, tree, positions)
    comments = suppressions.find(source.text, marks, lines)
    portable.freeze(program, positions)
    return (program, tuple(comments), *_arrays(positions, marks), parentheses), lines


def _arrays(positions: Positions, comments: list[tuple[int, int]]) -> tuple[array.array[int], array.array[int]]:
    return array.array("i", positions.line_starts()), array.array("i", (at for pair in comments for at in pair))
