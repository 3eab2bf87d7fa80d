"""What was found in files that no import connects with others: plain records, under a key of all that they rest on."""

from __future__ import annotations

import hashlib
import io
import marshal
import os
import pickle
import sys
from collections.abc import Iterable
from typing import Any

from transferlint.cache import entries

_SHELF = "results"
_OWN = ("transferlint.model", "transferlint.engine.plan", "transferlint.sources.discovery")


class _Reader(pickle.Unpickler):
    """Makes nothing but records of ours, however the bytes came about (docs.python.org, library/pickle, "Restricting
    Globals")."""

    def find_class(self, module: str, name: str) -> Any:
        """Raises UnpicklingError for what is no such record."""
        if module not in _OWN or "." in name:
            raise pickle.UnpicklingError(f"{module}.{name} is no record")
        return super().find_class(module, name)


def read(where: str, key: str) -> Any:
    """The records under a key, None where there are none."""
    kept = entries.read(os.path.join(where, _SHELF, key))
    if not isinstance(kept, bytes):
        return None
    try:
        return _Reader(io.BytesIO(kept)).load()
    except Exception:  # of a version whose records were others, there is no telling what
        return None


def write(where: str, key: str, records: object) -> None:
    """Keep records of `transferlint.model` and the like, in tuples."""
    content = pickle.dumps(records, protocol=5)
    entries.write(where, os.path.join(where, _SHELF, key), marshal.dumps(content))


def digest(*parts: object) -> str:
    """A key of some parts, each of which its `repr` tells from all others."""
    found = hashlib.sha256()
    for part in parts:
        words = repr(part).encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(words) + words)
    return found.hexdigest()


def made_by(folders: Iterable[str]) -> str:
    """A digest of all modules in some folders of packages, and of the Python that runs them."""
    found = []
    for folder in folders:
        for path, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    with open(os.path.join(path, name), "rb") as file:
                        found.append((name, hashlib.sha256(file.read()).digest()))
    return digest(sys.version, found)
