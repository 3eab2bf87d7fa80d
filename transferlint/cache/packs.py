"""Which rule packs are installed, as `importlib.metadata` said last: it reads the metadata of every package there is,
which takes longer than a small file does. They are the same as long as no folder of packages changed."""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from transferlint.cache import entries
from transferlint.cache.signatures import GONE, settled, signature


class Pack(NamedTuple):
    """An entry point: its name and its module, optionally with `:attribute`."""

    name: str
    value: str


class _Point(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def value(self) -> str: ...


def installed(where: str, ask: Callable[[], Iterable[_Point]]) -> tuple[Pack, ...]:
    """The packs that `ask` finds, from the cache's folder `where` ("" for none) where they are known."""
    if not where:
        return tuple(Pack(one.name, one.value) for one in ask())
    now = time.time_ns()
    states = [signature(path or os.getcwd()) for path in sys.path]
    path = os.path.join(where, "packs", hashlib.sha256(repr((sys.path, states)).encode()).hexdigest())
    known = entries.read(path)
    if isinstance(known, tuple):
        return tuple(Pack(*one) for one in known)
    found = tuple(Pack(one.name, one.value) for one in ask())
    if all(state == GONE or settled(state, now) for state in states):
        entries.write(where, path, marshal.dumps(tuple(map(tuple, found))))
    return found
