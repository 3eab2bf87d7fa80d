"""Copies of a project to run it from, so that nothing is written to the project itself.

Left out is what a program does not read: the history of a version control system, virtual environments, caches and
what `verify` wrote. Everything else is copied, data too; files that are named as links become links to the originals.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

LIMIT = 1 << 30  # bytes that are copied without being asked again
_LEFT_OUT = frozenset(
    ".git .hg .svn __pycache__ node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .tox .nox".split()
)


class CopyError(Exception):
    """Why a project can not be copied; one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """What a copy of `root` is made of: paths relative to it. `links` stay links to the originals."""

    root: Path
    folders: tuple[str, ...]
    files: tuple[str, ...]
    links: tuple[str, ...]


def listing(root: Path, linked: Sequence[str] = (), without: Sequence[Path] = (), limit: int = LIMIT) -> Listing:
    """What to copy of `root`. `linked` are shell patterns of paths relative to it (a folder's name stands for all that
    is in it) that are linked, `without` folders to leave out. Raises CopyError where more than `limit` bytes would have
    to be copied."""
    folders: list[str] = []
    files: list[str] = []
    links: list[str] = []
    sizes: dict[str, int] = {}
    for folder, names, others in os.walk(root):
        here = Path(folder)
        kept = [name for name in sorted(names) if not _left_out(here / name, without)]
        names[:] = []
        for name in kept:
            path = here / name
            inside = path.relative_to(root).as_posix()
            if path.is_symlink() or _matches(inside, linked):
                links.append(inside)
            else:
                folders.append(inside)
                names.append(name)
        for name in sorted(others):
            path = here / name
            inside = path.relative_to(root).as_posix()
            if path.is_symlink() or _matches(inside, linked):
                links.append(inside)
            elif path.is_file():
                files.append(inside)
                sizes[inside] = path.stat().st_size
    if sum(sizes.values()) > limit:
        largest = max(sizes, key=lambda name: sizes[name])
        raise CopyError(
            f"{root}: {sum(sizes.values()) / 1e9:.1f} GB would be copied for every run, the largest {largest} "
            f"({sizes[largest] / 1e9:.1f} GB); name what the program only reads: --link '{_suggestion(largest)}'"
        )
    return Listing(root, tuple(folders), tuple(files), tuple(links))


def make(listed: Listing, target: Path, source: Path | None = None) -> None:
    """Make a copy at `target`, which must not be there, with the files' text from `source` (default: the project).
    Raises CopyError."""
    source = source or listed.root
    try:
        target.mkdir(parents=True)
        for name in listed.folders:
            (target / name).mkdir()
        for name in listed.files:
            shutil.copy2(source / name, target / name)
        for name in listed.links:
            original = listed.root / name
            (target / name).symlink_to(_end(original, listed.root))
    except OSError as error:
        named = error.filename or target
        raise CopyError(f"{named}: cannot be copied: {(error.strerror or str(error)).lower()}") from None


def changed(listed: Listing, before: dict[str, tuple[int, int]]) -> tuple[str, ...]:
    """The linked originals that are not as they were; `before` is what `states` gave."""
    return tuple(name for name, state in states(listed).items() if before.get(name) != state)


def states(listed: Listing) -> dict[str, tuple[int, int]]:
    """Size and time of the last change of what is linked, folders' files too."""
    found: dict[str, tuple[int, int]] = {}
    for name in listed.links:
        for path in _below(listed.root / name):
            with contextlib.suppress(OSError):  # a link that leads nowhere
                state = path.stat()
                found[os.path.relpath(path, listed.root)] = state.st_size, state.st_mtime_ns
    return found


def _below(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        yield from (one for one in path.rglob("*") if one.is_file())


def _left_out(folder: Path, without: Sequence[Path]) -> bool:
    return folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists() or folder.resolve() in without


def _matches(inside: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(inside, pattern.rstrip("/")) for pattern in patterns)


def _suggestion(name: str) -> str:
    return name.split("/", maxsplit=1)[0] if "/" in name else name


def _end(original: Path, root: Path) -> str:
    """Where the copy's link leads: a link within the project stays within the copy."""
    if original.is_symlink():
        written = os.readlink(original)
        if not os.path.isabs(written) and original.resolve().is_relative_to(root.resolve()):
            return written
    return str(original.resolve())
