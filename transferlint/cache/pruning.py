"""The bounds of the cache: what is old goes, and where it is too large, the oldest first."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from transferlint import late

_KEPT = 30 * 24 * 3600  # seconds
MOST = 2 << 30  # bytes; 900,000 lines take about 60 MB
_LOOKED_AFTER = ".pruned"
_STAMP = late.pattern(r"[0-9a-f]{20}")


def prune(where: str, now: float | None = None, most: int = MOST) -> None:
    """Once a day, drop entries that were written over a month ago, then the oldest until the rest is within `most`
    bytes, and what other versions have left."""
    now = time.time() if now is None else now
    base = os.path.dirname(where)
    mark = os.path.join(base, _LOOKED_AFTER)
    with contextlib.suppress(OSError):
        if os.path.exists(mark) and now - os.stat(mark).st_mtime < 24 * 3600:
            return
        os.makedirs(base, exist_ok=True)
        with open(mark, "wb"):
            os.utime(mark, (now, now))
        left = []
        for stamp in os.scandir(base):
            if not _STAMP.fullmatch(stamp.name) or not stamp.is_dir(follow_symlinks=False):
                continue  # somebody else's: the folder may be one that the user named
            if stamp.path != where and now - stamp.stat().st_mtime > _KEPT:
                import shutil  # once a month

                shutil.rmtree(stamp.path, ignore_errors=True)
            else:
                left += list(_entries(stamp.path))
        room = most
        for written, size, path in sorted(left, reverse=True):
            room -= size
            if now - written > _KEPT or room < 0:
                with contextlib.suppress(OSError):  # another run was faster
                    os.unlink(path)


def _entries(folder: str) -> Iterator[tuple[float, int, str]]:
    """The entries of a version: when they were written, their bytes, and their paths."""
    for shelf in os.scandir(folder):
        for entry in os.scandir(shelf.path) if shelf.is_dir(follow_symlinks=False) else ():
            about = entry.stat(follow_symlinks=False)
            yield about.st_mtime, about.st_size, entry.path
