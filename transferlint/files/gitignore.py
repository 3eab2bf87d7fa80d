"""What git ignores: the `.gitignore` files of a repository, nested ones included, and its `info/exclude`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.files import wildcards
from transferlint.files.repository import repository

if TYPE_CHECKING:
    import pathspec


@late.dataclass(frozen=True, slots=True)
class Layer:
    """The patterns of one file, and the absolute folder that they are relative to."""

    folder: str
    spec: pathspec.GitIgnoreSpec


Layers = tuple[Layer, ...]


def layers_above(folder: str) -> Layers:
    """The layers that hold for the absolute `folder`, its own `.gitignore` left out; none outside a repository, and
    none where git ignores the folder itself (whoever names it wants what is in it)."""
    root = repository(folder)
    if root is None:
        return ()
    found = _read(exclude_file(root), root)
    steps = os.path.relpath(folder, root).split(os.sep) if folder != root else []
    at = root
    for step in steps:
        found += layer_of(at)
        at = os.path.join(at, step)
        if ignores(found, at, is_folder=True):
            return ()
    return found


def layer_of(folder: str) -> Layers:
    """The layer of the folder's own `.gitignore`, if it has one."""
    return _read(os.path.join(folder, ".gitignore"), folder)


def ignores(layers: Layers, path: str, is_folder: bool) -> bool:
    """Whether git ignores the absolute `path`: the innermost file with a pattern that matches decides."""
    for layer in reversed(layers):
        relative = os.path.relpath(path, layer.folder).replace(os.sep, "/") + ("/" if is_folder else "")
        verdict = layer.spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def exclude_file(root: str) -> str:
    """The file beside the `.gitignore` files that says what git ignores in the work tree at `root`."""
    return os.path.join(_git_folder(root), "info", "exclude")


def _read(path: str, folder: str) -> Layers:
    try:
        if not os.path.isfile(path):  # a pipe or a device would never end
            return ()
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return ()
    spec = compiled(lines)
    return (Layer(folder, spec),) if len(spec) else ()


def compiled(lines: list[str]) -> pathspec.GitIgnoreSpec:
    """Patterns in the manner of `.gitignore`; a line that git could not read either is left out, and so is one with so
    many wildcards that matching it would take forever: more is checked then, and not less."""
    import pathspec

    good: list[str] = []
    for line in map(wildcards.plain, lines):
        if wildcards.too_many(line):
            continue
        try:
            pathspec.GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return pathspec.GitIgnoreSpec.from_lines(good)


def _git_folder(root: str) -> str:
    """The `.git` folder; in a linked work tree the shared one that holds `info/`."""
    entry = os.path.join(root, ".git")
    if not os.path.isfile(entry):
        return entry
    try:
        with open(entry, encoding="utf-8") as file:
            target = os.path.join(root, file.read().removeprefix("gitdir:").strip())
        with open(os.path.join(target, "commondir"), encoding="utf-8") as file:
            return os.path.join(target, file.read().strip())
    except (OSError, ValueError):
        return entry
