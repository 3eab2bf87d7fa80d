"""A project that is kept in memory between checks: its files, who imports whom, and what was made of them.

What is found in a file is what `transferlint check FILE` finds from the same folder, with the texts of open documents
in the place of files. Nothing is read from disk again unless somebody says that it may have changed (`look_again`,
`renew`).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.cache import programs
from transferlint.engine import pipeline, steps
from transferlint.engine.plan import Outcome, Plan, internal
from transferlint.engine.scopes import Scopes
from transferlint.engine.steps import Prepared, Programs
from transferlint.files.screen import is_package, worth_analysing
from transferlint.flow.incremental.traced_project import TracedProject
from transferlint.flow.incremental.traces import Unforeseen
from transferlint.model import Finding
from transferlint.sources import context
from transferlint.sources.context import Context, Sources
from transferlint.sources.discovery import Target, Trouble
from transferlint.syntax import collector
from transferlint.syntax.source import Source

if TYPE_CHECKING:
    from transferlint.flow.callgraph.modules import ModuleIndex
    from transferlint.flow.project import Project
    from transferlint.sources.reach import Reach, Reached


class Superseded(Exception):
    """Nobody waits for this check any more."""


@dataclasses.dataclass(frozen=True)
class Checked:
    """What came of a document, and all that its fixes are made from: its source (None where it cannot be read), the
    plan, the selectors that do not count in it, and its project (None where it was seen alone)."""

    outcome: Outcome
    source: Source | None
    plan: Plan
    ignored: tuple[str, ...]
    project: Project | None = None

    def again(self, text: str) -> list[Finding]:
        """What is found in another text of the document, within the project as it was. Raises SourceError."""
        return list(pipeline.check_text(self.outcome.path, text, self.plan, self.ignored, self.project).findings)


class KeptProject:
    """The project of a document at `path`. `scopes` are the settings of its files, `cache` is the folder of kept
    programs ("" for none); `alien` says that the document belongs to it though no walk comes by it (it is excluded, not
    saved yet, or a link). Every path is relative to the current folder, which is the same at every call."""

    def __init__(self, scopes: Scopes, cache: str, path: str, alien: bool = False) -> None:
        self._scopes = scopes
        self._cache = cache
        self._path = path
        self._alien = alien
        self._context: Context | None = None
        self._sources = Sources(())
        self._reach: Reach | None = None
        # By document what imports connect with it (None: too many files), as long as no file leads elsewhere.
        self._near: dict[str, Reached | None] = {}
        self._index: ModuleIndex | None = None
        self._prepared: dict[str, Prepared] = {}
        self._open: dict[str, str] = {}
        self._options: dict[str, int] = {}
        self._read: dict[str, Prepared] = {}  # by document, what its last text that could be parsed became
        self._projects: dict[str, TracedProject] = {}  # by document, as they were last put together
        self._current = False

    def holds(self, path: str) -> bool:
        """Whether a document is one of the project's files, under its own name."""
        self._look()
        assert self._context is not None
        return bool(self._context.note) or (path in self._context.files and path not in self._context.links)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong with the settings, a line each."""
        return tuple(str(trouble) for trouble in self._scopes.troubles())

    def look_again(self) -> None:
        """Any file may have changed: look at all of them before the next check."""
        self._current = False

    def renew(self, path: str) -> None:
        """One file may have changed on disk."""
        if path not in self._open:
            self._forget(path, None)

    def check(self, path: str, source: Source, texts: Mapping[str, str], stop: Callable[[], bool]) -> Checked:
        """Check a document; `texts` are those of all open ones, by path. Raises Superseded once `stop` says so."""
        plan = late.replace(self._scopes.plans[self._scopes.of(path)], cache="")
        ignored = self._scopes.ignored(path)
        prepared = steps.prepare_source(source, plan, ignored, self._read.get(path))
        if prepared.outcome is None:
            self._read[path] = prepared
        whole = self._scopes.nearest.top.context != "file"
        if whole:
            self._look()
            assert self._context is not None
            whole = not self._context.note
        if not whole:
            plan = late.replace(plan, whole=False)
        project = None
        troubles: tuple[Trouble, ...] = ()
        if whole and prepared.outcome is None:
            self._take(texts, path, source)
            _unless(stop)
            try:
                project = self._linked(prepared, stop)
            except Superseded:
                raise
            except Exception as error:  # a defect of ours: the file is checked by itself then
                troubles = (internal("the project", path, error),)
                plan = late.replace(plan, whole=False)
        _unless(stop)
        outcome = steps.check_prepared(prepared, plan, ignored, project)
        outcome = late.replace(outcome, troubles=(*troubles, *outcome.troubles))
        return Checked(outcome, source, plan, ignored, project)

    def concerns(self, path: str, other: str) -> bool:
        """Whether what is in `other` can matter for what is found in `path`, as far as that is known."""
        if self._reach is None or self._context is None or other not in self._context.files:
            return False
        near = self._near_of(path)
        return other in near.users or other in near.used

    def _near_of(self, path: str) -> Reached:
        """What matters for a document, as `check` has it."""
        assert self._context is not None
        assert self._reach is not None
        if path not in self._near:
            found = context.connections([path], self._context, self._sources, self._open, self._reach)
            self._near[path] = None if found is None else found[0]
        return self._near[path] or self._reach.near(path)

    def _look(self) -> None:
        """See which files there are and which of them changed, unless nobody said that any did."""
        if self._current and self._context is not None:
            return
        before = self._context
        targets = (Target(self._path, named=True),) if self._alien else ()
        now = self._context = context.walked((self._path,), targets, self._scopes.nearest)
        self._current = True
        self._options.clear()
        if now.note:
            return
        changed = [] if before is None else [p for p, s in now.states.items() if before.states.get(p) != s]
        packages = any(is_package(path) for path in changed)
        if before is None or packages or (before.files, before.links) != (now.files, now.links):
            self._prepared = {path: one for path, one in self._prepared.items() if path in now.states}
            self._rebuild(changed)
            return
        for path in changed:
            if path not in self._open:
                self._forget(path, None)

    def _rebuild(self, changed: list[str]) -> None:
        """The modules and who uses whom, all anew; of `changed` files also the programs."""
        assert self._context is not None
        for path in changed:
            self._prepared.pop(path, None)
        texts = {path: _bytes(text) for path, text in self._open.items()}
        self._sources = Sources([path for path in self._context.files if path not in self._context.links], texts)
        self._index = self._context.index()
        self._reach = context.reach_of(self._context, self._sources, texts, self._cache)
        self._near.clear()

    def _forget(self, path: str, text: str | None) -> None:
        """Another text of a file holds from now on: that of a document, or (None) the file's own."""
        self._prepared.pop(path, None)
        if self._reach is None or path not in self._sources:
            return
        before, led = self._sources[path], self._leads(path)
        self._sources.renew(path, None if text is None else _bytes(text))
        if is_package(path):
            if self._sources[path] != before:
                self._rebuild([])
        else:
            self._reach.renew(path)
            if self._leads(path) != led:
                self._near.clear()

    def _leads(self, path: str) -> tuple[frozenset[str], bool]:
        """Where a file leads, and whether anything leads through it."""
        assert self._reach is not None
        return self._reach.used(path), worth_analysing(self._sources[path])

    def _take(self, texts: Mapping[str, str], path: str, source: Source) -> None:
        """Take the texts of the open documents for those of their files."""
        now = {at: text for at, text in texts.items() if at in self._sources}
        if path in self._sources:
            now[path] = source.text
        for at in self._open.keys() - now.keys():
            del self._open[at]
            self._forget(at, None)
        for at, text in now.items():
            if self._open.get(at) != text:
                self._open[at] = text
                self._forget(at, text)

    def _linked(self, prepared: Prepared, stop: Callable[[], bool]) -> Project:
        """The project, put together around a document."""
        assert self._context is not None
        assert self._reach is not None
        assert self._index is not None
        path = prepared.path
        near = self._near_of(path)
        around = [at for at in self._context.files if at in near.users or at in near.used]
        around = [at for at in around if at not in self._context.links and self._size(at) <= context.MAX_BYTES]
        others = []
        for at in around:
            _unless(stop)
            others.append(self._made(at))
        users = near.users.intersection(around)
        own = {at: self._scopes.plans[number].options for at in (path, *around) if (number := self._scope(at))}
        plan, entered = self._scopes.plans[0], users | {path}
        programs_of = Programs([prepared, *others], plan)
        inside = [at for at in programs_of if at in entered]
        with collector.paused():
            project = None
            last = self._projects.pop(path, None)
            for before in (last, None):
                with contextlib.suppress(Unforeseen):
                    project = TracedProject(
                        programs_of, self._index, plan.options, programs_of.lines, inside, own, before
                    )
                    project.link()
                    break
            if last is not None:
                last.let_go()
            assert project is not None
        self._projects[path] = project
        return project

    def _scope(self, path: str) -> int:
        known = self._options.get(path)
        if known is None:
            known = self._options[path] = self._scopes.of(path)
        return known

    def _size(self, path: str) -> int:
        assert self._context is not None
        return self._context.states[path][2]

    def _made(self, path: str) -> Prepared:
        """What was made of a file that is only context."""
        known = self._prepared.get(path)
        if known is None:
            plan = self._scopes.plans[self._scope(path)]
            known = self._prepared[path] = self._make(path, plan)
        return known

    def _make(self, path: str, plan: Plan) -> Prepared:
        text = self._open.get(path)
        data = pipeline.read_worth(Target(path), always=True) if text is None else _bytes(text)
        if isinstance(data, Outcome):
            return Prepared(path, outcome=data)
        if not (worth_analysing(data) or is_package(path)):
            return Prepared(path, outcome=Outcome(path))
        if text is not None:
            return steps.prepare_source(Source(path, text, "utf-8", False), plan)
        found = programs.read(self._cache, path, data) if self._cache else None
        if found is not None:
            return Prepared(path, found[0], lines=found[2])
        return steps.prepare_bytes(path, data, late.replace(plan, cache=""), wanted=False)


def screened(source: Source) -> bool:
    """Whether nothing in a source could be a tensor, so that a check passes it over."""
    data = _bytes(source.text)
    return not (worth_analysing(data) or pipeline.suspect(data))


def _unless(stop: Callable[[], bool]) -> None:
    if stop():
        raise Superseded


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
