"""Files replaced whole or not at all, and what a killed run has left of that.

New content is written beside the file, under a name that only this module makes (`.transferlint-XXXXXXXX.tmp`), brought
to disk, and put in the file's place. Whoever writes one holds a lock on it until it is in place, so that one without a
lock is what a run that was killed has left: `sweep` removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from typing import IO, TYPE_CHECKING

from transferlint import late

if TYPE_CHECKING:
    from pathlib import Path

PREFIX, SUFFIX = ".transferlint-", ".tmp"
_OURS = late.pattern(re.escape(PREFIX) + r"\w{8}" + re.escape(SUFFIX))  # as `tempfile` names them
_NEW = 1.0  # seconds in which a file may not have its lock yet
_OLD = 24 * 3600.0  # seconds after which a file is left over where there are no locks


class WriteError(OSError):
    """A file could not be written; it is as it was. `message` is one line, without the path."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def write(path: str | Path, data: bytes, expected: bytes | None) -> None:
    """Replace the content of `path`, which must still be `expected`, by `data`: the old file or the new, never a half.

    With `expected` None the content does not matter, nor whether there is a file. Writes beside the file, keeps its
    permissions and owner, and follows symbolic links, so that the link stays one. Raises WriteError where the file
    changed meanwhile, is read-only, or cannot be written; then nothing was changed.
    """
    name = os.fspath(path)
    try:
        target = os.path.realpath(name)
        if expected is None and not os.path.exists(target):
            return _replace(name, target, 0o666 & ~_umask(), data, None)
        found = os.stat(target)
        mode = stat.S_IMODE(found.st_mode)
        # Replacing needs only a writable folder; a file that was made read-only is meant to stay as it is.
        if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
            raise WriteError(name, "not written: the file is read-only")
        _replace(name, target, mode, data, expected, found)
    except WriteError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        raise WriteError(name, f"not written: {getattr(error, 'strerror', None) or error}") from error


def sweep(folder: str) -> None:
    """Remove from a folder what runs that were killed have left there; what is not ours, in use, or no file stays."""
    try:
        with os.scandir(folder) as entries:
            ours = [entry.path for entry in entries if _OURS.fullmatch(entry.name)]
    except OSError:
        return
    for path in ours:
        with contextlib.suppress(OSError):
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode) and _left_over(path, time.time() - found.st_mtime):
                os.unlink(path)


def _left_over(path: str, age: float) -> bool:
    """Whether nobody holds the lock of a file that has not changed for `age` seconds."""
    if age < _NEW:
        return False
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        locked = _lock(descriptor)
    finally:
        os.close(descriptor)
    return age > _OLD if locked is None else locked


def _lock(descriptor: int) -> bool | None:
    """Lock a file, as long as its descriptor is open: True where that worked, False where somebody else has done so,
    None where there are no locks (on Windows, and on some file systems)."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _umask() -> int:
    """What this process takes away from the permissions of new files; there is no way to ask without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _replace(
    name: str, target: str, mode: int, data: bytes, expected: bytes | None, before: os.stat_result | None = None
) -> None:
    import tempfile  # takes long, and most runs replace nothing

    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=PREFIX, suffix=SUFFIX)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            locked = _lock(descriptor)
            _bring_to_disk(stream, data)
            _give_back(temporary, before)
            os.chmod(temporary, mode)
            if locked is None:
                stream.close()  # an open file cannot be renamed on Windows
            # As late as possible: between this comparison and the replacement an editor's save would be lost.
            if expected is not None and _content(target) != expected:
                raise WriteError(name, "not written: the file changed while it was checked")
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _bring_to_disk(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())


def _give_back(temporary: str, before: os.stat_result | None) -> None:
    """Let a new file belong to whom the old one belongs, where the system allows it."""
    if before is None or not hasattr(os, "chown"):
        return
    now = os.stat(temporary)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)
