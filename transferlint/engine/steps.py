"""Checking a file in two steps, with what is known of its project between them.

`prepare` decodes, parses, lowers and freezes a file, and finds its suppressions; from the frozen programs of all files
the project is put together (`linked`); `check_prepared` analyses and runs the rules. The pieces, and what becomes of
what they raise, are those of `pipeline.py`.
"""

from __future__ import annotations

import array
import dataclasses
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transferlint import late
from transferlint.cache import programs
from transferlint.engine.detecting import detected
from transferlint.engine.pipeline import facts_of, finished, read_worth, unparsable
from transferlint.engine.plan import Checked, Outcome, Plan, internal
from transferlint.engine.writing import NO_STAMP, Stamp, stamp_of
from transferlint.files.screen import is_package
from transferlint.sources.discovery import Target
from transferlint.syntax import collector, notebooks

if TYPE_CHECKING:
    from transferlint.flow.callgraph.modules import ModuleIndex
    from transferlint.flow.lattice.options import AnalysisOptions
    from transferlint.flow.project import Project
    from transferlint.syntax.parts import Parts
    from transferlint.syntax.program import Program
    from transferlint.syntax.source import Source
    from transferlint.syntax.suppressions import Suppression


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What the first step made of a file: its frozen program and its suppressions, or (with `outcome`) all there is to
    say already. `source` is kept only of files that are checked, their bytes (`data`) only where they may be fixed;
    `kept` says that the program lies in the cache, to be read when it is asked for.
    `lines` holds the offsets at which lines begin, `marks` those of comments, starts and ends in turn,
    `parentheses` what `portable.parenthesised` gives, `stamp` which state of the file was read. `text` is that of the
    source, packed, where that has none."""

    path: str
    program: Program | None = None
    kept: bool = False
    comments: tuple[Suppression, ...] = ()
    source: Source | None = None
    data: bytes = b""
    lines: array.array[int] = dataclasses.field(default_factory=lambda: array.array("i"))
    marks: array.array[int] = dataclasses.field(default_factory=lambda: array.array("i"))
    parentheses: array.array[int] = dataclasses.field(default_factory=lambda: array.array("i"))
    outcome: Outcome | None = None
    stamp: Stamp = NO_STAMP
    text: bytes = b""

    def __reduce__(self) -> tuple[Any, ...]:
        """From a worker to its parent the program goes packed."""
        from transferlint.syntax.portable import pack

        packed = b"" if self.program is None else pack(self.program)
        return _restored, (
            packed,
            self.path,
            self.kept,
            self.comments,
            self.source,
            self.data,
            self.lines,
            self.marks,
            self.parentheses,
            self.outcome,
            self.stamp,
            self.text,
        )

    def packed(self) -> Prepared:
        """The same with its text packed, a quarter of it."""
        if self.source is None or self.text:
            return self
        packed = zlib.compress(self.source.text.encode("utf-8", "surrogatepass"), 1)
        return late.replace(self, source=late.replace(self.source, text=""), text=packed)

    def unpacked_source(self) -> Source | None:
        """The source with its text."""
        if self.source is None or not self.text:
            return self.source
        return late.replace(self.source, text=zlib.decompress(self.text).decode("utf-8", "surrogatepass"))


def _restored(packed: bytes, path: str, *others: Any) -> Prepared:
    from transferlint.syntax.portable import unpack

    return Prepared(path, unpack(packed) if packed else None, *others)


def prepare(target: Target, plan: Plan, ignored: tuple[str, ...] = (), wanted: bool = True) -> Prepared:
    """The first step for a file. One that is not `wanted` is only context: what cannot be parsed is not in it."""
    stamp = stamp_of(target.path) if plan.changes else NO_STAMP
    data = read_for(target)
    if isinstance(data, Outcome):
        return Prepared(target.path, outcome=data)
    return late.replace(prepare_bytes(target.path, data, plan, ignored, wanted), stamp=stamp)


def read_for(target: Target) -> bytes | Outcome:
    """The bytes that the first step starts from; as `pipeline.read_worth`, but that an `__init__.py` always counts."""
    return read_worth(target, always=is_package(target.path))


def prepare_bytes(path: str, data: bytes, plan: Plan, ignored: tuple[str, ...] = (), wanted: bool = True) -> Prepared:
    """`prepare` for a file whose bytes are at hand, whatever is in them."""
    from transferlint.syntax import front_end
    from transferlint.syntax.source import SourceError, decode

    if path.endswith(notebooks.SUFFIX):  # what is kept under its bytes would be its JSON
        plan = late.replace(plan, cache="")
    if plan.cache and not wanted and programs.holds(plan.cache, data):
        return Prepared(path, kept=True)
    kept = programs.read(plan.cache, path, data) if plan.cache else None
    source = None
    text = ""
    try:
        if wanted or kept is None:
            source = decode(path, data)
            text = source.text
        if kept is None and source is not None:
            kept = front_end.read(source, plan.front_end)
            if plan.cache:
                programs.write(plan.cache, data, kept)
    except SourceError as error:
        return Prepared(path, outcome=unparsable(error, text, path, plan, ignored))
    except Exception as error:  # a defect of ours must not end the run
        return Prepared(path, outcome=Outcome(path, troubles=(internal("the front end", path, error),)))
    assert kept is not None
    program, comments, lines, marks, parentheses = kept
    if not wanted:
        return Prepared(path, kept=True) if plan.cache else Prepared(path, program, lines=lines)
    return Prepared(path, program, False, comments, source, data if plan.changes else b"", lines, marks, parentheses)


def prepare_source(
    source: Source, plan: Plan, ignored: tuple[str, ...] = (), before: Prepared | None = None
) -> Prepared:
    """`prepare` for a text that is decoded already; nothing is read from or written to the cache. `before` is what
    became of another text of the file, of which this one may be a small change."""
    from transferlint.syntax import front_end
    from transferlint.syntax.source import SourceError

    try:
        program, comments, lines, marks, parentheses = front_end.read(source, plan.front_end, _parts(before))
    except SourceError as error:
        return Prepared(source.path, outcome=unparsable(error, source.text, source.path, plan, ignored))
    except Exception as error:
        trouble = internal("the front end", source.path, error)
        return Prepared(source.path, outcome=Outcome(source.path, troubles=(trouble,)))
    return Prepared(source.path, program, False, comments, source, b"", lines, marks, parentheses)


def _parts(before: Prepared | None) -> tuple[Source, Parts] | None:
    if before is None or before.source is None or before.program is None:
        return None
    return before.source, (before.program, before.comments, before.lines, before.marks, before.parentheses)


def check_prepared(prepared: Prepared, plan: Plan, ignored: tuple[str, ...], project: Project | None) -> Outcome:
    """The second step for a file that is wanted; `project` None means that nothing is known beyond the file."""
    from transferlint.syntax.portable import FrozenSpans

    path, source, program = prepared.path, prepared.unpacked_source(), prepared.program
    if prepared.outcome is not None:
        return prepared.outcome
    if source is None or program is None:
        return Outcome(path)
    try:
        spans = FrozenSpans(source.text, prepared.lines, prepared.marks, prepared.parentheses)
        facts = facts_of(path, source.text, program, spans, plan, project)
        checked = detected(facts, prepared.comments, plan, ignored)
        facts.let_go()
    except Beyond:
        raise
    except Exception as error:
        checked = Checked((), (internal("the analysis", path, error),))
    try:
        outcome = finished(source, prepared.data, checked, plan, ignored, project)
    except Exception as error:
        return Outcome(path, troubles=(internal("the engine", path, error),))
    looked = tuple(sorted(project.looked.get(path, ()))) if project is not None else ()
    return late.replace(outcome, looked=looked) if looked else outcome


class Beyond(Exception):
    """A file was asked for that is analysed apart from this project."""


class Programs(Mapping[str, "Program"]):
    """The programs of a project by path; those that are only kept are read when they are asked for. `beyond` are files
    that nothing in it was to ask for: whether one is there raises Beyond."""

    def __init__(self, prepared: Iterable[Prepared], plan: Plan, beyond: Container[str] = ()) -> None:
        self._prepared = {one.path: one for one in prepared if one.program is not None or one.kept}
        self._plan = plan
        self._beyond = beyond

    def __getitem__(self, path: str) -> Program:
        program = self._loaded(path).program
        assert program is not None
        return program

    def __iter__(self) -> Iterator[str]:
        return iter(self._prepared)

    def __len__(self) -> int:
        return len(self._prepared)

    def __contains__(self, path: object) -> bool:
        if path in self._prepared:
            return True
        if path in self._beyond:
            raise Beyond(path)
        return False

    def lines(self, path: str) -> Sequence[int]:
        """The offsets at which the lines of a file begin."""
        return self._loaded(path).lines

    def _loaded(self, path: str) -> Prepared:
        if self._prepared[path].program is None:
            self._prepared[path] = self._read(path)
        return self._prepared[path]

    def _read(self, path: str) -> Prepared:
        from transferlint.syntax.program import Function, Program

        data = read_worth(Target(path), always=True)
        if isinstance(data, bytes):
            found = programs.read(self._plan.cache, path, data)
            if found is not None:
                return Prepared(path, found[0], lines=found[2])
            again = prepare_bytes(path, data, late.replace(self._plan, cache=""), wanted=False)
            if again.program is not None:
                return again
        return Prepared(path, Program(path, [Function(0, "module", "<module>", "<module>", -1, (0, 0))]))


def linked(
    prepared: Iterable[Prepared],
    index: ModuleIndex,
    plan: Plan,
    entered: Container[str],
    own: Mapping[str, AnalysisOptions] | None = None,
    beyond: Container[str] = (),
    recorded: bool = False,
) -> Project:
    """The project of all programs, put together here so that processes forked from this one share it; `index` has all
    its modules, also those that were not prepared. `entered` are the files whose calls count, `own` has the options of
    files for which those of the plan do not hold, `beyond` are files of which nothing here knows. `recorded`: it is
    to be written down."""
    from transferlint.flow.incremental.recorded import RecordedProject
    from transferlint.flow.project import Project

    found = Programs(prepared, plan, beyond)
    inside = [path for path in found if path in entered]
    kind = RecordedProject if recorded else Project
    project = kind(found, index, plan.options, found.lines, inside, own)
    with collector.paused():
        project.link()
    return project
