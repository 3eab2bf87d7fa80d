"""The import graph of a project between runs: which files each file's imports lead to.

That follows from a file's own bytes, from the names of all files, and from what the packages on the way import. So a
row holds while names and packages are as they were, and of it all files that are; what changed is read again.
"""

from __future__ import annotations

import hashlib
import marshal
import os
from collections.abc import Iterable, Mapping
from typing import Any

from transferlint.cache import entries
from transferlint.cache.signatures import Signature, settled
from transferlint.files.screen import is_package

_SHELF = "graphs"
_FORMAT = 3  # of a row: another number where rows are others, as versions share the folder

# By file, those that it uses, and what of its bytes that follows from.
Uses = dict[str, tuple[frozenset[str], Any]]


def read(where: str, root: str, links: Mapping[str, str], states: Mapping[str, Signature]) -> Uses:
    """Which files those use that are in the state they were in, of a project with these files and links; none where
    that is not known of any."""
    kept: Any = entries.read(_path(where, root))
    if not isinstance(kept, tuple) or kept[0] != _about(root, links, states):
        return {}
    paths = list(states)
    return {
        path: (frozenset(paths[number] for number in numbers), view)
        for (path, state), (was, numbers, view) in zip(states.items(), kept[1], strict=True)
        if was == state
    }


def write(
    where: str,
    root: str,
    links: Mapping[str, str],
    states: Mapping[str, Signature],
    uses: Mapping[str, tuple[Iterable[str], Any]],
    now: int,
) -> None:
    """Keep which files each file uses that was in these states at a time (nanoseconds since 1970); what changed shortly
    before is left out, as it may have changed since."""
    numbers = {path: number for number, path in enumerate(states)}
    rows = [
        (state, sorted(numbers[one] for one in uses[path][0]), uses[path][1])
        if path in uses and settled(state, now)
        else (None, [], None)
        for path, state in states.items()
    ]
    packages = (state for path, state in states.items() if is_package(path))
    if all(settled(state, now) for state in packages):
        entries.write(where, _path(where, root), marshal.dumps((_about(root, links, states), rows)))


def _about(root: str, links: Mapping[str, str], states: Mapping[str, Signature]) -> bytes:
    """What a row as a whole rests on."""
    packages = [state for path, state in states.items() if is_package(path)]
    return hashlib.sha256(repr((_FORMAT, root, sorted(links.items()), list(states), packages)).encode()).digest()


def _path(where: str, root: str) -> str:
    name = hashlib.sha256(os.fsencode(os.getcwd() + "\0" + root)).hexdigest()
    return os.path.join(where, _SHELF, name)
