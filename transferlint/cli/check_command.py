"""`transferlint check`: the options, and how they are merged with the settings file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from transferlint.settings.formats import FORMATS, ORDERS
from transferlint.sources import shards

_F = TypeVar("_F", bound=Callable[..., Any])
_CONTEXTS = ("file", "project")
_FRONT_ENDS = ("ast", "libcst")
_LEVELS = ("possible", "likely", "certain")


def _split(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select TL1,TL203 --select TL5` is three selectors."""
    return tuple(item.strip() for value in values for item in value.split(",") if item.strip())


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> shards.Shard | None:
    try:
        return shards.parse(value) if value is not None else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _codes(*names: str, help: str) -> Callable[[_F], _F]:
    return click.option(*names, multiple=True, metavar="CODES", callback=_split, help=help)


@click.command(
    "check",
    short_help="Report (and fix) transfers and syncs in source.",
    context_settings={"auto_envvar_prefix": "TRANSFERLINT"},
)
@click.argument("paths", nargs=-1)
@_codes("--select", help="Rules to run: codes, prefixes (TL1), names, ALL; comma-separated. Replaces the file's.")
@_codes("--extend-select", help="Additional rules to run.")
@_codes("--ignore", help="Rules not to run.")
@click.option("--min-confidence", type=click.Choice(_LEVELS), help="Minimum confidence of findings.  [default: likely]")
@click.option(
    "--min-frequency",
    type=click.FloatRange(0, 1),
    help="Report only what is expected to run in at least this share of the steps.  [default: 0]",
)
@click.option("--output-format", "-f", type=click.Choice(FORMATS), help="Format of the report.  [default: text]")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write the report to a file, not stdout.")
@click.option("--sort", type=click.Choice(ORDERS), help="Order of the findings.  [default: cost, in files place]")
@click.option("--fix/--no-fix", default=None, help="Apply safe fixes and report what remains.")
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes",
    default=None,
    help="Let --fix and --diff also apply fixes that may change what the program does.",
)
@click.option("--fix-only", is_flag=True, help="Apply fixes and report nothing that remains.")
@click.option("--show-fixes", is_flag=True, help="List the fixes on standard error, file by file.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit 1 if something was fixed, even if nothing remains.")
@click.option("--diff", is_flag=True, help="Show what --fix would change and write nothing; exit 1 if it would.")
@click.option("--add-ignore", is_flag=True, help="Add a suppression comment for every finding.")
@click.option("--reason", metavar="TEXT", help="The reason to write with --add-ignore.")
@click.option("--baseline", type=click.Path(dir_okay=False), help="Do not report the findings listed in this file.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the --baseline file.")
@click.option("--diff-base", metavar="REV", help="Report only lines changed since a revision (uses git).")
@click.option("--shard", metavar="I/N", callback=_shard, help="Report part I of N; the whole project is still read.")
@click.option("--rules", multiple=True, type=click.Path(), help="An additional file or folder of rules.")
@click.option("--quiet-sites", is_flag=True, help="With -f json: list transfers not reported on purpose, and why.")
@click.option("--statistics", is_flag=True, help="Count findings by code instead of listing them.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even if there are findings.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Worker processes.  [default: one per core]")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Files to exclude; replaces all other patterns.")
@click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="More files to exclude.")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude files even if they are named.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Skip what git ignores.  [default: yes]")
@click.option("--stdin-filename", metavar="NAME", help="File name for the text read from standard input (`-`).")
@click.option("--show-files", is_flag=True, help="List the files that would be checked and exit.")
@click.option("--show-settings", is_flag=True, help="Print the effective settings as JSON and exit.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help="A settings file, or one setting as TOML.")
@click.option(
    "--project-root",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the project: where settings are found and what patterns are relative to.",
)
@click.option(
    "--context",
    type=click.Choice(_CONTEXTS),
    help="Check each file with the relevant rest of its project, or alone.  [default: project]",
)
@click.option("--front-end", type=click.Choice(_FRONT_ENDS), help="Use only this parser.  [default: automatic]")
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache.")
@click.option("--color/--no-color", default=None, help="Force colours on or off.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings and errors, nothing else.")
@click.option("--verbose", "-v", is_flag=True, help="Print the settings, rules and cache used to standard error.")
@click.option("--watch", is_flag=True, help="Check again when a file changes; needs transferlint[watch].")
def COMMAND(**given: Any) -> int:
    """Report the transfers and syncs that hot code makes, in the files and folders PATHS (default: the current one).

    Folders are walked for *.py; what git ignores is skipped. A file in which nothing could be a tensor is not read any
    further unless it is named. `-` reads standard input.

    Every option can also be set in the environment: TRANSFERLINT_OUTPUT_FORMAT=concise is --output-format concise.

    Exit code: 0 nothing found, 1 findings, 2 something could not be done (the rest is reported all the same).
    """
    from transferlint.cli.check_options import CheckOptions
    from transferlint.cli.reporting import run_check
    from transferlint.cli.root import Given

    names = {field.name for field in dataclasses.fields(CheckOptions)}
    options = CheckOptions(**{key: value for key, value in given.items() if key in names})
    asked = click.get_current_context().find_object(Given) or Given((), None)
    return run_check(options, os.environ, asked.arguments, asked.news)
