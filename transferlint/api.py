"""Checking from Python: `transferlint.check`, with the answers of the command line as values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from transferlint import late, registry
from transferlint.cache import packs, places
from transferlint.engine import checking
from transferlint.engine.checking import Result
from transferlint.engine.plan import Plan
from transferlint.engine.scopes import Scopes
from transferlint.settings import loading
from transferlint.settings.loading import Settings, SettingsError
from transferlint.sources import nearest, shards
from transferlint.sources.discovery import Trouble
from transferlint.sources.nearest import Nearest
from transferlint.suppressions import baseline

__all__ = ["SettingsError", "check"]

if TYPE_CHECKING:
    from concurrent.futures import Executor


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    settings: Mapping[str, Any] | None = None,
    isolated: bool = False,
    shard: str | None = None,
    executor: Executor | None = None,
    cache: bool = True,
) -> Result:
    """What `transferlint check` finds in files and folders. Nothing is written but the cache, and nothing is printed.

    `settings` has keys and values as in a settings file (`{"select": ["TL1"], "context": "file"}`) and beats the files;
    `isolated` leaves these out. `shard`, such as "2/4", reports on a part. An `executor`, any
    `concurrent.futures.Executor`, does what needs no other file: reading and parsing, and with `context = "file"`, for
    which its workers must be in this folder of the same files, everything. What it fails on is done here, and the
    result's `notes` say so. `cache` False neither reads nor writes the cache.

    The result has `findings` in order of path and line, `troubles` (what could not be done), `notes`, and the number of
    `files`. Raises `SettingsError`, in one line, for settings that cannot be used.
    """
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    given = [os.fspath(name) for name in names] or ["."]
    part = None
    if shard is not None:
        try:
            part = shards.parse(shard)
        except ValueError as error:
            raise SettingsError(f"shard: {error}") from None
    top = _merged(_of_file(given, isolated), settings)
    near = Nearest(top, None if isolated else lambda found: _merged(found, settings))
    kept = places.folder(os.environ) if cache else ""
    kept = "" if kept and places.unfit(kept, given) else kept
    installed = registry.load(packs.installed(kept, registry.entry_points), top.rules)
    if not installed.rules:
        raise SettingsError(" ".join(installed.refused) or "no rule pack is installed: reinstall transferlint")

    def planned(found: Settings) -> Plan:
        known = baseline.read(found.baseline) if found.baseline else None
        return checking.plan_for(found, installed, known=known, cache=kept)

    plan = planned(top)
    result = checking.check_paths(given, top, plan, _Unheard(), Scopes(near, plan, planned), part, executor)
    return late.replace(result, troubles=(*(Trouble("", line) for line in installed.refused), *result.troubles))


def _of_file(paths: list[str], isolated: bool) -> Settings:
    found = None if isolated else nearest.find(nearest.common_folder(paths))
    return loading.read(found) if found else Settings(root=os.getcwd())


def _merged(found: Settings, given: Mapping[str, Any] | None) -> Settings:
    """Settings of a file with those that were given; fixes are for the command line."""
    merged = loading.from_table(given or {}, "settings", found)
    return late.replace(merged, fix=False)


class _Unheard:
    """Hears how far a run is, and tells nobody."""

    def begin(self, total: int) -> None:
        pass

    def advance(self, count: int) -> None:
        pass
