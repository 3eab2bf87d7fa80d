"""What was made of a file's bytes, kept between runs: its frozen program and what goes with it.

An entry is found by the SHA-256 of the bytes, so that it holds wherever a file stands and whatever it is called, and
none is ever out of date. It lies under a stamp of all that made it: Python, and the front end's own files.
Entries are written whole or not at all, carry a checksum, and what cannot be read or written is made again: a damaged,
full or read-only cache costs time and nothing else. The checksum is no proof of who wrote an entry, and `marshal` must
not be given bytes of others (docs.python.org, library/marshal): a cache that others can write is not used (`unfit`).
"""

from __future__ import annotations

import array
import contextlib
import hashlib
import marshal
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import Any

from transferlint.gitignore import repository
from transferlint.syntax import portable
from transferlint.syntax.front_end import Parts
from transferlint.syntax.suppressions import Suppression

VARIABLE = "TRANSFERLINT_CACHE_DIR"
_DIGEST = 16  # bytes
_KEPT = 30 * 24 * 3600  # seconds
_LOOKED_AFTER = ".pruned"
_STAMP = re.compile(r"[0-9a-f]{20}")


def folder(environment: Mapping[str, str]) -> str:
    """Where entries lie for this version: below `TRANSFERLINT_CACHE_DIR`, else the user's cache folder."""
    import platformdirs

    base = environment.get(VARIABLE) or platformdirs.user_cache_dir("transferlint")
    return os.path.join(base, _stamp())


def unfit(where: str, paths: Iterable[str]) -> str:
    """Why the cache is not to be used when `paths` are checked, in words, "" where nothing speaks against it: whoever
    wrote what is checked, or another user, could have written it."""
    base = os.path.realpath(os.path.dirname(where))
    for path in map(os.path.realpath, paths):
        tree = repository(path) or path
        if os.path.join(base, "").startswith(os.path.join(tree, "")):
            return f"it lies in {tree}, which is checked"
    try:
        found = os.stat(base)
    except OSError:  # not there yet
        return ""
    if hasattr(os, "getuid") and found.st_uid not in (0, os.getuid()):
        return "it belongs to another user"
    return "everybody can write to it" if found.st_mode & stat.S_IWOTH else ""


def holds(where: str, data: bytes) -> bool:
    """Whether there is an entry for these bytes; it may still turn out to be damaged."""
    return os.path.exists(_entry(where, data))


def read(where: str, path: str, data: bytes) -> Parts | None:
    """The program of these bytes under the name `path`, its suppressions, line starts, comment offsets and parentheses;
    None where they are not known."""
    try:
        with open(_entry(where, data), "rb") as file:
            content = file.read()
        if hashlib.blake2b(content[_DIGEST:], digest_size=_DIGEST).digest() != content[:_DIGEST]:
            return None
        packed, comments, *arrays = marshal.loads(memoryview(content)[_DIGEST:])
        program = portable.unpack(packed, path)
    except (OSError, ValueError, EOFError, TypeError):
        return None
    lines, marks, parentheses = (_array(part) for part in arrays)
    return program, tuple(Suppression(*fields) for fields in comments), lines, marks, parentheses


def write(where: str, data: bytes, parts: Parts) -> None:
    """Keep what was made of these bytes."""
    program, comments, *arrays = parts
    rows = [(c.codes, c.reason, c.first_line, c.last_line, c.line, c.start, c.end, c.kind) for c in comments]
    content = marshal.dumps((portable.pack(program), rows, *(part.tobytes() for part in arrays)))
    entry = _entry(where, data)
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(where), mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(entry), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(entry))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.blake2b(content, digest_size=_DIGEST).digest() + content)
            os.replace(temporary, entry)
        except OSError:
            os.unlink(temporary)


def prune(where: str, now: float | None = None) -> None:
    """Once a day, drop entries that were written over a month ago, and what other versions have left."""
    now = time.time() if now is None else now
    base = os.path.dirname(where)
    mark = os.path.join(base, _LOOKED_AFTER)
    with contextlib.suppress(OSError):
        if os.path.exists(mark) and now - os.stat(mark).st_mtime < 24 * 3600:
            return
        os.makedirs(base, exist_ok=True)
        with open(mark, "wb"):
            os.utime(mark, (now, now))
        for stamp in os.scandir(base):
            if not _STAMP.fullmatch(stamp.name) or not stamp.is_dir(follow_symlinks=False):
                continue  # somebody else's: the folder may be one that the user named
            if stamp.path != where and now - stamp.stat().st_mtime > _KEPT:
                shutil.rmtree(stamp.path, ignore_errors=True)
        for shelf in os.scandir(where):
            for entry in os.scandir(shelf.path) if shelf.is_dir() else ():
                if now - entry.stat().st_mtime > _KEPT:
                    os.unlink(entry.path)


def _entry(where: str, data: bytes) -> str:
    name = hashlib.sha256(data).hexdigest()
    return os.path.join(where, name[:2], name[2:])


def _stamp() -> str:
    """Changes whenever what makes entries does: Python, or a file of the front end."""
    made_by = [sys.version]
    syntax = os.path.join(os.path.dirname(os.path.abspath(__file__)), "syntax")
    for folder, _, names in sorted(os.walk(syntax)):
        for name in sorted(names):
            if name.endswith(".py"):
                about = os.stat(os.path.join(folder, name))
                made_by.append(f"{name} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(made_by).encode()).hexdigest()[:20]


def _array(data: Any) -> array.array[int]:
    found = array.array("i")
    found.frombytes(data)
    return found
