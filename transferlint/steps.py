"""Checking a file in two steps, with what is known of its project between them.

`prepare` decodes, parses, lowers and freezes a file, and finds its suppressions; from the frozen programs of all files
the project is put together (`linked`); `check_prepared` analyses and runs the rules. The pieces, and what becomes of
what they raise, are those of `pipeline.py`.
"""

from __future__ import annotations

import array
import dataclasses
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from transferlint.discovery import Target
from transferlint.pipeline import Checked, Outcome, Plan, detected, facts_of, finished, internal, read_worth, unparsable
from transferlint.syntax import collector

if TYPE_CHECKING:
    from transferlint.flow.modules import ModuleIndex
    from transferlint.flow.project import Project
    from transferlint.syntax.program import Program
    from transferlint.syntax.source import Source
    from transferlint.syntax.suppressions import Suppression


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What the first step made of a file: its frozen program and its suppressions, or (with `outcome`) all there is to
    say already. `source` is kept only of files that are checked, their bytes (`data`) only where they may be fixed;
    `lines` holds the offsets at which lines begin, `marks` those of comments, starts and ends in turn,
    `parentheses` what `portable.parenthesised` gives."""

    path: str
    program: Program | None = None
    comments: tuple[Suppression, ...] = ()
    source: Source | None = None
    data: bytes = b""
    lines: array.array[int] = dataclasses.field(default_factory=lambda: array.array("i"))
    marks: array.array[int] = dataclasses.field(default_factory=lambda: array.array("i"))
    parentheses: array.array[int] = dataclasses.field(default_factory=lambda: array.array("i"))
    outcome: Outcome | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """From a worker to its parent the program goes packed."""
        from transferlint.syntax.portable import pack

        packed = b"" if self.program is None else pack(self.program)
        return _restored, (
            packed,
            self.path,
            self.comments,
            self.source,
            self.data,
            self.lines,
            self.marks,
            self.parentheses,
            self.outcome,
        )


def _restored(packed: bytes, path: str, *others: Any) -> Prepared:
    from transferlint.syntax.portable import unpack

    return Prepared(path, unpack(packed) if packed else None, *others)


def prepare(target: Target, plan: Plan, ignored: tuple[str, ...] = (), wanted: bool = True) -> Prepared:
    """The first step for a file. One that is not `wanted` is only context: what cannot be parsed is not in it."""
    data = read_worth(target, always=os.path.basename(target.path) == "__init__.py" and not wanted)
    if isinstance(data, Outcome):
        return Prepared(target.path, outcome=data)
    return prepare_bytes(target.path, data, plan, ignored, wanted)


def prepare_bytes(path: str, data: bytes, plan: Plan, ignored: tuple[str, ...] = (), wanted: bool = True) -> Prepared:
    """`prepare` for a file whose bytes are at hand, whatever is in them."""
    from transferlint.syntax.source import SourceError, decode, parse

    text = ""
    try:
        source = decode(path, data)
        text = source.text
        tree = parse(source)
    except SourceError as error:
        return Prepared(path, outcome=Outcome(path, findings=unparsable(error, path, plan, ignored), text=text))
    except Exception as error:  # a defect of ours must not end the run
        return Prepared(path, outcome=Outcome(path, troubles=(internal("the engine", path, error),)))
    try:
        from transferlint.syntax import lower, portable, spans, suppressions

        positions = spans.Spans(tree, text)
        program = lower.lower(tree, path)
        parentheses = portable.parenthesised(program, positions) if wanted else array.array("i")
        portable.freeze(program, positions)
        lines = array.array("i", positions.line_starts())
        if not wanted:
            return Prepared(path, program, lines=lines)
        comments = tuple(suppressions.find(text, tree, positions))
        marks = array.array("i", (offset for pair in positions.comments() for offset in pair))
    except Exception as error:
        return Prepared(path, outcome=Outcome(path, troubles=(internal("the analysis", path, error),)))
    return Prepared(path, program, comments, source, data if plan.fix else b"", lines, marks, parentheses)


def check_prepared(prepared: Prepared, plan: Plan, ignored: tuple[str, ...], project: Project | None) -> Outcome:
    """The second step for a file that is wanted; `project` None means that nothing is known beyond the file."""
    from transferlint.syntax.portable import FrozenSpans

    path, source, program = prepared.path, prepared.source, prepared.program
    if prepared.outcome is not None:
        return prepared.outcome
    if source is None or program is None:
        return Outcome(path)
    try:
        spans = FrozenSpans(source.text, prepared.lines, prepared.marks, prepared.parentheses)
        checked = detected(facts_of(path, source.text, program, spans, plan, project), prepared.comments, plan, ignored)
    except Exception as error:
        checked = Checked((), (internal("the analysis", path, error),))
    try:
        return finished(source, prepared.data, checked, plan, ignored, project)
    except Exception as error:
        return Outcome(path, troubles=(internal("the engine", path, error),))


def linked(prepared: Iterable[Prepared], index: ModuleIndex, plan: Plan) -> Project:
    """The project of all programs, put together here so that processes forked from this one share it; `index` has all
    its modules, also those that were not prepared."""
    from transferlint.flow.project import Project

    whole = [one for one in prepared if one.program is not None]
    programs = {one.path: one.program for one in whole if one.program is not None}
    project = Project(programs, index, plan.options, {one.path: one.lines for one in whole})
    with collector.paused():
        project.link()
    return project
