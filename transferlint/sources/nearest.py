"""Which settings hold for a file: those of the nearest settings file at or above it, within its repository.

Nothing above the root of a repository (the folder with `.git`) is looked at: whoever wrote what lies there may be
somebody else. Of settings files below the folder where a run looks for its own, each holds for the files below it; what
concerns the run as a whole (`OF_THE_RUN`) is decided by the run's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from transferlint import late
from transferlint.cache.signatures import Signature
from transferlint.settings import loading
from transferlint.settings.loading import Settings, SettingsError

OF_THE_RUN = (
    "output_format", "sort", "fix", "unsafe_fixes", "jobs", "context", "respect_gitignore", "project_root", "rules",
)  # fmt: skip
NAMES = _OWN, _SHARED = "transferlint.toml", "pyproject.toml"


def find(start: str) -> str | None:
    """The nearest settings file at or above the folder `start`, up to the root of its repository: a
    `transferlint.toml`, or a `pyproject.toml` with `[tool.transferlint]`. Raises SettingsError where a `pyproject.toml`
    on the way is not TOML."""
    folder = os.path.abspath(start)
    while True:
        path = _file_of(folder)
        above = os.path.dirname(folder)
        if path is not None or above == folder or os.path.lexists(os.path.join(folder, ".git")):
            return path
        folder = above


def _file_of(folder: str) -> str | None:
    """The settings file in a folder itself."""
    own = os.path.join(folder, _OWN)
    if os.path.isfile(own):
        return own
    shared = os.path.join(folder, _SHARED)
    return shared if os.path.isfile(shared) and loading.holds(shared) is not None else None


def common_folder(paths: Iterable[str]) -> str:
    """The deepest folder that holds all of `paths` (the current one for none): where the search for settings starts."""
    folders = [os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".") for path in paths]
    try:
        return os.path.commonpath(folders) if folders else os.getcwd()
    except ValueError:  # different drives
        return os.getcwd()


class Nearest:
    """The settings of each file of a run. `top` are the run's own: those of files that have none nearer, and of all
    files where `merged` is None. `merged` adds to the settings of a file what the command line says.

    `troubles` gets a line for each settings file that cannot be used, or not wholly; what is below it has those above.
    `walked` gets the state of each folder before it is walked, `listed` a digest of what is in it.
    """

    def __init__(self, top: Settings, merged: Callable[[Settings], Settings] | None = None) -> None:
        self.top = top
        self.troubles: list[str] = [top.refused] if top.refused else []
        self.walked: dict[str, Signature] = {}
        self.listed: dict[str, bytes] = {}
        self._merged = merged
        self._known: dict[str, Settings] = {top.project_root: top}
        self._asked: dict[str, Settings] = {}  # by folder as it was spelt

    def of(self, path: str) -> Settings:
        """The settings of a file."""
        folder = os.path.dirname(path)
        found = self._asked.get(folder)
        if found is None:
            found = self._asked[folder] = self.of_folder(folder)
        return found

    def is_test(self, path: str) -> bool:
        """Whether a file holds tests, of which nothing is told: no check reads it. Of 5,883 findings in 48 projects two
        are others where the tests (18 % of the files) are read, too."""
        from transferlint.flow.callgraph import roles  # which a run that finds nothing changed does not need

        return roles.is_test(path, self.of(path).test_paths)

    def used(self) -> tuple[Settings, ...]:
        """The settings that any file asked for so far, each once; the run's own first."""
        return tuple({one.source: one for one in (self.top, *self._known.values())}.values())

    def of_folder(self, folder: str) -> Settings:
        """The settings of what is in a folder."""
        folder, root = os.path.abspath(folder), self.top.project_root
        if self._merged is None or (root and not folder.startswith(os.path.join(root, ""))):
            return self.top
        passed = []
        while folder not in self._known:
            passed.append(folder)
            found = self._in(folder)
            above = os.path.dirname(folder)
            if found is not None or above == folder or os.path.lexists(os.path.join(folder, ".git")):
                self._known[folder] = found or self.top
            else:
                folder = above
        for one in passed:
            self._known[one] = self._known[folder]
        return self._known[folder]

    def _in(self, folder: str) -> Settings | None:
        """The settings of a folder's own file, merged; None where it has none that can be used."""
        assert self._merged is not None
        try:
            path = _mentioned(folder)
            if path is None:
                return None
            if os.path.abspath(self.top.source or os.curdir) == path:
                return self.top
            own = loading.read(path)
        except SettingsError as error:
            self.troubles.append(str(error))
            return None
        if own.refused:
            self.troubles.append(own.refused)
        merged = self._merged(own)
        return late.replace(merged, **{name: getattr(self.top, name) for name in OF_THE_RUN})


def _mentioned(folder: str) -> str | None:
    """As `_file_of`, for a folder on whose settings the run does not rest: a `pyproject.toml` (it may be a template,
    and no TOML) is read only where our name is in it."""
    shared = os.path.join(folder, _SHARED)
    if os.path.isfile(os.path.join(folder, _OWN)) or not os.path.isfile(shared):
        return _file_of(folder)
    try:
        with open(shared, "rb") as file:
            return _file_of(folder) if b"transferlint" in file.read() else None
    except OSError:
        return None
