"""Where a report goes, and whether in colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

import click


def coloured(asked: bool | None, path: str | None, environment: Mapping[str, str], stream: TextIO) -> bool:
    """Whether to colour what is written to `path`, or to `stream` for None: `asked` (`--color`) decides, else
    FORCE_COLOR, else NO_COLOR, else whether the stream is a terminal."""
    if asked is not None:
        return asked
    if path:
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if environment.get("NO_COLOR"):
        return False
    return stream.isatty() and environment.get("TERM") != "dumb"


def write(content: str, path: str | None, color: bool | None = None, err: bool = False) -> bool:
    """To the file, or to standard output (error with `err`); False, and one line, where the file cannot be written."""
    if path is None:
        click.echo(content, nl=False, color=color, err=err)
        return True
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(content)
    except OSError as error:
        click.echo(f"transferlint: {path}: cannot be written: {(error.strerror or str(error)).lower()}", err=True)
        return False
    return True
