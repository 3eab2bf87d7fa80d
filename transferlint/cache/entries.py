"""Files of the cache: plain values behind a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import marshal
import os
from collections.abc import Iterable

_DIGEST = 16  # bytes


def read(path: str) -> object:
    """The value that was written there, None where there is none, or not whole."""
    return read_with_digest(path)[0]


def read_with_digest(path: str) -> tuple[object, bytes]:
    """The same with its digest, which `write` gave back."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        digest = content[:_DIGEST]
        if hashlib.blake2b(memoryview(content)[_DIGEST:], digest_size=_DIGEST).digest() != digest:
            return None, b""
        return marshal.loads(memoryview(content)[_DIGEST:]), digest
    except (OSError, ValueError, EOFError, TypeError):
        return None, b""


def write(where: str, path: str, content: bytes) -> bytes:
    """Keep a value, as `marshal` wrote it, in a file below the cache's folder `where`; its digest."""
    digest = hashlib.blake2b(content, digest_size=_DIGEST).digest()
    write_parts(where, path, (digest, content))
    return digest


def write_parts(where: str, path: str, parts: Iterable[bytes]) -> None:
    """Keep bytes, as they come, in a file below the cache's folder, which is there when all are written."""
    import contextlib  # which a run that has nothing to write does without

    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(where), mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}-{os.urandom(8).hex()}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(parts)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
