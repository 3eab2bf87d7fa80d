"""Paths to files: what a user names, walked in a fixed order, without what git or the settings leave out.

A file that is named is always taken (unless `force-exclude`), whatever its ending; in a folder only `.py` and `.ipynb`.
Links to folders are not followed while walking, so that no loop is entered; a link that is named is.
"""

from __future__ import annotations

import copy
import dataclasses
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping

from transferlint import late
from transferlint.cache.signatures import signature
from transferlint.files import gitignore
from transferlint.files.repository import repository
from transferlint.settings.loading import Settings
from transferlint.sources.nearest import Nearest


@late.dataclass(frozen=True, slots=True)
class Target:
    """A file to check: its path as the user named it (POSIX separators), and whether it was named itself."""

    path: str
    named: bool = False


@late.dataclass(frozen=True, slots=True)
class Trouble:
    """Something that could not be done: the path it is about ("" for none) and one line of explanation."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@late.dataclass(frozen=True, slots=True)
class Found:
    """The files of a run, in order, what could not be looked at, and (where there are no files) a remark on that;
    `below` has what is in the folders that were walked."""

    targets: tuple[Target, ...]
    troubles: tuple[Trouble, ...]
    note: str = ""
    below: Mapping[str, tuple[Target, ...]] = dataclasses.field(default_factory=dict)


class Exclusion:
    """The `exclude` and `extend-exclude` patterns: in the manner of `.gitignore`, relative to the settings' root."""

    def __init__(self, settings: Settings) -> None:
        self.root = settings.root or os.getcwd()
        self._below = os.path.join(self.root, "")
        self.patterns = [*settings.exclude, *settings.extend_exclude]
        self.spec = gitignore.compiled(self.patterns)

    def below(self, start: str) -> Exclusion:
        """What counts below a folder that was named: not the patterns that cover the folder itself."""
        if self.root.startswith(os.path.join(os.path.abspath(start), "")):
            return self
        if not self.covers(start, is_folder=True):
            return self
        other = copy.copy(self)
        other.patterns = []
        for pattern in self.patterns:
            other.spec = gitignore.compiled([pattern])
            if not other.covers(start, is_folder=True):
                other.patterns.append(pattern)
        other.spec = gitignore.compiled(other.patterns)
        return other

    def covers(self, path: str, is_folder: bool = False) -> bool:
        """Whether a pattern names the path itself or, for a file that was named, a folder above it."""
        return self.holds(os.path.abspath(path), is_folder)

    def holds(self, whole: str, is_folder: bool = False) -> bool:
        """`covers` for an absolute path."""
        root = self._below
        relative = whole[len(root) :] if whole.startswith(root) else os.path.relpath(whole, self.root)
        relative = relative.replace(os.sep, "/")
        while relative.startswith("../"):
            relative = relative[3:]
        return self.spec.match_file(relative + ("/" if is_folder else ""))


def discover(paths: Iterable[str], nearest: Nearest) -> Found:
    """The files that `paths` stand for, but for tests. Nothing is read but folders, settings and ignore files; nothing
    is raised."""
    targets: list[Target] = []
    troubles: list[Trouble] = []
    below: dict[str, tuple[Target, ...]] = {}
    seen: set[str] = set()
    real = Real()
    paths = list(paths)
    tests = 0
    for path in paths:
        found = list(_under(path, nearest))
        items = [item for item in found if isinstance(item, Trouble) or not nearest.is_test(item.path)]
        tests += len(found) - len(items)
        if os.path.isdir(path) and not nearest.of(path).force_exclude:
            below[path] = tuple(item for item in items if isinstance(item, Target))
        for item in items:
            if isinstance(item, Trouble):
                troubles.append(item)
                continue
            leads_to = real.of(item.path)
            if leads_to not in seen:
                seen.add(leads_to)
                targets.append(item)
    folders = [_shown(path) for path in paths if os.path.isdir(path)]
    note = ""
    if tests and not (targets or troubles):
        note = f"nothing but tests in {', '.join(map(_shown, paths))}, which are not checked (setting `test-paths`)"
    elif folders and not (targets or troubles):
        note = f"no Python files in {', '.join(folders)}"
    return Found(tuple(targets), tuple(troubles), note, below)


class Real:
    """Where paths lead to, each folder looked at once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        """`os.path.realpath` of a file."""
        folder, name = os.path.split(path)
        if not name or name in (os.curdir, os.pardir) or os.path.islink(path):
            return os.path.realpath(path)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = os.path.realpath(folder)
        return os.path.join(known, name)


def walk(folder: str, nearest: Nearest) -> Iterator[Target]:
    """The modules below a folder but for tests, in order, found as they are asked for; what cannot be looked at is
    passed over."""
    for item in _walk(folder, nearest):
        if isinstance(item, Target) and item.path.endswith(".py") and not nearest.is_test(item.path):
            yield item


def listed(folder: str) -> bytes:
    """A digest of the names in a folder and what they stand for; b"" where it cannot be looked at."""
    try:
        with os.scandir(folder) as entries:
            return _listing(sorted(entries, key=lambda entry: entry.name))
    except OSError:
        return b""


def _listing(entries: Iterable[os.DirEntry[str]]) -> bytes:
    rows = [(one.name, _is_folder(one), _is_file(one), one.is_symlink()) for one in entries]
    return hashlib.blake2b(repr(rows).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _under(path: str, nearest: Nearest) -> Iterator[Target | Trouble]:
    shown = _shown(path)
    try:
        is_folder = os.path.isdir(path)
        if not is_folder:
            os.stat(path)
    except (OSError, ValueError) as error:
        yield Trouble(shown, _why(error))
        return
    settings = nearest.of(path)
    if settings.force_exclude and Exclusion(settings).covers(path, is_folder):
        return
    if is_folder:
        yield from _walk(path, nearest)
    elif not os.path.isfile(path):
        yield Trouble(shown, "cannot be read: not a file or folder")
    elif not path.endswith(".pyi"):
        yield Target(shown, named=True)


def _walk(start: str, nearest: Nearest) -> Iterator[Target | Trouble]:
    exclusions: dict[str, Exclusion] = {}
    respect_gitignore = nearest.top.respect_gitignore
    above = gitignore.layers_above(os.path.abspath(start)) if respect_gitignore else ()
    in_repository = respect_gitignore and repository(os.path.abspath(start)) is not None
    pending: list[tuple[str, gitignore.Layers]] = [(start, above)]
    while pending:
        folder, layers = pending.pop()
        if in_repository:
            layers += gitignore.layer_of(os.path.abspath(folder))
        nearest.walked[folder] = signature(folder)
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Trouble(_shown(folder), _why(error))
            continue
        nearest.listed[folder] = _listing(ordered)
        settings = nearest.of_folder(folder)
        exclusion = exclusions.get(settings.source)
        if exclusion is None:
            exclusion = exclusions[settings.source] = Exclusion(settings).below(start)
        whole = os.path.join(os.path.abspath(folder), "")
        below = []
        for entry in ordered:
            is_folder = _is_folder(entry)
            if not is_folder and not (entry.name.endswith((".py", ".ipynb")) and _is_file(entry)):
                continue
            path = entry.path
            if exclusion.holds(whole + entry.name, is_folder) or gitignore.ignores(
                layers, whole + entry.name, is_folder
            ):
                continue
            if is_folder:
                below.append((path, layers))
            else:
                yield Target(_shown(path))
        pending.extend(reversed(below))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # gone, or not to be looked at
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads in a circle
        return False


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "cannot be read: the link leads in a circle"
    return "cannot be read: " + ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()


def _shown(path: str) -> str:
    """The path as it is reported: as named, without a leading `./`, with POSIX separators."""
    if ".." not in path.split(os.sep):
        path = os.path.normpath(path)
    return path.replace(os.sep, "/")
