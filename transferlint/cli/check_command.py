"""`transferlint check`: the options, and how they are merged with the settings file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from transferlint import shards
from transferlint.formats import FORMATS, ORDERS

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
@_codes("--select", help="Rules to run: codes, prefixes (TL1), names, ALL; commas separate. Replaces the file's.")
@_codes("--extend-select", help="Rules to run beside the selected ones.")
@_codes("--ignore", help="Rules to leave out.")
@click.option("--min-confidence", type=click.Choice(_LEVELS), help="Least confidence of a finding.  [default: likely]")
@click.option("--output-format", "-f", type=click.Choice(FORMATS), help="Form of the report.  [default: text]")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write the report there, not to stdout.")
@click.option("--sort", type=click.Choice(ORDERS), help="Order of the findings.  [default: cost, in files place]")
@click.option("--fix/--no-fix", default=None, help="Apply safe fixes and report what remains.")
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes",
    default=None,
    help="Let --fix and --diff also apply fixes that may change what the program does.",
)
@click.option("--fix-only", is_flag=True, help="Apply fixes and report nothing that remains.")
@click.option("--show-fixes", is_flag=True, help="List on standard error what was fixed, file by file.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit 1 where something was fixed, even if nothing remains.")
@click.option("--diff", is_flag=True, help="Show what --fix would change and write nothing; exit 1 if it would.")
@click.option("--add-ignore", is_flag=True, help="Write a suppression for everything that is found.")
@click.option("--reason", metavar="TEXT", help="The reason that --add-ignore gives.")
@click.option("--baseline", type=click.Path(dir_okay=False), help="Do not report the findings that this file knows.")
@click.option("--write-baseline", is_flag=True, help="Write what is found to the file of --baseline.")
@click.option("--diff-base", metavar="REV", help="Report only what lines changed since a revision have (asks git).")
@click.option("--shard", metavar="I/N", callback=_shard, help="Report on part I of N; the whole project is read.")
@click.option("--rules", multiple=True, type=click.Path(), help="A file or folder of rules, beside installed packs.")
@click.option("--quiet-sites", is_flag=True, help="With -f json: list transfers that are quiet on purpose, and why.")
@click.option("--statistics", is_flag=True, help="Count findings by code instead of listing them.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even where there are findings.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out; replaces the file's and the built-in.")
@click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="Leave out these too.")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude files even where they are named.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Skip what git ignores.  [default: yes]")
@click.option("--stdin-filename", metavar="NAME", help="Name of the text that `-` reads from standard input.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked and exit.")
@click.option("--show-settings", is_flag=True, help="Print the settings in force as JSON and exit.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help="A settings file, or one setting as TOML.")
@click.option(
    "--project-root",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the project: to look for settings in, and that patterns are relative to.",
)
@click.option(
    "--context",
    type=click.Choice(_CONTEXTS),
    help="Check a file with all of its project that matters for it, or alone.  [default: project]",
)
@click.option("--front-end", type=click.Choice(_FRONT_ENDS), help="Read files by this one only.  [default: what suits]")
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache.")
@click.option("--color/--no-color", default=None, help="Colours, whatever the terminal.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings and errors, nothing else.")
@click.option("--verbose", "-v", is_flag=True, help="Say on standard error what the run rests on.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes; needs transferlint[watch].")
def COMMAND(**given: Any) -> int:
    """Report the transfers and syncs that hot code makes, in the files and folders PATHS (default: the current one).

    Folders are walked for *.py; what git ignores is skipped. A file in which nothing could be a tensor is not read any
    further unless it is named. `-` reads standard input.

    Every option can also be set in the environment: TRANSFERLINT_OUTPUT_FORMAT=concise is --output-format concise.

    Exit code: 0 nothing found, 1 findings, 2 something could not be done (the rest is reported all the same).
    """
    from transferlint.cli.reporting import CheckOptions, run_check
    from transferlint.cli.root import Given

    names = {field.name for field in dataclasses.fields(CheckOptions)}
    options = CheckOptions(**{key: value for key, value in given.items() if key in names})
    asked = click.get_current_context().find_object(Given) or Given((), None)
    return run_check(options, os.environ, asked.arguments, asked.news)
