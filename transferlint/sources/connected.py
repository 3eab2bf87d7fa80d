"""The files of a project in groups that no import connects.

What is found in a file rests on those that its imports lead to, and on those whose imports lead to it, and so on: on
the connected component of the import graph that it stands in (R. E. Tarjan, Data Structures and Network Algorithms,
1983, "Disjoint Sets"). So groups are analysed one after the other, each in memory by itself, and what was found in one
holds as long as its own files are as they were.

Packages count as a whole: `import pkg` binds them all, and a name that reads `p = pkg` stands for any of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Protocol

from transferlint.files.screen import is_package


class Graph(Protocol):
    """What is asked of a `Reach`."""

    def used(self, file: str) -> Iterable[str]:
        """The files that a file's imports lead to."""

    def named(self, file: str) -> Iterable[str]:
        """The files that a file's imports name."""


def groups(
    files: Iterable[str], graph: Graph, links: Mapping[str, str], packages: Iterable[str]
) -> tuple[tuple[str, ...], ...]:
    """The groups of some files, in the order of their first; each keeps the order of the files. `links` are those that
    lead to others, `packages` all files that make their folder a package. Files that are not among these connect none.
    """
    order = list(files)
    whole = {os.path.dirname(file): "package " + file for file in packages}
    leader = {name: name for name in (*order, *whole.values())}

    def lead(file: str) -> str:
        while leader[file] != file:
            leader[file] = file = leader[leader[file]]
        return file

    for folder, name in whole.items():
        leader[lead(name)] = lead(_package(os.path.dirname(folder), whole) or name)
    for file in order:
        connected = set(graph.used(file))
        if is_package(file):  # one that only passes names on uses nothing itself
            connected.update(graph.named(file))
        connected.add(links.get(file, file))
        connected.add(_package(os.path.dirname(file), whole))
        for other in connected:
            if other in leader:
                leader[lead(other)] = lead(file)
    found: dict[str, list[str]] = {}
    for file in order:
        found.setdefault(lead(file), []).append(file)
    return tuple(map(tuple, found.values()))


def _package(folder: str, whole: Mapping[str, str]) -> str:
    """The package that a folder belongs to, by the folders of all of them, "" for none."""
    while folder not in whole:
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return whole[folder]
