"""Which file is which module: dotted names to files and back, from paths alone.

A file's *import root* is the folder that its name counts from, the first of these that applies (docs.python.org,
reference/import, 'Regular packages' and 'Namespace packages'):

1. the parent of the topmost folder of the unbroken or broken line of folders above it that has an `__init__.py`,
2. `src/` under the project's root, for what is below it,
3. the project's root.

So folders without an `__init__.py` are namespace packages. Besides its own name a file can be named from where a
script stands: `import utils` in `examples/train.py` means `examples/utils.py`, if `examples` is no package, whatever
else is called `utils` (docs.python.org, library/sys, `sys.path`: the folder of the script comes first). The folders
above the script's, up to the root, count after everything else, for programs that are run from there; and last those of
them that are packages, which programs put on `sys.path` themselves, or by running a script that stands in them. No name
of the standard library and of the libraries that are known by name is looked up in these.

Nothing is read and nothing depends on the order of files.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping

from transferlint.knowledge import catalogue, frameworks, libraries

_INIT = "__init__"


class ModuleIndex:
    """The modules of a project.

    `files` are the paths of its Python files as everybody names them, `root` its folder; relative paths count from
    the current folder. Paths that are given back, or asked about, are spelt as in `files`. `links` maps those of
    `files` that are links to the ones they lead to, which are given back instead. `distributions` are the folders whose
    files are made a distribution of, for programs that are not in sight; None where there may be such programs anyway.
    """

    def __init__(
        self,
        files: Iterable[str],
        root: str,
        links: Mapping[str, str] | None = None,
        distributions: Collection[str] | None = None,
    ) -> None:
        self.root = os.path.abspath(root)
        self._distributions = distributions
        self._below = os.path.join(self.root, "")
        self._absolutes = absolutes(sorted(files))
        self._packages = {
            os.path.dirname(whole) for whole in self._absolutes.values() if whole.endswith(os.sep + _INIT + ".py")
        }
        self._roots: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._scripts: dict[str, tuple[str, ...]] = {}
        self._package_folders: dict[str, tuple[str, ...]] = {}
        self._claims: dict[str, list[str]] = {}
        # What stands at a path without its ending; a package beats the module beside it, as in Python.
        self._at: dict[str, str] = {}
        # All beginnings of names and of paths: a search ends where there is nothing further in.
        self._beginnings: set[str] = set()
        self._folders: set[str] = set()
        self._links = links or {}
        for path in sorted(self._absolutes, key=self.is_package, reverse=True):  # which keeps the order of the rest
            stem = _stem(self._absolutes[path])
            if stem not in self._at:
                self._at[stem] = path
                self._claims.setdefault(self.name(path), []).append(path)
                _add_beginnings(self.name(path), ".", self._beginnings)
                _add_beginnings(stem, os.sep, self._folders)

    def name(self, path: str) -> str:
        """The canonical dotted name of a file: "pkg.sub.module", "pkg" for its `__init__.py`."""
        known = self._names.get(path)
        if known is None:
            whole = self._whole(path)
            known = _dotted(_stem(whole), self._root_of(os.path.dirname(whole)))
            self._names[path] = known
        return known

    def closed(self, path: str) -> bool:
        """Whether all programs that use a file are in sight: it belongs to no distribution that others install, and
        the whole project is there (a closed world, as whole-program compilers have it)."""
        if self._distributions is None:
            return False
        return not any(folder in self._distributions for folder in self._above(os.path.dirname(self._whole(path))))

    def is_package(self, path: str) -> bool:
        """Whether a file is the `__init__.py` of a package."""
        return path.endswith(_INIT + ".py") and os.path.basename(path) == _INIT + ".py"

    def below(self, package: str, rest: str) -> tuple[bool, str]:
        """What of a dotted name below a package, given by its `__init__.py`, is no folder or module of it: whether the
        package itself was left for one of its folders, and the rest; "" where all is there."""
        stem, parts = _stem(self._whole(package)), rest.split(".")
        for at, part in enumerate(parts):
            stem = os.path.join(stem, part)
            if stem not in self._folders:
                return at > 0, ".".join(parts[at:])
        return True, ""

    def find(self, dotted: str, asking: str = "") -> tuple[str, str] | None:
        """The file of the longest beginning of `dotted` that is a module, and the rest: "a.b.f" is ("a/b.py", "f").

        `asking` is the file in which the (absolute) name stands. None where no file has such a name, and where several
        have it: then only the one whose import root is nearest above `asking` counts, or the only one in the same
        folder directly below the project's root.
        """
        parts = dotted.split(".")
        folders = self._script_folders(asking) if asking else ()
        beside = self._find_in(folders[:1], parts, asking)
        if beside is not None:
            return beside
        claims, length = self._longest(parts)
        if claims:
            chosen = claims[0] if len(claims) == 1 else self._nearest(claims, asking)
            return None if chosen is None else (self._links.get(chosen, chosen), ".".join(parts[length:]))
        found = self._find_in(folders[1:], parts, asking)
        if found is None and asking and parts[0] not in _libraries():
            found = self._find_in(self._packages_above(asking), parts, asking)
        return found

    def _longest(self, parts: list[str]) -> tuple[list[str], int]:
        """The files that claim the longest beginning of a name that anybody claims, and how many parts that has."""
        found: tuple[list[str], int] = [], 0
        name = ""
        for length, part in enumerate(parts, start=1):
            name = f"{name}.{part}" if length > 1 else part
            if name not in self._beginnings:
                break
            if name in self._claims:
                found = self._claims[name], length
        return found

    def absolute(self, path: str, module: str) -> str:
        """The absolute name of what a file calls `module`: "..x.y" in pkg/sub/a.py is "pkg.x.y".

        A name without leading dots is as it was. "" where the dots lead out of the file's outermost package.
        """
        relative = module.lstrip(".")
        dots = len(module) - len(relative)
        if not dots:
            return module
        package = self.name(path).split(".")
        up = dots - 1 if self.is_package(path) else dots
        if up > len(package) or (up == len(package) and self.is_package(path)):
            return ""
        kept = package[: len(package) - up]
        return ".".join([*kept, relative] if relative else kept)

    def _find_in(self, folders: Iterable[str], parts: list[str], asking: str) -> tuple[str, str] | None:
        """As `find`, with each of these folders in turn in the place of the import root; never `asking` itself."""
        for folder in filter(None, folders):
            chosen, stem = None, folder
            for length, part in enumerate(parts, start=1):
                stem = os.path.join(stem, part)
                if stem not in self._folders:
                    break
                at = self._at.get(stem)
                at = self._links.get(at, at) if at is not None else None
                if at is not None and at != asking:
                    chosen = at, length
            if chosen is not None:
                return chosen[0], ".".join(parts[chosen[1] :])
        return None

    def _script_folders(self, asking: str) -> tuple[str, ...]:
        """The folder of a file, where it is no package ("" where it is), and those above it that are none."""
        own = os.path.dirname(self._whole(asking))
        known = self._scripts.get(own)
        if known is None:
            # A root that is a package is also where programs are run from.
            folders = [
                at if at not in self._packages or (at == self.root and at != own) else "" for at in self._above(own)
            ]
            known = self._scripts[own] = (*folders[:1], *filter(None, folders[1:]))
        return known

    def _packages_above(self, asking: str) -> tuple[str, ...]:
        """The folder of a file and those above it that are packages, the nearest first."""
        own = os.path.dirname(self._whole(asking))
        known = self._package_folders.get(own)
        if known is None:
            known = self._package_folders[own] = tuple(at for at in self._above(own) if at in self._packages)
        return known

    def _above(self, folder: str) -> Iterator[str]:
        """A folder and those above it, up to the project's root; none for one that is not below that."""
        while folder == self.root or folder.startswith(self._below):
            yield folder
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)

    def _nearest(self, claims: list[str], asking: str) -> str | None:
        if not asking:
            return None
        whole = self._whole(asking)
        above = {}
        for path in claims:
            root = self._root_of(os.path.dirname(self._whole(path)))
            if whole.startswith(os.path.join(root, "")):
                above[root] = path
        if above:
            return above[max(above, key=len)]
        tree = self._tree(whole)
        same = [path for path in claims if self._tree(self._whole(path)) == tree]
        return same[0] if len(same) == 1 else None

    def _tree(self, whole: str) -> str:
        """The folder directly below the project's root that holds a file, "" for none."""
        if not whole.startswith(self._below):
            return ""
        first, _, rest = whole[len(self._below) :].partition(os.sep)
        return first if rest else ""

    def _root_of(self, folder: str) -> str:
        """The import root of the files in an absolute folder."""
        known = self._roots.get(folder)
        if known is None:
            known = self._roots[folder] = self._find_root(folder)
        return known

    def _find_root(self, folder: str) -> str:
        topmost = ""
        at = folder
        while True:
            if at in self._packages:
                topmost = at
            above = os.path.dirname(at)
            if above == at:
                break
            at = above
        if topmost:
            return os.path.dirname(topmost)
        source = os.path.join(self.root, "src")
        if folder == source or folder.startswith(source + os.sep):
            return source
        return self.root if folder == self.root or folder.startswith(self._below) else folder

    def _whole(self, path: str) -> str:
        return self._absolutes.get(path) or os.path.abspath(path)


@functools.cache
def _libraries() -> frozenset[str]:
    """The first names of the libraries that no folder of a package is taken to stand before."""
    known = {name.partition(".")[0] for name in (*catalogue.rows(), *catalogue.below())}
    return sys.stdlib_module_names.union(known, frameworks.ROOTS, libraries.OF_MODULES, libraries.FOREIGN)


def _stem(whole: str) -> str:
    """Where a module stands: the path without its ending; of a package, the folder. A notebook keeps its ending, as it
    cannot be imported."""
    if whole.endswith(".py") and whole[-4] not in (os.sep, "."):
        stem = whole[:-3]
    else:
        stem = whole if whole.endswith(".ipynb") else os.path.splitext(whole)[0]
    return os.path.dirname(stem) if stem.endswith(os.sep + _INIT) else stem


def _dotted(stem: str, root: str) -> str:
    """A dot in a folder's name becomes a dash, so that nothing that can be imported has such a name."""
    below = stem[len(root) + 1 :] if stem.startswith(root + os.sep) else os.path.relpath(stem, root)
    return below.replace(".", "-").replace(os.sep, ".")


def absolutes(paths: Iterable[str]) -> dict[str, str]:
    """`os.path.abspath` of each path, with each folder worked out once."""
    folders: dict[str, str] = {}
    found = {}
    for path in paths:
        folder, _, name = path.rpartition(os.sep)
        if name in ("", os.curdir, os.pardir) or (not folder and path != name) or os.altsep:
            found[path] = os.path.abspath(path)
            continue
        known = folders.get(folder)
        if known is None:
            known = folders[folder] = os.path.join(os.path.abspath(folder), "")
        found[path] = known + name
    return found


def _add_beginnings(name: str, separator: str, known: set[str]) -> None:
    """Add a name and all that it is within, unless that is done."""
    while name and name not in known:
        known.add(name)
        name = name.rpartition(separator)[0]
