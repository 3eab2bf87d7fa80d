"""What whole runs said, to be said again where nothing that they looked at has changed.

A run is known by its command line, the current folder, and what of the interpreter and the environment its output hangs
on. With its output lies the state (`signatures`) of all that it rests on: the files that it read, the folders that it
walked, the settings that it found or looked for, the modules that it was made by. Nothing of this is imported or read
again when all are as they were.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from transferlint.cache import entries, places
from transferlint.cache.signatures import GONE, Signature, settled, signature

_SHELF = "runs"
_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM", "HOME")
_OPTIONS = "TRANSFERLINT_"
_FEW = 60  # changed files and folders; beyond, too much is looked at again


class News:
    """A run that is known, but for what changed since: by path, the states of these now. `states` are those that it
    was kept with, `path` is where it is kept, `row` a digest of all that."""

    __slots__ = ("changed", "path", "row", "shown", "states")

    def __init__(self, path: str, row: bytes, shown: str, states: tuple[tuple[str, Signature], ...]) -> None:
        self.path = path
        self.row = row
        self.shown = shown
        self.states = states
        self.changed: dict[str, Signature] = {}


def known(given: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str, int] | News | None:
    """What a run of these arguments writes to standard output and error, and its exit code; where not much changed
    since, what did; None where nothing is known."""
    if "--no-cache" in given or "-" in given or not _has_streams():
        return None
    try:
        where = places.folder(environment)
        shown = _shown(given, environment)
        path = _path(where, shown)
        # An argument may be a path, or end in one; whoever wrote what lies there must not have written the cache.
        if not os.path.exists(path) or places.unfit(where, [".", *given, *(one.partition("=")[2] for one in given)]):
            return None
    except OSError:  # the current folder is gone
        return None
    kept, row = entries.read_with_digest(path)
    if not isinstance(kept, tuple) or len(kept) != 3 or kept[0] != shown:
        return None
    _, looked_at, said = kept
    news = News(path, row, shown, looked_at)
    for one, state in looked_at:
        now = signature(one)
        if now != state:
            if GONE in (now, state) or len(news.changed) == _FEW:
                return None
            news.changed[one] = now
    if news.changed:
        return news
    out, err, code = said
    return out, err, code


def keep(
    where: str,
    given: Sequence[str],
    environment: Mapping[str, str],
    began: int,
    seen: Mapping[str, Signature],
    others: Iterable[str],
    said: tuple[str, str, int],
) -> News | None:
    """Keep what a run said that began at a time (nanoseconds since 1970), which saw files and folders in some states,
    and rests on `others` too: what it is known by then. None where nothing is kept, as one of them changed lately, or
    since."""
    if not _has_streams():
        return None
    looked_at = dict.fromkeys((*others, *_made_by()), None) | dict(seen)
    states = {path: signature(path) for path in looked_at}
    if all(settled(state, began) and looked_at[path] in (None, state) for path, state in states.items()):
        shown = _shown(given, environment)
        return _kept(where, _path(where, shown), shown, tuple(states.items()), said)
    return None


def renew(where: str, news: News, began: int, said: tuple[str, str, int]) -> News | None:
    """Keep what a run says in whose beginning this was the news, and else all as it was; None where what changed did so
    lately."""
    if not all(settled(state, began) for state in news.changed.values()):
        return None
    states = tuple((path, news.changed.get(path, state)) for path, state in news.states)
    return _kept(where, news.path, news.shown, states, said)


def _kept(
    where: str, path: str, shown: str, states: tuple[tuple[str, Signature], ...], said: tuple[str, str, int]
) -> News:
    content = marshal.dumps((shown, states, said))
    return News(path, entries.write(where, path, content), shown, states)


def _has_streams() -> bool:
    """Whether there is a standard output and error: each may be closed from the start (`2>&-`)."""
    return sys.stdout is not None and sys.stderr is not None


def _shown(given: Sequence[str], environment: Mapping[str, str]) -> str:
    """All that a run is known by."""
    streams = [(stream.isatty(), getattr(stream, "encoding", "")) for stream in (sys.stdout, sys.stderr)]
    variables = [environment.get(name) for name in _VARIABLES]
    options = sorted(item for item in environment.items() if item[0].startswith(_OPTIONS))
    wide = _width(environment) if streams[0][0] else ""
    python = sys.version, sys.path, sys.getfilesystemencoding()
    return repr((list(given), os.getcwd(), streams, variables, options, wide, *python))


def _width(environment: Mapping[str, str]) -> str:
    """The width of the terminal, as `shutil.get_terminal_size` takes it."""
    try:
        return environment.get("COLUMNS") or str(os.get_terminal_size(sys.__stdout__.fileno()).columns)  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return ""


def _path(where: str, shown: str) -> str:
    name = hashlib.sha256(shown.encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(where, _SHELF, name)


def _made_by() -> list[str]:
    """The folders in which packages may be installed, and the files of all modules but those of Python itself; of this
    package also those that the run did without, as what it took from the cache may rest on them."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = [path or os.getcwd() for path in sys.path]
    for folder, _, names in os.walk(own):
        if os.path.basename(folder) != "__pycache__":
            found += [folder, *(os.path.join(folder, name) for name in names if name.endswith(".py"))]
    python = os.path.join(os.path.dirname(os.__file__), "")
    packages = os.path.join(python, "site-packages", "")
    for module in list(sys.modules.values()):
        file: object = getattr(module, "__file__", None)
        if isinstance(file, str) and (file.startswith(packages) or not file.startswith(python)):
            found.append(file)
    return found
