"""The command line: click, one file a command, each imported when it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from transferlint.cli.codes import FAILED, INTERRUPTED
from transferlint.version import version

TYPE_CHECKING = False  # as typing has it, which takes longer to import than the version takes to show
if TYPE_CHECKING:
    from transferlint.cache.runs import News

_MANY = 50_000  # objects, after which the collector looks for cycles among them: what is imported are 100,000


def program() -> int:
    """`main`, as the whole of a process: the command that is installed."""
    if sys.argv[1:2] == ["check"]:
        import atexit
        import gc

        gc.set_threshold(_MANY, *gc.get_threshold()[1:])
        ended: list[int] = []
        # Handlers run in turn, the last first: where there are none yet, this one runs when all others have.
        if getattr(atexit, "_ncallbacks", lambda: 1)() == 0:
            atexit.register(_leave, ended)
        ended.append(main())
        return ended[0]
    return main()


def _leave(ended: list[int]) -> None:
    """End the process with its exit code: to take all modules apart first takes a seventh of a small run."""
    if not ended:
        return
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):  # about which the interpreter has a word to say
        return
    os._exit(ended[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 nothing found, 1 findings, 2 something could not be done, 130
    interrupted. Nothing is raised."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given in (["--version"], ["-V"]):  # asked by every tool that runs this one, so before anything is imported
        return _show_version()
    try:
        known = _known(given) if given[:1] == ["check"] else None
        if isinstance(known, tuple):
            return _said(*known)
        from transferlint.cli.root import run

        return run(given, known)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _known(given: list[str]) -> tuple[str, str, int] | News | None:
    """What a run writes, and its exit code, of which nothing has changed since the last; or what has."""
    from transferlint.cache import runs

    return runs.known(given, os.environ)


def _said(out: str, err: str, code: int) -> int:
    """Say again what a run said; its exit code."""
    try:
        for stream, text in ((sys.stderr, err), (sys.stdout, out)):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
            stream.write(text)
            stream.flush()
    except OSError as error:
        from transferlint.cli.root import ended

        return ended(error)
    return code


def _show_version() -> int:
    try:
        print(f"transferlint {version()}", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return 0
