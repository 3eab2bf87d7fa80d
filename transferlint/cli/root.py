"""The commands, and what becomes of everything that a command raises."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence

import click
from click.core import ParameterSource

from transferlint import escaping, late
from transferlint.cache.runs import News
from transferlint.cli import installed, output
from transferlint.cli.codes import FAILED, FOUND, INTERRUPTED
from transferlint.version import version

_COMMANDS = ("check", "explain", "rule", "rules", "test-rules", "config", "init", "schema", "server", "debug")


class _Stopped(Exception):
    """An interrupt, or a reader that has gone; `code` is the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Commands(click.Group):
    """A group whose command NAME is `transferlint.cli.NAME_command.COMMAND`, imported when it is used, or one that
    another package brings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(dict.fromkeys((*_COMMANDS, *installed.names())))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return installed.load(cmd_name)
        name = cmd_name.replace("-", "_")
        command: click.Command = importlib.import_module(f"transferlint.cli.{name}_command").COMMAND
        return command

    def invoke(self, ctx: click.Context) -> object:
        """As click does, but what ends the program from outside reaches `run` without a word of click's."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise _Stopped(INTERRUPTED) from None
        except BrokenPipeError:
            raise _Stopped(FOUND) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest command in the message."""
        named = bool(args) and not args[0].startswith("-") and args[0] not in _COMMANDS
        if named and args[0] not in installed.names():
            import difflib  # which only errors need

            known = self.list_commands(ctx)
            near = difflib.get_close_matches(args[0], known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            hint = hint or (f" To check it: transferlint check {args[0]}" if os.path.exists(args[0]) else "")
            ctx.fail(f"no such command {args[0]!r}; commands are {', '.join(known)}.{hint}")
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"transferlint {version()}")
        ctx.exit()


@click.command(cls=_Commands, context_settings={
    "help_option_names": ["-h", "--help"], "max_content_width": 100, "auto_envvar_prefix": "TRANSFERLINT",
})  # fmt: skip
@click.option(
    "--version", "-V", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Print the version and exit.",
)  # fmt: skip
def GROUP() -> None:
    """Find the host-device transfers and synchronisations that PyTorch programs make by accident."""


@late.dataclass(frozen=True, slots=True)
class Given:
    """The arguments of the command line, and what changed since they were given last; None where that is not known."""

    arguments: tuple[str, ...]
    news: News | None


def run(arguments: Sequence[str], news: News | None = None) -> int:
    """Run the command line and return its exit code; only KeyboardInterrupt is raised, and only while nothing runs.
    `news` is what changed since the last run of these arguments."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name or a line of source may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    debugging = list(arguments[:1]) == ["debug"]
    given = Given(tuple(arguments), news)
    main = functools.partial(GROUP.main, list(arguments), "transferlint", standalone_mode=False, obj=given)
    return _guarded(main, debugging)


def ended(error: OSError) -> int:
    """What becomes of an error that writing to standard output raised outside of `run`: its exit code."""

    def fail() -> None:
        raise error

    return _guarded(fail, False)


def _guarded(run: Callable[[], object], debugging: bool) -> int:
    try:
        code = run()
        output.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        _plainly(error).show()
        return FAILED
    except output.OutputError as error:
        output.complain(error)
        _discard()
        return FAILED
    except click.Abort:
        return _interrupted()
    except _Stopped as stop:
        return _interrupted() if stop.code == INTERRUPTED else _reader_gone()
    except BrokenPipeError:
        return _reader_gone()
    except Exception as error:
        if debugging:
            raise
        if isinstance(error, FileNotFoundError) and not _has_folder():
            output.complain("the current folder does not exist any more")
            return FAILED
        if isinstance(error, OSError) and error.filename is None:  # a stream: click itself writes help pages
            output.complain(f"standard output: not written: {error.strerror or error}")
            _discard()
            return FAILED
        words = " ".join(str(error).split())[:300]
        output.complain(f"internal error: {type(error).__name__}: {words}; please report")
        return FAILED


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def _plainly(error: click.ClickException) -> click.ClickException:
    """The error with what was typed escaped, and of options that do not exist, the nearest that does: click names
    several in the order of the alphabet."""
    if isinstance(error, click.MissingParameter):
        return error  # nothing was typed; and click writes the choices on lines of their own
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        import difflib

        known = [name for one in error.ctx.command.get_params(error.ctx) for name in (*one.opts, *one.secondary_opts)]
        near = difflib.get_close_matches(error.option_name, [name for name in known if name.startswith("--")], n=1)
        message = f"no such option {error.option_name}" + (f"; did you mean {near[0]}?" if near else "")
    if isinstance(error, click.BadParameter) and error.ctx and isinstance(error.param, click.Option):
        name = error.param.name or ""
        if error.ctx.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
            message += f" (from {error.ctx.auto_envvar_prefix}_{name.upper()})"
    context = error.ctx if isinstance(error, click.UsageError) else None
    return click.UsageError(escaping.escaped(message), context)


def _interrupted() -> int:
    """One line; and where a thread is still at work in the parser, no wait for it (nor the abort that ends in)."""
    click.echo("interrupted", err=True)
    if threading.active_count() > 1:
        with contextlib.suppress(OSError, output.OutputError):
            output.flush()
        os._exit(INTERRUPTED)
    return INTERRUPTED


def _reader_gone() -> int:
    """Whoever read this has gone (`| head`): say nothing, not even when the interpreter flushes at exit."""
    _discard()
    return FOUND


def _discard() -> None:
    """Let what is still to be written to a stream that takes nothing go nowhere, and not fail as the program ends."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
