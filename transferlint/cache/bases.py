"""What was written down of a group of files when it was last checked, from nothing or by an update: one file with a
part for each file of the group, which is read when it is asked for, and a head.

A group has one, under a key of all that it rests on but for the contents of its files, so that there are never more of
these than groups.
"""

from __future__ import annotations

import hashlib
import io
import marshal
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transferlint.cache import entries

_SHELF = "bases"
_DIGEST = 16  # bytes
_SIZE = 8
_RECORDS = frozenset(
    {
        ("transferlint.flow.incremental.recorded", "FileRecord"),
        ("transferlint.flow.incremental.recorded", "HeatRecord"),
        ("transferlint.flow.incremental.recorded", "Seen"),
        ("transferlint.flow.incremental.traces", "Trace"),
        ("transferlint.flow.lattice.values", "Value"),
        ("transferlint.flow.callgraph.roles", "Role"),
        ("transferlint.flow.placement.placed", "Passed"),
        ("transferlint.flow.lattice.transfers", "Transfer"),
        ("transferlint.flow.frequency.warmth", "Warmth"),
        ("transferlint.flow.frequency.uses", "Uses"),
        ("transferlint.flow.frequency.runs", "Runs"),
        ("transferlint.syntax.program", "Parameter"),
        ("transferlint.model", "Direction"),
        ("transferlint.model", "Level"),
        ("transferlint.reasons", "Cause"),
        ("transferlint.reasons", "Reason"),
    }
)


class _Reader(pickle.Unpickler):
    """Makes nothing but records of ours (docs.python.org, library/pickle, "Restricting Globals")."""

    def find_class(self, module: str, name: str) -> Any:
        """Raises UnpicklingError for what is no such record."""
        if (module, name) not in _RECORDS:
            raise pickle.UnpicklingError(f"{module}.{name} is no record")
        return super().find_class(module, name)


class Base:
    """An open base: `head` is what `write` was given, `digest` stands for all that was."""

    def __init__(self, path: str, head: Any, places: dict[str, tuple[int, int, bytes]], digest: bytes) -> None:
        self.head = head
        self.digest = digest
        self._path = path
        self._places = places

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def part(self, name: str) -> Any:
        """The records of that name; None where there are none, or they are not what was written."""
        content = self._content(name)
        try:
            return _Reader(io.BytesIO(content)).load() if content is not None else None
        except Exception:  # of a version whose records were others, there is no telling what
            return None

    def _content(self, name: str) -> bytes | None:
        place = self._places.get(name)
        if place is None:
            return None
        at, size, digest = place
        try:
            with open(self._path, "rb") as file:
                file.seek(at)
                content = file.read(size)
        except OSError:
            return None
        return content if _digest(content) == digest else None

    def renew(self, where: str, head: Any, fresh: Mapping[str, object]) -> None:
        """Write it anew with this head, and these records in place of those that it has; it stays as it is where
        another run has written it meanwhile."""
        parts = ((name, _packed(fresh[name]) if name in fresh else self._whole(name)) for name in self._places)
        _write(where, self._path, head, parts)

    def _whole(self, name: str) -> bytes:
        content = self._content(name)
        if content is None:
            raise OSError(f"{self._path}: another one by now")
        return content


def read(where: str, key: str) -> Base | None:
    """The base under a key, None where there is none, or its head is not whole."""
    path = os.path.join(where, _SHELF, key)
    try:
        with open(path, "rb") as file:
            end = file.seek(-_DIGEST - _SIZE, os.SEEK_END)
            size, digest = int.from_bytes(file.read(_SIZE), "big"), file.read(_DIGEST)
            file.seek(end - size)
            content = file.read(size)
        if _digest(content) != digest:
            return None
        head, places = marshal.loads(content)
        return Base(path, head, places, digest)
    except (OSError, ValueError, EOFError, TypeError):
        return None


def write(where: str, key: str, head: Any, parts: Iterable[tuple[str, object]]) -> None:
    """Keep records by name, one after the other, and a head of plain values, which comes last."""
    _write(where, os.path.join(where, _SHELF, key), head, ((name, _packed(records)) for name, records in parts))


def _write(where: str, path: str, head: Any, parts: Iterable[tuple[str, bytes]]) -> None:
    entries.write_parts(where, path, _contents(head, parts))


def _contents(head: Any, parts: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    places: dict[str, tuple[int, int, bytes]] = {}
    at = 0
    for name, content in parts:
        places[name] = at, len(content), _digest(content)
        at += len(content)
        yield content
    packed = marshal.dumps((head, places))
    yield packed + len(packed).to_bytes(_SIZE, "big") + _digest(packed)


def _packed(records: object) -> bytes:
    return pickle.dumps(records, protocol=5)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
