"""Which files of a folder a program can reach by its imports, from the file it starts with.

Where a name is found twice, both count, and what is imported in a function counts: rather one file more. Names that are
put together at run time cannot be followed, so a program that does this reaches everything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

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


def reachable(root: str, start: str) -> list[str] | None:
    """The files below `root`, relative to it and sorted, that a program can import; `start` is the path of its first
    file, or the dotted name of a module. None where that cannot be told: an import by a computed name, a file that
    cannot be read, a start that is not found."""
    files = {
        tuple(_parts(path)): path for path in sorted(_files(root), key=_is_package)
    }  # one beats a module beside it
    by_end: dict[str, list[tuple[str, ...]]] = {}
    for parts in files:
        by_end.setdefault(parts[-1], []).append(parts)
    waiting = _first(root, start, by_end)
    reached: set[tuple[str, ...]] = set()
    while waiting:
        parts = waiting.pop()
        if parts in reached:
            continue
        reached.add(parts)
        try:
            with open(os.path.join(root, files[parts]), "rb") as file:
                data = file.read()
        except OSError:
            return None
        if _DYNAMIC.search(data):
            return None
        is_package = _is_package(files[parts])
        for one in imports(data):
            name = "" if one.name == "*" else one.name
            module = one.module + ("." if name and not one.module.endswith(".") else "") + name
            waiting.extend(_named(module, parts if is_package else parts[:-1], by_end))
    return sorted(files[parts] for parts in reached) if reached else None


def counts(path: str) -> bool:
    """Whether a file, relative to the folder, may be of the program's own: no hidden folder, no environment."""
    return not any(part[0] == "." or part in _SKIPPED for part in path.split(os.sep))


def _first(root: str, start: str, by_end: dict[str, list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    inside = os.path.relpath(os.path.realpath(start), os.path.realpath(root))
    if start.endswith(".py"):
        parts = tuple(_parts(inside))
        return [parts] if parts in by_end.get(parts[-1], ()) else []
    return list(_named(start, (), by_end)) and [*_named(start, (), by_end), *_named(f"{start}.__main__", (), by_end)]


def _named(module: str, folder: tuple[str, ...], by_end: dict[str, list[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    """The files of a module, and of the packages that its import runs; `folder` is that of the asking file."""
    bare = module.lstrip(".")
    names = tuple(bare.split(".")) if bare else ()
    dots = len(module) - len(bare)
    if dots:
        names = (*folder[: len(folder) - dots + 1], *names)
    for length in range(1, len(names) + 1):
        part = names[:length]
        for found in by_end.get(part[-1], ()):
            if found == part if dots else found[-length:] == part:
                yield found


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
