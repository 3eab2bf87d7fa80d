"""What a run rests on beside the files that it checks, and whether what it says may be kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from transferlint import late
from transferlint.cache import runs
from transferlint.cache.runs import News
from transferlint.engine.checking import Result
from transferlint.files import gitignore
from transferlint.files.repository import repository
from transferlint.registry import Registry
from transferlint.sources import context, nearest
from transferlint.sources.nearest import Nearest


@late.dataclass(frozen=True, slots=True)
class Run:
    """A run of the command line: its arguments, when it began (nanoseconds since 1970), and the folder of the cache."""

    given: Sequence[str]
    began: int
    where: str


def keep(
    run: Run,
    near: Nearest,
    packs: Registry,
    paths: Sequence[str],
    environment: Mapping[str, str],
    result: Result,
    said: tuple[str, str, int],
) -> News | None:
    """Keep what a run said: its output, its words on standard error and its exit code. What it is known by then."""
    if all(map(_in_file, {rule.detect.__module__ for rule in packs.rules})):
        others = dict.fromkeys(_consulted(near, paths, result))
        return runs.keep(run.where, run.given, environment, run.began, result.seen, others, said)
    return None


def _in_file(module: str) -> bool:
    """Whether a module is read from a file, a change of which would show."""
    return os.path.isfile(getattr(sys.modules.get(module), "__file__", None) or "")


def _consulted(near: Nearest, paths: Sequence[str], result: Result) -> Iterator[str]:
    """The files of settings (also of other tools) that were read, or would have been if they were there."""
    for settings in near.used():
        yield from filter(None, (settings.source, settings.baseline, *settings.rules))
    starts = {os.path.abspath(path) for path in (*paths, os.curdir, near.top.project_root or os.curdir)}
    starts |= {os.path.dirname(os.path.abspath(path)) for path in result.seen if path not in near.walked}
    above = {folder for start in starts for folder in _above(start)}
    for folder in above:
        yield from _settings_in(folder)
    for folder in {os.path.abspath(folder) for folder in near.walked} - above:
        yield from filter(os.path.exists, _settings_in(folder))  # a new one shows in the state of the folder
    for root in {repository(folder) for folder in starts} - {None}:
        yield gitignore.exclude_file(root or "")


def _above(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _settings_in(folder: str) -> Iterator[str]:
    for name in dict.fromkeys((*nearest.NAMES, *context.MARKERS, ".gitignore")):
        yield os.path.join(folder, name)
    from transferlint.fixes import line_length  # which a run does without that has nothing to keep

    yield from line_length.consulted(folder)
