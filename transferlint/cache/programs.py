"""What was made of a file's bytes: its frozen program and what goes with it.

An entry is found by the SHA-256 of the bytes, so that it holds wherever a file stands and whatever it is called, and
none is ever out of date.
"""

from __future__ import annotations

import array
import hashlib
import marshal
import os
from typing import Any

from transferlint.cache import entries
from transferlint.syntax import portable
from transferlint.syntax.parts import Parts
from transferlint.syntax.suppressions import Suppression


def holds(where: str, data: bytes) -> bool:
    """Whether there is an entry for these bytes; it may still turn out to be damaged."""
    return os.path.exists(entry(where, data))


def read(where: str, path: str, data: bytes) -> Parts | None:
    """The program of these bytes under the name `path`, its suppressions, line starts, comment offsets and parentheses;
    None where they are not known."""
    return read_content(where, path, hashlib.sha256(data).digest())


def read_content(where: str, path: str, content: bytes) -> Parts | None:
    """`read` by the SHA-256 of the bytes."""
    try:
        kept: Any = entries.read(_place(where, content))
        packed, comments, *arrays = kept
        program = portable.unpack(packed, path)
        lines, marks, parentheses = (_array(part) for part in arrays)
    except (ValueError, EOFError, TypeError):
        return None
    return program, tuple(Suppression(*fields) for fields in comments), lines, marks, parentheses


def write(where: str, data: bytes, parts: Parts) -> None:
    """Keep what was made of these bytes."""
    program, comments, *arrays = parts
    rows = [(c.codes, c.reason, c.first_line, c.last_line, c.line, c.start, c.end, c.kind) for c in comments]
    content = marshal.dumps((portable.pack(program), rows, *(part.tobytes() for part in arrays)))
    entries.write(where, entry(where, data), content)


def entry(where: str, data: bytes) -> str:
    """The path of the entry of these bytes."""
    return _place(where, hashlib.sha256(data).digest())


def _place(where: str, content: bytes) -> str:
    name = content.hex()
    return os.path.join(where, name[:2], name[2:])


def _array(data: Any) -> array.array[int]:
    found = array.array("i")
    found.frombytes(data)
    return found
