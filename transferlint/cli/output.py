"""Where words, data and reports go, what of them is escaped, and whether in colour."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

import click

from transferlint import escaping
from transferlint.files import atomic


class OutputError(Exception):
    """Standard output cannot be written (any more); the message is one line."""


def coloured(asked: bool | None, path: str | None, environment: Mapping[str, str], stream: TextIO) -> bool:
    """Whether to colour what is written to `path`, or to `stream` for None: `asked` (`--color`) decides, else
    FORCE_COLOR, else NO_COLOR, else whether the stream is a terminal."""
    if asked is not None:
        return asked
    if path:
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if environment.get("NO_COLOR") or stream is None:
        return False
    return stream.isatty() and environment.get("TERM") != "dumb"


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int:
    """The cells of a line on standard output, 0 where it is no terminal: what reads it there has no width."""
    if not on_terminal():
        return 0
    import shutil  # which brings every kind of compression

    return shutil.get_terminal_size().columns


def complain(message: object) -> None:
    """One line about what is wrong, or is to be known, to standard error."""
    _to_error(complaint(message))


def complaint(message: object) -> str:
    """The line that `complain` writes."""
    return f"transferlint: {escaping.escaped(str(message))}\n"


def remark(text: str) -> None:
    """Lines about what was done, to standard error."""
    _to_error(escaping.lines(text.splitlines()))


def show(lines: Iterable[str], color: bool | None = None) -> None:
    """Lines to standard output. Raises OutputError."""
    _print(escaping.lines(lines), color)


def show_data(value: Any) -> None:
    """A value as JSON to standard output. Raises OutputError."""
    import json

    _print(escaping.data(json.dumps(value, indent=2)) + "\n")


def write(content: str, path: str | None, color: bool | None = None, err: bool = False) -> bool:
    """A report that is escaped already: to the file, or to standard output (error with `err`); False, and one line,
    where the file cannot be written. Raises OutputError."""
    if path is None:
        if err:
            _to_error(content, color)
        else:
            _print(content, color)
        return True
    try:
        _save(path, content.encode("utf-8", "backslashreplace"))
    except OSError as error:
        why = error.message if isinstance(error, atomic.WriteError) else f"not written: {error.strerror or error}"
        complain(f"{path}: {why}")
        return False
    return True


def write_diff(content: str, path: str | None) -> bool:
    """A unified diff: as it is to a file, escaped to standard output, as a log may be what reads it. False, and one
    line, where the file cannot be written. Raises OutputError."""
    if path is not None:
        return write(content, path)
    shown = escaping.diff(content)
    _print(shown)
    if shown != content:
        complain("this diff is shown with characters escaped and cannot be applied; --output-file FILE writes it whole")
    return True


def write_bytes(data: bytes) -> None:
    """Bytes as they are to standard output. Raises OutputError."""
    if sys.stdout is None:
        raise OutputError("standard output is closed: nothing can be shown")
    with _said():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


def flush() -> None:
    """See that what was shown is written. Raises OutputError."""
    if sys.stdout is not None:
        with _said():
            sys.stdout.flush()


@contextlib.contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # who reads this has enough
        raise
    except OSError as error:
        raise OutputError(f"standard output: not written: {error.strerror or error}") from None


def _save(path: str, data: bytes) -> None:
    """The file is replaced whole; what is no file (a pipe, a device) is written to."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as stream:
            stream.write(data)
        return
    atomic.sweep(os.path.dirname(path) or os.curdir)
    atomic.write(path, data, None)


def _to_error(content: str, color: bool | None = None) -> None:
    """Where standard error takes nothing there is nobody to tell; the exit code still says what became of the run."""
    with contextlib.suppress(OSError):
        click.echo(content, nl=False, color=color, err=True)


def _print(content: str, color: bool | None = None) -> None:
    if sys.stdout is None:
        raise OutputError("standard output is closed: nothing can be shown")
    with _said():
        click.echo(content, nl=False, color=color)
