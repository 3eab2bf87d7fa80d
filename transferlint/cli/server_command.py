"""`transferlint server`: the language server, over standard input and output."""

from __future__ import annotations

import os
import sys

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED


@click.command(
    "server",
    short_help="Serve an editor (Language Server Protocol).",
    context_settings={"auto_envvar_prefix": "TRANSFERLINT"},
)
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help="A settings file, or one setting as TOML.")
@click.option("--rules", multiple=True, type=click.Path(), help="A file or folder of rules, beside installed packs.")
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache.")
def COMMAND(isolated: bool, config: tuple[str, ...], rules: tuple[str, ...], no_cache: bool) -> int:
    """Serve one editor on standard input and output: findings as one types, fixes, suppressions, and what is known of
    a finding under the cursor (Language Server Protocol 3.17). An editor starts it; docs/editors.md says how.

    Needs the package pygls: pip install 'transferlint[server]'. Settings are those of `check`: each file follows its
    nearest settings file. Paths that are named here are relative to the folder in which the editor starts the server.

    Exit code: 0 the editor ended the session, 1 it went away without, 2 the server could not be started.
    """
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError:
        raise click.ClickException("the server needs the package pygls: pip install 'transferlint[server]'") from None
    if sys.stdin is None or sys.stdout is None:
        output.complain("the server speaks on standard input and output, of which one is closed")
        return FAILED
    if sys.stdin.isatty():
        output.complain("this speaks the Language Server Protocol and waits for an editor; Ctrl-C ends it")
    from transferlint.cli import serving_settings

    return serving_settings.serve(isolated, config, rules, no_cache, os.environ)
