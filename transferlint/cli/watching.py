"""Checking again whenever a file changes, until interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from transferlint.cli import output
from transferlint.settings.loading import DEFAULT_EXCLUDE

_LOOKED_AT = (".py", ".pyi", ".ipynb", "pyproject.toml", "transferlint.toml", ".gitignore")


def watch(paths: Sequence[str], check: Callable[[], int]) -> int:
    """Run `check`, and again after each change below the paths; what it returned last, once interrupted.

    Raises ClickException where the package that watches is missing, or cannot watch a path."""
    try:
        import watchfiles
    except ImportError:
        raise click.ClickException("--watch needs the package watchfiles: pip install 'transferlint[watch]'") from None

    class Source(watchfiles.DefaultFilter):
        ignore_dirs = DEFAULT_EXCLUDE
        ignore_entity_patterns = (r"\.transferlint-.*\.tmp$",)

        def __call__(self, change: watchfiles.Change, path: str) -> bool:
            return path.endswith(_LOOKED_AT) and super().__call__(change, path)

    code = _again(check)
    try:
        for _ in watchfiles.watch(*paths, watch_filter=Source(), raise_interrupt=False):
            code = _again(check)
    except (OSError, RuntimeError) as error:  # a path that does not exist, or too many for the system
        raise click.ClickException(f"--watch: {' '.join(str(error).split())}") from None
    return code


def _again(check: Callable[[], int]) -> int:
    """One run, on an empty screen where there is one."""
    if output.on_terminal():
        click.clear()
    code = check()
    output.complain("watching for changes; Ctrl-C ends it")
    output.flush()
    return code
