"""Whether a file or folder is still what it was, without reading it.

The file system's word: size, times of change and inode, as git compares them ("racy-git.txt" in its documentation, also
for why what changed at the time of the look is not settled: a write in the same tick of the clock does not show).
"""

from __future__ import annotations

import os

Signature = tuple[int, int, int, int]
GONE: Signature = (-1, -1, -1, -1)
SLACK = 2_000_000_000  # nanoseconds: the coarsest clock of a file system in use, FAT's, ticks every 2 s


def signature(path: str) -> Signature:
    """Which state a file or folder is in: the time of change of its content and of its inode in nanoseconds, its size
    and its inode; GONE where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return GONE
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def settled(one: Signature, before: int) -> bool:
    """Whether a state was reached long before a time (nanoseconds since 1970), so that all changes since would show."""
    return max(one[:2]) < before - SLACK
