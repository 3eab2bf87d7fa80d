"""What is in the files of a project, as digests: read again only where the file system says that a file changed."""

from __future__ import annotations

import hashlib
import marshal
import os
import time
from collections.abc import Mapping
from typing import Any

from transferlint.cache import entries
from transferlint.cache.signatures import Signature, settled, signature
from transferlint.files.screen import worth_analysing

_SHELF = "contents"


class Contents:
    """The files of the project in a folder, which were in some states when they were looked at. `where` is the cache's
    folder, "" for none."""

    def __init__(self, where: str, root: str, states: Mapping[str, Signature]) -> None:
        self._states = states
        self._began = time.time_ns()
        self._path = os.path.join(where, _SHELF, _name(root)) if where else ""
        self._where = where
        self._is_new = False
        kept: Any = entries.read(self._path) if where else None
        known: dict[str, tuple[Signature, bytes, bool]] = kept if isinstance(kept, dict) else {}
        self._known = {
            path: known[path]
            for path, state in states.items()
            if path in known and known[path][0] == state and settled(state, self._began)
        }

    def digest(self, path: str) -> bytes:
        """The SHA-256 of a file's bytes. Raises OSError."""
        return self._of(path)[1]

    def worth(self, path: str) -> bool:
        """Whether a file is worth analysing by itself. Raises OSError."""
        return self._of(path)[2]

    def stands(self, path: str) -> bool:
        """Whether a file has the bytes still of which the digest is known. Raises OSError."""
        state, digest, _ = self._of(path)
        return (signature(path) == state and settled(state, self._began)) or _read(path)[0] == digest

    def keep(self) -> None:
        """Keep what is known, but of files that changed shortly before they were looked at."""
        if self._path and self._is_new:
            rows = {path: row for path, row in self._known.items() if settled(row[0], self._began)}
            entries.write(self._where, self._path, marshal.dumps(rows))
            self._is_new = False

    def _of(self, path: str) -> tuple[Signature, bytes, bool]:
        found = self._known.get(path)
        if found is None:
            state = self._states.get(path) or signature(path)
            found = self._known[path] = state, *_read(path)
            self._is_new = True
        return found


def _read(path: str) -> tuple[bytes, bool]:
    with open(path, "rb") as file:
        data = file.read()
    return hashlib.sha256(data).digest(), worth_analysing(data)


def _name(root: str) -> str:
    return hashlib.sha256(os.fsencode(os.getcwd() + "\0" + root)).hexdigest()
