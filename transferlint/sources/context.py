"""The project around the files that are checked: its folder, its Python files, and which of them matter."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from transferlint import late
from transferlint.cache import graphs
from transferlint.cache.contents import Contents
from transferlint.cache.signatures import GONE, Signature, signature
from transferlint.files import repository
from transferlint.files.screen import is_package, worth_analysing
from transferlint.flow.callgraph.modules import ModuleIndex, absolutes
from transferlint.sources import connected
from transferlint.sources.discovery import Real, Target, walk
from transferlint.sources.nearest import Nearest, common_folder
from transferlint.sources.reach import Reach, Reached
from transferlint.syntax.notebooks import SUFFIX

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "transferlint.toml", ".git")
# Of a folder with more, only what is to be checked is read: up to so many files each by itself, more of them together.
# The largest repositories of the field have 5,000 Python files.
MAX_FILES = 20_000
MAX_FILES_UNMARKED = 5_000
# For one file all those are analysed that imports connect with it, as where all are checked: the same is found in it,
# and what is kept of them holds whichever is checked next. Where more are connected, only those that matter most: at
# first that takes seconds where all of them would take a minute.
MAX_CONNECTED = 1_000
_MAX_LOOKED_AT = 5_000  # files of a project: of more it is not looked up which are connected
MAX_BYTES = 2_000_000  # as in syntax/source.py: what is larger is data or generated


@late.dataclass(frozen=True, slots=True)
class Context:
    """A project: its folder, the paths of all its Python files, which of these are links to which others, and the
    `others` that matter for the files that are checked; `users` are those of the others that use them (or their users).
    `note` says in one line why there are none, "" for no reason. `states` are those of the files before they were read.
    `groups` are those of the checked files and the others that no import connects with each other, `idle` are files of
    them that are not analysed. `contents` and `modules` are what is known of the files by then, `reach` where
    they lead, where that is kept. `whole`: something says that the folder is a project, so that all
    of it is there, whichever of its files are checked. `connected`: the others are all that imports connect with these.
    """

    root: str
    files: tuple[str, ...]
    links: dict[str, str]
    others: tuple[str, ...]
    users: frozenset[str] = frozenset()
    note: str = ""
    states: dict[str, Signature] = dataclasses.field(default_factory=dict)
    groups: tuple[tuple[str, ...], ...] = ()
    idle: frozenset[str] = frozenset()
    contents: Contents | None = dataclasses.field(default=None, compare=False)
    modules: ModuleIndex | None = dataclasses.field(default=None, compare=False)
    reach: Reach | None = dataclasses.field(default=None, compare=False)
    whole: bool = False
    worth: frozenset[str] | None = None

    def index(self) -> ModuleIndex:
        """The modules of the project."""
        return self.modules or ModuleIndex(self.files, self.root, self.links, self._distributions())

    def _distributions(self) -> frozenset[str] | None:
        """The folders whose files are made a distribution of; None where not all of a project is there."""
        if not self.whole:
            return None
        folders = set[str]()
        for path in absolutes(self.files).values():
            folder = os.path.dirname(path)
            while folder not in folders and folder.startswith(self.root):
                folders.add(folder)
                folder = os.path.dirname(folder)
        return frozenset(filter(repository.distributed, folders))


def around(
    paths: Sequence[str],
    targets: Sequence[Target],
    nearest: Nearest,
    texts: Mapping[str, bytes] | None = None,
    cache: str = "",
    below: Mapping[str, Sequence[Target]] | None = None,
) -> Context:
    """The context of `targets`, which were found under `paths`; `texts` are the bytes of targets that are not on disk,
    `cache` is the folder in which the import graph is kept ("" for none), `below` has the files of folders that were
    walked just now.

    The project's folder is the `project_root` of the settings, or the nearest above all paths that has one of
    `MARKERS`, or the current folder, if it is above all paths, or the deepest above all paths. Its files are named like
    the paths: absolute where one of these is, else relative to the current folder.
    """
    project = walked(paths, targets, nearest, below)
    if project.note:
        return project
    return _reached([target.path for target in targets], project, texts or {}, cache)


def walked(
    paths: Sequence[str],
    targets: Sequence[Target],
    nearest: Nearest,
    below: Mapping[str, Sequence[Target]] | None = None,
) -> Context:
    """The project of `targets` as `around` has it, before it is known which of its files matter for them."""
    root, marked = root_of(paths, nearest.top.project_root)
    limit = MAX_FILES if marked else MAX_FILES_UNMARKED
    start, found = _files(root, limit, paths, nearest, below)
    if len(found) > limit and not marked:
        root = common_folder(paths)
        start, found = _files(root, limit, paths, nearest, below)
    names = [target.path for target in targets]
    if len(found) > limit:
        if len(names) <= limit:
            why = f"{start} has more than {limit:,} Python files: those to be checked are checked without the others"
            return Context(root, tuple(names), {}, (), note=why, states={name: signature(name) for name in names})
        found = []
    first: dict[str, str] = {}  # by absolute path: how the file is named
    real: dict[str, str] = {}
    where = Real()
    links: dict[str, str] = {}
    for path, whole in absolutes((*names, *found)).items():
        if first.setdefault(whole, path) == path:
            leads_to = real.setdefault(where.of(path), path)
            if leads_to != path:
                links[path] = leads_to
    states = {path: signature(path) for path in first.values()}
    return Context(root, tuple(first.values()), links, (), states=states, whole=marked)


def _files(
    root: str, limit: int, paths: Sequence[str], nearest: Nearest, below: Mapping[str, Sequence[Target]] | None
) -> tuple[str, list[str]]:
    """How a project's folder is named, and its Python files, of which one more than `limit` at most is looked for."""
    start = root if any(os.path.isabs(path) for path in paths) else _relative(root)
    listed = (below or {}).get(start)
    modules = walk(start, nearest) if listed is None else (one for one in listed if one.path.endswith(".py"))
    return start, [target.path for target in itertools.islice(modules, limit + 1)]


def root_of(paths: Sequence[str], named: str) -> tuple[str, bool]:
    """The project's absolute folder, and whether somebody said that it is one."""
    if named:
        return os.path.abspath(named), True
    folder = start = common_folder(paths)
    while True:
        if any(os.path.exists(os.path.join(folder, marker)) for marker in MARKERS):
            return folder, True
        above = os.path.dirname(folder)
        if above == folder:
            return _current(start) or start, False
        folder = above


def _current(start: str) -> str:
    """The current folder, as mypy and ruff take it, where it is above a folder of which nothing says to what project it
    belongs; "" where it is not, and where it holds what belongs to many (a home, or what is above it)."""
    current = os.getcwd()
    many = os.path.join(os.path.expanduser("~"), "").startswith(os.path.join(current, ""))
    return "" if many or not start.startswith(os.path.join(current, "")) else current


def connections(
    targets: Sequence[str], project: Context, data: Sources, texts: Collection[str], reach: Reach
) -> tuple[Reached, frozenset[str]] | None:
    """The files beside some that imports connect with them, as where all of a project are checked, and all that are
    worth analysing; None where too many are connected. `data` are the bytes of the project's files, those of `texts`
    not as they are on disk."""
    if len(data) > _MAX_LOOKED_AT:
        return None
    asked = frozenset(targets)
    worth = asked.union(path for path in data if _worth(path, project, data, texts))
    found = _connected(project, asked, worth, reach)
    return (Reached(found, frozenset()), worth) if len(found) <= MAX_CONNECTED else None


def _reached(targets: list[str], project: Context, texts: Mapping[str, bytes], cache: str) -> Context:
    """The project with the files beside the targets that matter for them, in order, and with the groups of them all."""
    files = [path for path in project.files if path not in project.links]
    if len(files) == len(targets) == 1:
        return late.replace(project, groups=(tuple(targets),))
    sources = Sources(files, texts)
    project = late.replace(project, modules=project.index(), contents=Contents(cache, project.root, project.states))
    reach = reach_of(project, sources, texts, cache)
    worth: frozenset[str] | None = None
    found = Reached(frozenset(), frozenset())
    if len(files) != len(targets):
        joined = connections(targets, project, sources, texts, reach)
        if joined is None:
            found = reach.of(targets)
        else:
            found, worth = joined
    small = {path for path in found.users | found.used if project.states[path][2] <= MAX_BYTES}
    others = tuple(path for path in files if path in small)
    parts: tuple[tuple[str, ...], ...] = ((*targets, *others),)
    passed: frozenset[str] = frozenset()
    if len(targets) > 1:  # what matters for one file is connected with it, if by way of others that are left out
        # Nothing leads through what is not analysed; of what is only read, packages always are.
        idle = tuple(path for path in targets if path in sources and not _worth(path, project, sources, texts))
        passed = frozenset(idle)
        packages = filter(is_package, project.files)
        rest = (path for path in parts[0] if path not in passed)
        parts = connected.groups(rest, reach, project.links, packages) + ((idle,) if idle else ())
    kept = reach.brief() if cache else None
    users = found.users & small
    parts = tuple(tuple(sorted(part)) for part in parts)  # whichever of the files are checked
    return late.replace(project, others=others, users=users, groups=parts, idle=passed, reach=kept, worth=worth)


def _connected(project: Context, targets: frozenset[str], worth: Collection[str], reach: Reach) -> frozenset[str]:
    """The files worth analysing that imports connect with some, as where all of them are checked."""
    order = [path for path in project.files if path in worth]
    groups = connected.groups(order, reach, project.links, filter(is_package, project.files))
    return frozenset(path for group in groups if not targets.isdisjoint(group) for path in group) - targets


def _worth(path: str, project: Context, sources: Sources, texts: Collection[str]) -> bool:
    """Whether a file is worth analysing by itself, by the bytes that are read for that: of a notebook, those of its
    JSON."""
    if is_package(path):
        return True
    if path in texts or project.contents is None:
        return worth_analysing(sources[path])
    try:
        return project.contents.worth(path)
    except OSError:
        return False


def reach_of(project: Context, data: Sources, texts: Collection[str], cache: str) -> Reach:
    """Who uses whom, as far as it was kept, and of all others anew; `data` are the bytes of the project's files without
    its links, those of `texts` as they are not on disk."""
    now = time.time_ns()
    files = list(data)
    states = {path: project.states[path] for path in sorted(files)}
    if not cache or GONE in states.values():  # as a text from standard input that has no file yet
        return Reach(data, project.index())
    known = graphs.read(cache, project.root, project.links, states)
    for path in texts:
        known.pop(path, None)
    found = Reach(data, project.index(), known)
    if len(known) < len(files):
        kept = {path: (found.used(path), found.view(path)) for path in files if path not in texts}
        graphs.write(cache, project.root, project.links, states, kept, now)
    return found


class Sources(Mapping[str, bytes]):
    """The bytes of files, as in `texts` or else on disk, read when they are asked for; of what cannot be read, none."""

    def __init__(self, files: Sequence[str], texts: Mapping[str, bytes] | None = None) -> None:
        self._known: dict[str, bytes | None] = dict.fromkeys(files)
        self._known.update((path, text) for path, text in (texts or {}).items() if path in self._known)

    def __getitem__(self, path: str) -> bytes:
        data = self._known[path]
        if data is None:
            data = self._known[path] = _bytes(path)
        return data

    def renew(self, path: str, data: bytes | None = None) -> None:
        """Take other bytes for a file from now on; None for those on disk, read when they are asked for."""
        self._known[path] = data

    def __contains__(self, path: object) -> bool:
        return path in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _relative(root: str) -> str:
    try:
        return os.path.relpath(root)
    except ValueError:  # another drive
        return root


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return b""
    if not path.endswith(SUFFIX):
        return data
    from transferlint.syntax.source import SourceError, decode

    try:
        return decode(path, data).text.encode("utf-8", "replace")
    except SourceError:
        return b""
