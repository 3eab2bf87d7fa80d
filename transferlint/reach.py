"""Which files of a project matter for some of them: whom they use, and who uses them.

When a few files are checked, the rest of their project is context, and only some of it can change what is said about
them. What counts (`Bounds`): everything that the checked files import, whatever that imports, and so on; the files that
use names of the checked ones, and those that use these (a function is as hot as the loops that call it), each with what
they import themselves, base classes above all. A name that a package only passes on (`from .core import Brain` in an
`__init__.py`) leads to where it is defined, not to all that the package imports.

Imports are read off the bytes, a hundred times as fast as parsing: those in functions and docstrings count, and so does
`import_module("a.b")`; names put together at run time do not.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from transferlint.knowledge import roles

_FROM = re.compile(rb"(?:^|[;:])\s*from(?:\s+|(?=\.))([.\w]+)\s*$")
_BEFORE = re.compile(rb"(?:^|[;:])\s*$")
_LAZY = re.compile(rb"_module\(\s*[rbuRBU]?['\"]([.\w]+)")
_NAMES = re.compile(rb"\s*(\([^)]*\)|(?:[^\\\r\n;]|\\\r?\n)*)")
_COMMENT = re.compile(rb"#[^\r\n]*")
_DEFINED = re.compile(rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
_WORD = re.compile(rb"\w+")
_CALLED = re.compile(rb"(?<!def )\b(\w+)\(")
_DEFINES = re.compile(rb"(?m)^[ \t]*(?:async[ \t]+def|def|class)[ \t]")
# What a package defines itself may use whatever it imports; names with an underscore are its own affair.
_DEFINES_PUBLIC = re.compile(_DEFINES.pattern + rb"|^[A-Za-z]\w*[ \t]*(?::[^=\n]*)?=(?!=)")
_END = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Bounds:
    """How far to go: `users` levels of files that use the checked ones, and from each of them, `bases` levels of what
    they import. There is no bound on what the checked files import themselves."""

    users: int = 2
    bases: int = 2


class Modules(Protocol):
    """What is asked of a `ModuleIndex`."""

    def find(self, dotted: str, asking: str = "") -> tuple[str, str] | None:
        """The file of the longest beginning that is a module, and the rest."""

    def absolute(self, path: str, module: str) -> str:
        """The absolute name of a module that a file names."""

    def is_package(self, path: str) -> bool:
        """Whether a file is an `__init__.py`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Import:
    """`from module import name as bound`, or (with `name` "") `import module as bound`; `import a.b` binds "a"."""

    module: str
    name: str
    bound: str


@dataclasses.dataclass(frozen=True, slots=True)
class Reached:
    """The files that matter for some: their `users`, and what all of these and they themselves use (`used`)."""

    users: frozenset[str]
    used: frozenset[str]


def reach(
    targets: Iterable[str], sources: Mapping[str, bytes], modules: Modules, bounds: Bounds = Bounds()
) -> Reached:
    """The files among `sources` (paths to bytes) that matter for `targets`, without these."""
    return _Graph(sources, modules).reach(frozenset(targets), bounds)


def imports(data: bytes) -> list[Import]:
    """What a file imports, read off its bytes, in order."""
    found: list[Import] = []
    at = data.find(b"import")
    while at >= 0:
        after = at + len(b"import")
        following = data[after : after + 1]
        if following == b"_":
            lazy = _LAZY.match(data, after)
            if lazy:
                found.append(Import(_text(lazy[1]), "", ""))
        elif not following.isalnum():
            found.extend(_statement(data, at, after))
        at = data.find(b"import", after)
    return found


def _statement(data: bytes, at: int, after: int) -> Iterator[Import]:
    """The statement with the word `import` between these offsets, if it is one."""
    start = data.rfind(b"\n", 0, at) + 1
    before = data[start:at]
    if not before.strip() and data[:start].rstrip(b"\r\n").endswith(b"\\"):
        previous = data.rfind(b"\n", 0, start - 1) + 1
        before = data[previous:start].rstrip(b"\\\r\n") + before
    source = _FROM.search(before)
    if source is None and not _BEFORE.search(before):
        return
    match = _NAMES.match(data, after)
    listed = _COMMENT.sub(b"", match[1]) if match else b""
    for part in listed.strip(b"() \t\r\n").split(b","):
        words = part.replace(b"\\", b" ").split()
        if not words:
            continue
        name = _text(words[0])
        bound = _text(words[2]) if len(words) == 3 and words[1] == b"as" else ""
        if source is not None:
            yield Import(_text(source[1]), name, bound or name)
        else:
            yield Import(name, "", bound or name.partition(".")[0])


class _Graph:
    """Who uses whom, worked out file by file as it is asked for."""

    def __init__(self, sources: Mapping[str, bytes], modules: Modules) -> None:
        self.sources = sources
        self.modules = modules
        self._imports: dict[str, list[Import]] = {}
        self._uses: dict[str, frozenset[str]] = {}
        self._said: dict[tuple[str, bool], frozenset[bytes]] = {}

    def reach(self, targets: frozenset[str], bounds: Bounds) -> Reached:
        users = self._users(set(targets), bounds.users)
        used = self._closure(set(targets), _END) | self._closure(users, bounds.bases)
        return Reached(frozenset(users & self.sources.keys()), frozenset(used - users - targets))

    def _closure(self, files: set[str], levels: int) -> set[str]:
        seen, new = set(files), set(files)
        while new and levels > 0:
            new = {used for file in new if file in self.sources for used in self._used(file)} - seen
            seen |= new
            levels -= 1
        return seen & self.sources.keys()

    def _users(self, files: set[str], levels: int) -> set[str]:
        used_by: dict[str, set[str]] = {}
        for file in self.sources:
            for used in self._used(file):
                used_by.setdefault(used, set()).add(file)
        seen, new = set(files), set(files)
        for level in range(levels):
            found: set[str] = set()
            for file in new:
                asking = self._asking(file)
                candidates = (user for user in used_by.get(file, ()) if user not in seen and user not in found)
                found.update(user for user in candidates if asking & self._words(user, level > 0))
            new = found - seen
            seen |= new
        return seen - files

    def _asking(self, file: str) -> frozenset[bytes]:
        """The functions of a file whose name does not tell how often they run: their callers do; and those of which
        only their callers tell what of them runs."""
        names = _DEFINED.findall(self.sources.get(file, b""))
        return frozenset(name for name in names if roles.sought(_text(name)))

    def _words(self, file: str, called: bool) -> frozenset[bytes]:
        """The words of a file, or only those that it calls."""
        known = self._said.get((file, called))
        if known is None:
            pattern = _CALLED if called else _WORD
            known = self._said[file, called] = frozenset(pattern.findall(self.sources.get(file, b"")))
        return known

    def _imports_of(self, file: str) -> list[Import]:
        known = self._imports.get(file)
        if known is None:
            known = self._imports[file] = imports(self.sources.get(file, b""))
        return known

    def _used(self, file: str) -> frozenset[str]:
        """The files that a file's imports lead to."""
        known = self._uses.get(file)
        if known is None:
            found: set[str] = set()
            if not self.modules.is_package(file) or _DEFINES_PUBLIC.search(self.sources.get(file, b"")):
                for one in self._imports_of(file):
                    self._follow(file, one, found)
            found.discard(file)
            known = self._uses[file] = frozenset(found)
        return known

    def _follow(self, file: str, one: Import, found: set[str]) -> None:
        dotted = self._dotted(file, one)
        if not dotted:
            return
        place = self.modules.find(dotted, file)
        if place is None:
            return
        path, rest = place
        if one.name == "*":
            self._all_of(path, found)
        elif rest or not self.modules.is_package(path):
            self._trace(path, rest, found)
        else:
            found.add(path)
            # The package itself is bound: what is read from it says what is used.
            base = dotted if one.name or "." not in one.module or one.bound != dotted.partition(".")[0] else one.bound
            for chain in self._chains(file, one.bound):
                place = self.modules.find(f"{base}.{chain}", file)
                if place is not None:
                    self._trace(*place, found)

    def _dotted(self, file: str, one: Import) -> str:
        module = self.modules.absolute(file, one.module)
        if not one.name or one.name == "*":
            return module
        return f"{module}.{one.name}" if module else ""

    def _trace(self, path: str, rest: str, found: set[str]) -> None:
        """Go from a name in a package to where it is defined, noting the files on the way."""
        pending, seen = [(path, rest)], set()
        while pending:
            step = pending.pop()
            if step in seen:
                continue
            seen.add(step)
            path, rest = step
            found.add(path)
            if not rest or not self.modules.is_package(path):
                continue
            name, _, more = rest.partition(".")
            for one in self._imports_of(path):
                if one.bound == name or one.name == "*":
                    whole = [self._dotted(path, one), name if one.name == "*" else "", more]
                    place = self.modules.find(".".join(filter(None, whole)), path) if whole[0] else None
                    if place is not None:
                        pending.append(place)

    def _all_of(self, path: str, found: set[str]) -> None:
        """Everything that a star import may bind."""
        self._trace(path, "", found)
        if self.modules.is_package(path):
            for one in self._imports_of(path):
                place = self.modules.find(self._dotted(path, one) or "-", path)
                if place is not None:
                    self._trace(*place, found)

    def _chains(self, file: str, name: str) -> set[str]:
        """What is read from a name in a file: "nn.losses" for `name.nn.losses(x)`."""
        if not name:
            return set()
        pattern = re.compile(rb"(?<![\w.])" + re.escape(name.encode()) + rb"((?:\s*\.\s*\w+)+)")
        return {_text(b"".join(chain.split()))[1:] for chain in pattern.findall(self.sources.get(file, b""))}


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
