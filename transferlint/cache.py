"""What was made of a file's bytes, kept between runs: its frozen program and what goes with it.

An entry is found by the SHA-256 of the bytes, so that it holds wherever a file stands and whatever it is called, and
none is ever out of date. It lies under a stamp of all that made it: Python, and the front end's own files.
Entries are written whole or not at all, carry a checksum, and what cannot be read or written is made again: a damaged,
full or read-only cache costs time and nothing else.
"""

from __future__ import annotations

import array
import contextlib
import hashlib
import marshal
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from transferlint.syntax import portable
from transferlint.syntax.program import Program
from transferlint.syntax.suppressions import Suppression

VARIABLE = "TRANSFERLINT_CACHE_DIR"
_DIGEST = 16  # bytes
_KEPT = 30 * 24 * 3600  # seconds
_LOOKED_AFTER = ".pruned"

Parts = tuple[Program, tuple[Suppression, ...], "array.array[int]", "array.array[int]", "array.array[int]"]


def folder(environment: Mapping[str, str]) -> str:
    """Where entries lie for this version: below `TRANSFERLINT_CACHE_DIR`, else the user's cache folder."""
    import platformdirs

    base = environment.get(VARIABLE) or platformdirs.user_cache_dir("transferlint")
    return os.path.join(base, _stamp())


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
            if stamp.is_dir() and stamp.path != where and now - stamp.stat().st_mtime > _KEPT:
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
    for file in sorted(os.scandir(syntax), key=lambda one: one.name):
        if file.name.endswith(".py"):
            about = file.stat()
            made_by.append(f"{file.name} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(made_by).encode()).hexdigest()[:20]


def _array(data: Any) -> array.array[int]:
    found = array.array("i")
    found.frombytes(data)
    return found
