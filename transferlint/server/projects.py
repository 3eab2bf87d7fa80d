"""Which project each open document is checked in, and with which settings."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping

from transferlint import late
from transferlint.engine import steps, workers
from transferlint.engine.pipeline import Outcome, unparsable
from transferlint.engine.scopes import Scopes
from transferlint.server import edits
from transferlint.server.documents import Document
from transferlint.server.kept import Checked, KeptProject, screened
from transferlint.sources import context
from transferlint.sources.discovery import Exclusion
from transferlint.syntax import collector
from transferlint.syntax.notebooks import SUFFIX
from transferlint.syntax.source import SourceError

_PASSES = 5  # as `check --fix` makes
_UNTITLED = "untitled.py"

ScopesFor = Callable[[str], Scopes]


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where a document is checked: in which current folder, under which name, with which settings, and in which
    project's folder ("" for none)."""

    folder: str
    name: str
    scopes: Scopes
    root: str


class Projects:
    """The projects of all open documents. `scopes_for` gives the settings that `check` has for a path, and raises
    SettingsError; `cache` is the folder of kept programs, "" for none.

    All paths are relative to the current folder, as they are for `check`, so it is changed: nothing else in the process
    may rest on it.
    """

    def __init__(self, scopes_for: ScopesFor, cache: str = "") -> None:
        self.folders: tuple[str, ...] = ()  # of the workspace
        self._scopes_for = scopes_for
        self._cache = cache
        self._kept: dict[tuple[str, ...], KeptProject] = {}
        self._settings: dict[tuple[str, str], _Place] = {}

    def forget(self) -> None:
        """Settings may have changed: everything is read anew."""
        self._kept.clear()
        self._settings.clear()

    def look_again(self) -> None:
        """Files may have come, gone or changed."""
        for one in self._kept.values():
            one.look_again()

    def renew(self, paths: Iterable[str]) -> None:
        """Files (absolute paths) changed on disk, but none came or went."""
        for path in paths:
            for (folder, *_), one in self._kept.items():
                os.chdir(folder)
                one.renew(_shown(path, folder))

    def check(self, document: Document, open_texts: Mapping[str, str], stop: Callable[[], bool]) -> Checked:
        """What `transferlint check` finds in a document, with the texts of the open documents (by absolute path) for
        those of their files. Raises SettingsError, OSError, and Superseded once `stop` says so."""
        with collector.paused():  # what is kept is much, and looked through each time
            return workers.deep(lambda: self._check(document, open_texts, stop))

    def _check(self, document: Document, open_texts: Mapping[str, str], stop: Callable[[], bool]) -> Checked:
        place = self._place(document)
        os.chdir(place.folder)
        number = place.scopes.of(place.name)
        plan, ignored = place.scopes.plans[number], place.scopes.ignored(place.name)
        nothing = Checked(Outcome(place.name), None, plan, ignored)
        nearest = place.scopes.nearest
        if document.path and (nearest.is_test(place.name) or Exclusion(nearest.of(place.name)).covers(place.name)):
            return nothing
        try:
            source = document.source(place.name)
        except SourceError as error:
            return late.replace(nothing, outcome=unparsable(error, document.text, place.name, plan, ignored))
        if screened(source):
            return late.replace(nothing, source=source)
        if not document.path:
            plan = late.replace(plan, whole=False, cache="")
            outcome = steps.check_prepared(steps.prepare_source(source, plan, ignored), plan, ignored, None)
            return Checked(outcome, source, plan, ignored)
        texts = {_shown(path, place.folder): text for path, text in open_texts.items()}
        return self._project(place).check(place.name, source, texts, stop)

    def concerned(self, document: Document, others: Iterable[Document]) -> list[Document]:
        """Those of the other documents for which the text of this one can matter."""
        found = []
        for other in others:
            if other.uri == document.uri or not (other.path and document.path):
                continue
            place = self._place(other)
            os.chdir(place.folder)
            kept = self._kept.get(self._key(place))
            if kept is not None and kept.concerns(place.name, _shown(document.path, place.folder)):
                found.append(other)
        return found

    def fixed(self, document: Document, open_texts: Mapping[str, str], stop: Callable[[], bool]) -> str:
        """The document's source with all safe fixes applied, until nothing changes: as `check --fix` does."""
        texts = dict(open_texts)
        text = ""
        for _ in range(_PASSES):
            made = workers.deep(functools.partial(edits.all_fixed, self.check(document, texts, stop)))
            if made == text:
                break
            text = made
            document = document.with_source(text)
            if document.path:
                texts[document.path] = document.text
        return text

    def troubles(self) -> tuple[str, ...]:
        """What is wrong with the settings, a line each."""
        lines = [line for place in self._settings.values() for line in place.scopes.nearest.troubles]
        return tuple(dict.fromkeys(lines))

    def folder_of(self, document: Document) -> str:
        """The folder that the paths of its findings are relative to."""
        return self._place(document).folder

    def _place(self, document: Document) -> _Place:
        path = document.path or os.path.join(self.folders[0] if self.folders else os.path.expanduser("~"), _UNTITLED)
        above = os.path.dirname(path)
        while not os.path.isdir(above):  # a document in a folder that is still to be made
            above = os.path.dirname(above)
        home = max((one for one in self.folders if _within(path, one)), key=len, default="")
        known = self._settings.get((home, above))
        if known is None:
            known = self._settings[home, above] = self._found(path, home or above, bool(home and not document.path))
        return late.replace(known, name=_shown(path, known.folder))

    def _found(self, path: str, start: str, stays: bool) -> _Place:
        """Where the documents beside a path are checked: in `start`, or (unless it `stays`) in the project's folder
        where that is not below."""
        folder = start
        while True:
            os.chdir(folder)
            scopes = self._scopes_for(_shown(path, folder))
            root, _ = context.root_of((path,), scopes.nearest.top.project_root)
            if stays or _within(root, folder):
                return _Place(folder, "", scopes, root)
            folder = root

    def _key(self, place: _Place) -> tuple[str, ...]:
        return place.folder, place.root, place.scopes.nearest.top.source

    def _project(self, place: _Place) -> KeptProject:
        key = self._key(place)
        if key not in self._kept:
            self._kept[key] = KeptProject(place.scopes, self._cache, place.name)
        if not place.name.endswith(SUFFIX) and self._kept[key].holds(place.name):
            return self._kept[key]
        key = (*key, place.name)
        if key not in self._kept:
            self._kept[key] = KeptProject(place.scopes, self._cache, place.name, alien=True)
        return self._kept[key]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _shown(path: str, folder: str) -> str:
    """A path relative to a folder it is in, as `check` names it; another path whole."""
    return os.path.relpath(path, folder).replace(os.sep, "/") if _within(path, folder) else path
