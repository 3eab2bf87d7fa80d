"""The command line: click, one file a command, each imported when it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

FOUND, FAILED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 nothing found, 1 findings, 2 something could not be done, 130
    interrupted. Nothing is raised."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given in (["--version"], ["-V"]):  # asked by every tool that runs this one, so before anything is imported
        return _show_version()
    try:
        from transferlint.cli.root import run

        return run(given)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _show_version() -> int:
    try:
        print(f"transferlint {version()}", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return 0


def version() -> str:
    """The installed version, "0" where the package is used without being installed."""
    from importlib import metadata

    try:
        return metadata.version("transferlint")
    except metadata.PackageNotFoundError:
        return "0"
