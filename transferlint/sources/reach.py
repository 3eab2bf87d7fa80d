"""Which files of a project matter for some of them: whom they use, and who uses them.

When a few files are checked, the rest of their project is context, and only some of it can change what is said about
them. What counts (`Bounds`): everything that the checked files import, whatever that imports, and so on; the files that
use names of the checked ones, and those that use these (a function is as hot as the loops that call it), or call their
methods by way of what their classes derive from, each with what they import themselves, base classes above all. A name
that a package only passes on (`from .core import Brain` in an `__init__.py`) leads to where it is defined, not to all
that the package imports.

Imports are read off the bytes, a hundred times as fast as parsing: those in functions and docstrings count, and so does
`import_module("a.b")`; names put together at run time do not.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from transferlint import late
from transferlint.knowledge import roles

_FROM = late.pattern(rb"(?:^|[;:])\s*from(?:\s+|(?=\.))([.\w]+)\s*$")
_BEFORE = late.pattern(rb"(?:^|[;:])\s*$")
_CONTINUED = (b"\\\n", b"\\\r\n")
_LAZY = late.pattern(rb"_module\(\s*[rbuRBU]?['\"]([.\w]+)")
_NAMES = late.pattern(rb"[^\\\r\n;#]*(?:\\\r?\n[^\\\r\n;#]*)*")
_NO_NAME = late.pattern(rb"[^\w\s,*.\\\x80-\xff]")
_SPACE = late.pattern(rb"\s*")
_COMMENT = late.pattern(rb"#[^\r\n]*")
_DEFINED = late.pattern(rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
_METHODS = late.pattern(rb"(?m)^[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)")
_BASES = 2  # levels of imports from a class to those that it derives from
_WORD = late.pattern(rb"\w+")
_CALLED = late.pattern(rb"(?<!def )\b(\w+)\(")
_DEFINES = late.pattern(rb"(?m)^[ \t]*(?:async[ \t]+def|def|class)[ \t]")
# What a package defines itself may use whatever it imports; names with an underscore are its own affair.
_DEFINES_PUBLIC = late.pattern(_DEFINES.pattern + rb"|^[A-Za-z]\w*[ \t]*(?::[^=\n]*)?=(?!=)")
# Names of packages that a file binds, and a digest of its imports and of what it reads from these names.
View = tuple[tuple[str, ...], bytes]
_END = 1 << 20
_FEW = 8


@late.dataclass(frozen=True, slots=True)
class Bounds:
    """How far to go: `users` levels of files that use the checked ones, and from each of them, `bases` levels of what
    they import. There is no bound on what the checked files import themselves."""

    users: int = 2
    bases: int = 2


_USUAL = Bounds()


class Modules(Protocol):
    """What is asked of a `ModuleIndex`."""

    def find(self, dotted: str, asking: str = "") -> tuple[str, str] | None:
        """The file of the longest beginning that is a module, and the rest."""

    def absolute(self, path: str, module: str) -> str:
        """The absolute name of a module that a file names."""

    def is_package(self, path: str) -> bool:
        """Whether a file is an `__init__.py`."""


@late.dataclass(frozen=True, slots=True)
class Import:
    """`from module import name as bound`, or (with `name` "") `import module as bound`. `import a.b` binds "a", and
    `import a.b as c` is `from a import b as c` (docs.python.org, reference/simple_stmts, 'The import statement')."""

    module: str
    name: str
    bound: str


@late.dataclass(frozen=True, slots=True)
class Reached:
    """The files that matter for some: their `users`, and what all of these and they themselves use (`used`)."""

    users: frozenset[str]
    used: frozenset[str]


def reach(targets: Iterable[str], sources: Mapping[str, bytes], modules: Modules, bounds: Bounds = _USUAL) -> Reached:
    """The files among `sources` (paths to bytes) that matter for `targets`, without these."""
    return Reach(sources, modules).of(targets, bounds)


def imports(data: bytes) -> list[Import]:
    """What a file imports, read off its bytes, in order; every byte is looked at a bounded number of times."""
    found: list[Import] = []
    listed = _Lists(data)
    start, at = 0, data.find(b"import")
    while at >= 0:
        after = at + len(b"import")
        following = data[after : after + 1]
        if following == b"_":
            lazy = _LAZY.match(data, after)
            if lazy:
                found.append(Import(_text(lazy[1]), "", ""))
        elif not following.isalnum():
            before = _before(data, start, at)
            source = _FROM.search(before)
            if source is not None or _BEFORE.search(before):
                names, after = listed.after(after)
                found.extend(_named(names, source and _text(source[1])))
            start = after
        at = data.find(b"import", after)
    return found


def _before(data: bytes, start: int, at: int) -> bytes:
    """What stands before an offset in its line, continued lines being one, but nothing before the byte that ends at
    `start`: what was read before."""
    first = max(start - 1, 0)
    line = data.rfind(b"\n", first, at) + 1
    before = data[line or first : at]
    if not before.strip() and line and data.endswith(_CONTINUED, first, line):
        previous = data.rfind(b"\n", first, line - 1) + 1 or first
        before = data[previous:line].rstrip(b"\\\r\n") + before
    return before


def _named(names: bytes, source: str | None) -> Iterator[Import]:
    """What a statement imports: `names` from `source`, or (None) the modules `names`."""
    for part in names.strip(b"() \t\r\n").split(b","):
        words = part.replace(b"\\", b" ").split()
        if not words:
            continue
        name = _text(words[0])
        bound = _text(words[2]) if len(words) == 3 and words[1] == b"as" else ""
        package, _, last = name.rpartition(".")
        if source is not None:
            yield Import(source, name, bound or name)
        elif bound and package:
            yield Import(package, last, bound)
        else:
            yield Import(name, "", bound or name.partition(".")[0])


class _Lists:
    """The lists of names after the word `import`, asked for from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._failed = 0  # up to here nothing closes a bracket

    def after(self, at: int) -> tuple[bytes, int]:
        """The list that begins here, without its brackets and comments, and where it ends."""
        space = _SPACE.match(self.data, at)
        first = space.end() if space else at
        if self.data.startswith(b"(", first):
            return self._bracketed(first + 1)
        names = _NAMES.match(self.data, at)
        assert names is not None  # it matches nothing at all, too
        return names[0], names.end()

    def _bracketed(self, first: int) -> tuple[bytes, int]:
        """The same after an opening bracket. Where something else than names and comments comes before the closing one
        it is no statement, and the rest of the line is left out: so no line is gone through more than twice."""
        end = self.data.find(b"\n", first)
        line = len(self.data) if end < 0 else end
        at = first
        while odd := _NO_NAME.search(self.data, at):
            if odd[0] == b")":
                return _COMMENT.sub(b"", self.data[first : odd.start()]), odd.end()
            at = self.data.find(b"\n", odd.start()) if odd[0] == b"#" else -1
            if at < 0 or at < self._failed:
                break
        self._failed = max(self._failed, odd.start() if odd else len(self.data))
        return b"", line


class Reach:
    """Who uses whom among `sources`, worked out file by file as it is asked for; `known` has which files some use, and
    their views."""

    def __init__(
        self,
        sources: Mapping[str, bytes],
        modules: Modules,
        known: Mapping[str, tuple[frozenset[str], View]] | None = None,
    ) -> None:
        self.sources = sources
        self.modules = modules
        self._imports: dict[str, dict[str, list[Import]]] = {}
        self._uses: dict[str, frozenset[str]] = {file: used for file, (used, _) in (known or {}).items()}
        self._views: dict[str, View] = {file: view for file, (_, view) in (known or {}).items()}
        self._packages: dict[str, tuple[str, ...]] = {}
        self._traced: dict[tuple[str, str], frozenset[str]] = {}
        self._used_by: dict[str, set[str]] = {}
        self._said: dict[tuple[str, bool], frozenset[bytes]] = {}
        self._methods: dict[str, frozenset[bytes]] = {}
        # By file: what it uses, what it asks its callers for, and what matters for it then.
        self._near: dict[str, tuple[frozenset[str], frozenset[bytes], Reached]] = {}

    def near(self, file: str) -> Reached:
        """`of` one file within the usual bounds, kept until another file changes or this one uses others."""
        used, asking = self.used(file), self._asking(file) | self._overridable(file)
        known = self._near.get(file)
        if known is None or known[:2] != (used, asking):
            known = self._near[file] = used, asking, self.of([file])
        return known[2]

    def of(self, targets: Iterable[str], bounds: Bounds = _USUAL) -> Reached:
        """The files that matter for `targets`, without these."""
        targets = frozenset(targets)
        users = self._users(set(targets), bounds.users)
        used = self._closure(set(targets), _END) | self._closure(users, bounds.bases)
        return Reached(frozenset(users.intersection(self.sources)), frozenset(used - users - targets))

    def brief(self) -> Reach:
        """The same with nothing that was read off the files but where they lead and their views."""
        known = {file: (self.used(file), self.view(file)) for file in self.sources}
        return Reach(dict.fromkeys(known, b""), self.modules, known)

    def renew(self, file: str) -> None:
        """Forget what was read off a file, because its bytes changed. That of an `__init__.py` says where the names of
        others lead, so then everything has to be asked anew, of another `Reach`."""
        self._imports.pop(file, None)
        self._views.pop(file, None)
        self._near = {one: known for one, known in self._near.items() if one == file}
        self._said.pop((file, True), None)
        self._said.pop((file, False), None)
        self._methods.pop(file, None)
        before = self._uses.pop(file, frozenset())
        if self._used_by:
            after = self.used(file)
            for used in before - after:
                self._used_by[used].discard(file)
            for used in after - before:
                self._used_by.setdefault(used, set()).add(file)

    def _closure(self, files: set[str], levels: int) -> set[str]:
        seen, new = set(files), set(files)
        while new and levels > 0:
            new = {used for file in new if file in self.sources for used in self.used(file)} - seen
            seen |= new
            levels -= 1
        return seen.intersection(self.sources)

    def _users(self, files: set[str], levels: int) -> set[str]:
        used_by = self._used_by
        if not used_by:
            for file in self.sources:
                for used in self.used(file):
                    used_by.setdefault(used, set()).add(file)
        seen, new = set(files), set(files)
        for level in range(levels):
            found = self._by_dispatch(files) - seen if not level else set[str]()
            for file in new:
                asking = self._asking(file)
                candidates = (user for user in used_by.get(file, ()) if user not in seen and user not in found)
                found.update(user for user in candidates if asking & self._words(user, level > 0))
            new = found - seen
            seen |= new
        return seen - files

    def _by_dispatch(self, files: set[str]) -> set[str]:
        """The files that call methods of these by way of what their classes derive from: those that use a file in which
        a function of the same name stands, and call it."""
        found: set[str] = set()
        for file in files:
            own = self._overridable(file)
            for base in self._closure({file}, _BASES) - {file} if own else ():
                common = own & self._overridable(base)
                users = self._used_by.get(base, ()) if common else ()
                found.update(user for user in users if common & self._words(user, True))
        return found

    def _overridable(self, file: str) -> frozenset[bytes]:
        """The methods of a file whose callers matter, by whatever class they are called."""
        known = self._methods.get(file)
        if known is None:
            names = _METHODS.findall(self.sources.get(file, b""))
            known = self._methods[file] = frozenset(name for name in names if not roles.certain(_text(name)))
        return known

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

    def _imports_of(self, file: str) -> dict[str, list[Import]]:
        """What a file imports, by what it is bound to ("*" for a star)."""
        known = self._imports.get(file)
        if known is None:
            known = self._imports[file] = _by_name(self.sources.get(file, b""))
        return known

    def used(self, file: str) -> frozenset[str]:
        """The files that a file's imports lead to."""
        known = self._uses.get(file)
        if known is None:
            found: set[str] = set()
            if not self.modules.is_package(file) or _DEFINES_PUBLIC.search(self.sources.get(file, b"")):
                packages: dict[str, set[str]] = {}
                for bound, ones in self._imports_of(file).items():
                    for one in ones:
                        base = self._follow(file, one, found)
                        if base and bound:
                            packages.setdefault(bound, set()).add(base)
                self._packages[file] = tuple(sorted(packages))
                for bound, chain in _chains(self.sources.get(file, b""), packages):
                    for base in packages[bound]:
                        place = self.modules.find(f"{base}.{chain}", file)
                        if place is not None:
                            found |= self._trace(*place)
            found.discard(file)
            known = self._uses[file] = frozenset(found)
        return known

    def view(self, file: str) -> View:
        """What `used` of a file follows from, of its bytes."""
        known = self._views.get(file)
        if known is None:
            self.used(file)
            names = self._packages.get(file, ())
            data = self.sources.get(file, b"")
            known = self._views[file] = names, _viewed(self._imports_of(file), data, names)
        return known

    def named(self, file: str) -> frozenset[str]:
        """The files that the import statements of a file name, whatever they are used for."""
        names = (self._dotted(file, one) for ones in self._imports_of(file).values() for one in ones)
        places = (self.modules.find(name, file) for name in names if name)
        return frozenset(place[0] for place in places if place is not None)

    def _follow(self, file: str, one: Import, found: set[str]) -> str:
        """Note the files that an import leads to. What is given back is the name of the package that it binds, of which
        what is read from it says what is used; "" for others."""
        dotted = self._dotted(file, one)
        place = self.modules.find(dotted, file) if dotted else None
        if place is None:
            return ""
        path, rest = place
        if one.name == "*":
            self._all_of(path, found)
        elif rest or not self.modules.is_package(path):
            found |= self._trace(path, rest)
        else:
            found.add(path)
            return dotted if one.name else _base(one)
        return ""

    def _dotted(self, file: str, one: Import) -> str:
        module = self.modules.absolute(file, one.module)
        if not one.name or one.name == "*":
            return module
        return f"{module}.{one.name}" if module else ""

    def _trace(self, path: str, rest: str) -> frozenset[str]:
        """The files from a name in a package to where it is defined.

        What is still to be looked up never gets longer on the way, and but for its first name it is an end of `rest`:
        so there are finitely many places to come by, and each is looked at once.
        """
        known = self._traced.get((path, rest))
        if known is None:
            pending, seen = [(path, rest)], {(path, rest)}
            while pending:
                for step in self._steps(*pending.pop()):
                    if step not in seen:
                        seen.add(step)
                        pending.append(step)
            known = self._traced[path, rest] = frozenset(file for file, _ in seen)
        return known

    def _steps(self, path: str, rest: str) -> Iterator[tuple[str, str]]:
        """Where a name of a package may have been imported from, and what is to be looked up there."""
        if not rest or not self.modules.is_package(path):
            return
        name, _, more = rest.partition(".")
        bound = self._imports_of(path)
        for one in (*bound.get(name, ()), *bound.get("*", ())):
            if one.name == "*":
                module, after = self._dotted(path, one), rest
            elif one.name:
                module, after = self.modules.absolute(path, one.module), ".".join(filter(None, (one.name, more)))
            else:
                module, after = _base(one), more
            place = self.modules.find(".".join(filter(None, (module, after))), path) if module else None
            if place is None:
                continue
            # A module that is there in part only is none of the project's.
            yield place if _parts(place[1]) <= _parts(after) else (place[0], "")

    def _all_of(self, path: str, found: set[str]) -> None:
        """Everything that a star import may bind."""
        found.add(path)
        if self.modules.is_package(path):
            for one in itertools.chain.from_iterable(self._imports_of(path).values()):
                place = self.modules.find(self._dotted(path, one) or "-", path)
                if place is not None:
                    found |= self._trace(*place)


def is_seen(data: bytes, view: View) -> bool:
    """Whether a file that has these bytes now leads to the same files as when it was seen so, where no file came or
    went and none on the way changed."""
    names, digest = view
    return _viewed(_by_name(data), data, names) == digest


def _viewed(found: Mapping[str, list[Import]], data: bytes, names: Collection[str]) -> bytes:
    about = list(found.items()), bool(_DEFINES_PUBLIC.search(data)), sorted(_chains(data, names))
    return hashlib.sha256(repr(about).encode("utf-8", "surrogatepass")).digest()


def _by_name(data: bytes) -> dict[str, list[Import]]:
    found: dict[str, list[Import]] = {}
    for one in imports(data):
        found.setdefault(one.bound, []).append(one)
    return found


def _base(one: Import) -> str:
    """The module that `import a.b` binds: "a"."""
    return one.module.partition(".")[0]


def _parts(dotted: str) -> int:
    return dotted.count(".") + 1 if dotted else 0


def _chains(data: bytes, names: Collection[str]) -> set[tuple[str, str]]:
    """What is read from some names in a file: "nn.losses" of "name" for `name.nn.losses(x)`."""
    if not names:
        return set()
    few = b"|".join(sorted(re.escape(name.encode()) for name in names)) if len(names) <= _FEW else rb"[^\W\d]\w*"
    pattern = re.compile(rb"(?<![\w.])(%b)((?:\s*\.\s*\w+)+)" % few)
    found = {(_text(name), _text(b"".join(chain.split()))[1:]) for name, chain in set(pattern.findall(data))}
    return {one for one in found if one[0] in names}


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
