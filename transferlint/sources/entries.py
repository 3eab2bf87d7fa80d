"""Which files of a folder a program can reach by its imports, from the file it starts with.

Where a name is found twice, both count, and what is imported in a function counts: rather one file more. Names that are
put together at run time cannot be followed, so a program that does this reaches everything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from transferlint import late
from transferlint.sources.reach import imports

# What imports by names that are not written there: `import_module(name)`, a loader for a path, a program's start.
_DYNAMIC = late.pattern(
    rb"(?:\bimport_module|__import__)\(\s*(?![rbuRBU]{0,2}['\"][\w.]+['\"]\s*\))"
    rb"|\bspec_from_file_location\b|\brun_(?:path|module)\(|\biter_modules\(|\bwalk_packages\(|\bload_entry_point|\bentry_points\("
    rb"|^\s*(?:import|from)\s+hydra\b",
    re.MULTILINE,
)
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
_INIT = "__init__"
# The files that a dotted name, in parts, may mean; whether it is meant from the folder itself.
Find = Callable[[tuple[str, ...], bool], Iterator[str]]


def reachable(root: str, start: str, whole: bool = True) -> list[str] | None:
    """The files below `root`, relative to it and sorted, that a program can import; `start` is the path of its first
    file, or the dotted name of a module. None where that cannot be told: an import by a computed name, a file that
    cannot be read, a start that is not found. `whole`: the folder is that of a project, any folder of which may be put
    on the path; else names are looked up in `root` alone, as Python does where a program lies; nothing is walked."""
    find = _walked(root) if whole else _beside(root)
    waiting = _first(root, start, find)
    reached: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        try:
            with open(os.path.join(root, path), "rb") as file:
                data = file.read()
        except OSError:
            return None
        if _DYNAMIC.search(data):
            return None
        parts = tuple(_parts(path))
        for one in imports(data):
            name = "" if one.name == "*" else one.name
            module = one.module + ("." if name and not one.module.endswith(".") else "") + name
            waiting.extend(_named(find, module, parts if _is_package(path) else parts[:-1]))
    return sorted(reached) or None


def counts(path: str) -> bool:
    """Whether a file, relative to the folder, may be of the program's own: no hidden folder, no environment."""
    return not any(part[0] == "." or part in _SKIPPED for part in path.split(os.sep))


def _walked(root: str) -> Find:
    """All that a folder holds: a name may be that of any file whose path ends like it."""
    files = {tuple(_parts(path)): path for path in sorted(_files(root), key=_is_package)}  # a package beats a module
    by_end: dict[str, list[tuple[str, ...]]] = {}
    for parts in files:
        by_end.setdefault(parts[-1], []).append(parts)

    def find(names: tuple[str, ...], exact: bool) -> Iterator[str]:
        for found in by_end.get(names[-1], ()):
            if found == names if exact else found[-len(names) :] == names:
                yield files[found]

    return find


def _beside(root: str) -> Find:
    """What lies at its name's path in a folder."""

    def find(names: tuple[str, ...], exact: bool) -> Iterator[str]:
        stem = os.path.join(*names)
        for path in (os.path.join(stem, f"{_INIT}.py"), f"{stem}.py"):
            if counts(path) and os.path.isfile(os.path.join(root, path)):
                yield path

    return find


def _first(root: str, start: str, find: Find) -> list[str]:
    inside = os.path.relpath(os.path.realpath(start), os.path.realpath(root))
    if start.endswith(".py"):
        return [path for path in find(tuple(_parts(inside)), True) if path == inside]
    return list(_named(find, start, ())) and [*_named(find, start, ()), *_named(find, f"{start}.__main__", ())]


def _named(find: Find, module: str, folder: tuple[str, ...]) -> Iterator[str]:
    """The files of a module, and of the packages that its import runs; `folder` is that of the asking file."""
    bare = module.lstrip(".")
    names = tuple(bare.split(".")) if bare else ()
    dots = len(module) - len(bare)
    if dots:
        names = (*folder[: len(folder) - dots + 1], *names)
    for length in range(1, len(names) + 1):
        yield from find(names[:length], bool(dots))


def _files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in _SKIPPED)
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(".py"))


def _is_package(path: str) -> bool:
    return os.path.basename(path) == f"{_INIT}.py"


def _parts(path: str) -> list[str]:
    """`a/b.py` as a, b; `a/__init__.py` as a."""
    parts = path.removesuffix(".py").split(os.sep)
    return parts[:-1] if parts[-1] == _INIT and len(parts) > 1 else parts
