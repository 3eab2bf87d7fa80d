"""`transferlint explain FILE:LINE`: what the analysis believes of a line, and why it is or is not reported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from transferlint.cli import output
from transferlint.cli.codes import FAILED

if TYPE_CHECKING:
    from transferlint.cli.explaining import Explained
    from transferlint.flow.within_calls import Within
    from transferlint.sources.nearest import Nearest

_LEVELS = ("possible", "likely", "certain")
_WIDTH = 11


@click.command("explain", short_help="Explain what the analysis knows about a line, and why it is (not) reported.")
@click.argument("place", metavar="FILE:LINE")
@click.option("--output-format", "-f", type=click.Choice(("text", "json")), default="text", help="Output format.")
@click.option("--min-confidence", type=click.Choice(_LEVELS), help="As for `check`.  [default: likely]")
@click.option("--min-frequency", type=click.FloatRange(0, 1), help="As for `check`.  [default: 0]")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help="A settings file, or one setting as TOML.")
@click.option("--project-root", type=click.Path(exists=True, file_okay=False), help="As for `check`.")
@click.option("--rules", multiple=True, type=click.Path(), help="As for `check`.")
@click.option("--color/--no-color", default=None, help="Force colours on or off.")
def COMMAND(
    place: str,
    output_format: str,
    min_confidence: str | None,
    min_frequency: float | None,
    isolated: bool,
    config: tuple[str, ...],
    project_root: str | None,
    rules: tuple[str, ...],
    color: bool | None,
) -> int:
    """Explain the line FILE:LINE: for every expression on it that transfers data, or looks as if it might, where its
    value is assumed to be, how often it runs, how certain that is, and why it is or is not reported.

    Exit code: 0 explained, 2 where there is no such file or line, or the file is not Python.
    """
    from transferlint.settings.loading import SettingsError

    forwarded = [*(["--min-confidence", min_confidence] if min_confidence else []), *(["--isolated"] * isolated)]
    forwarded += ["--min-frequency", str(min_frequency)] if min_frequency is not None else []
    forwarded += [part for text in config for part in ("--config", text)]
    forwarded += ["--project-root", project_root] if project_root else []
    forwarded += [part for rule in rules for part in ("--rules", rule)]
    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal():
        raise click.UsageError(f"{place!r} is not FILE:LINE; write for example train.py:42")
    try:
        nearest = _nearest(path, forwarded)
        for line in nearest.troubles:
            output.complain(line)
        source, explained, within = _explained(path, int(number), nearest)
    except (_Unexplained, SettingsError) as error:
        output.complain(error)
        return FAILED
    if output_format == "json":
        from transferlint.cli.explaining import as_data

        output.show_data(as_data(path, int(number), source, explained, within))
        return 0
    _show(list(_lines(path, int(number), source, explained, within)), color)
    return 0


class _Unexplained(Exception):
    """Why there is nothing to explain, in one line."""


def _nearest(path: str, forwarded: Sequence[str]) -> Nearest:
    """The settings with which `check` would check the file, from its own options."""
    from transferlint.cli import check_command
    from transferlint.cli.merging import nearest

    with check_command.COMMAND.make_context("check", [*forwarded, "--", path]) as given:
        return nearest(given.params)


def _explained(path: str, line: int, nearest: Nearest) -> tuple[str, tuple[Explained, ...], tuple[Within, ...]]:
    """The text of the line and what is explained of it. Raises _Unexplained."""
    from transferlint import registry
    from transferlint.cli.explaining import Terms, Unreadable, explain, look
    from transferlint.engine import checking, workers
    from transferlint.engine.scopes import Scopes
    from transferlint.flow.within_calls import within_calls
    from transferlint.syntax.positions import NEWLINE
    from transferlint.syntax.source import SourceError

    data = _bytes(path)
    packs = registry.load(paths=nearest.top.rules)
    plan = checking.plan_for(nearest.top, packs)
    scopes = Scopes(nearest, plan, lambda other: checking.plan_for(other, packs))
    try:
        facts, comments = look(path, data, scopes)
    except SourceError as error:
        where = f"{path}:{error.line}" if error.line else path
        raise _Unexplained(f"{where}: {' '.join(error.message.split())}") from None
    except Unreadable as error:
        raise _Unexplained(str(error)) from None
    lines = NEWLINE.split(facts.text)
    count = len(lines) - (not lines[-1])
    if not 1 <= line <= count:
        raise _Unexplained(f"{path}: has no line {line}; it ends at line {count}")
    selected = frozenset(rule.code for rule in plan.rules)
    terms = Terms(selected, plan.min_confidence, scopes.ignored(path), comments, plan.min_frequency)
    explained = workers.deep(lambda: explain(facts, line, packs.rules, terms))
    return lines[line - 1], explained, within_calls(facts, line)


def _bytes(path: str) -> bytes:
    if os.path.isdir(path):
        raise _Unexplained(f"{path}: is a folder; name a file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _Unexplained(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None


def _lines(
    path: str, line: int, source: str, explained: Sequence[Explained], within: Sequence[Within]
) -> Iterator[tuple[str, str]]:
    """The answer as lines with the style of each."""
    yield f"{path}:{line}", "bold"
    yield f"  {source.strip()}", ""
    if not explained and not within:
        yield "", ""
        yield "Nothing on this line transfers data, waits for the device, or looks as if it might.", ""
        return
    for one in explained:
        belief, verdict = one.belief, one.verdict
        yield "", ""
        yield f"`{_brief(belief.source)}`  (column {belief.site.column}, in {belief.function})", "bold"
        yield _row("verdict", _verdict(one)), "red" if verdict.reported else "green"
        yield _row("kind", _kind(one)), ""
        about = f"`{_brief(belief.subject)}` is " if belief.subject else ""
        yield _row("place", about + belief.place_words), ""
        for evidence in belief.why:
            yield _row("", f"line {evidence.site.line}: {evidence.message}"), "dim"
        yield _row("heat", _heat(one)), ""
        if belief.expected:
            yield _row("expected", belief.expected), ""
        if belief.confidence is not None:
            yield _row("confidence", f"{belief.confidence.name.lower()}: {belief.confidence_words}"), ""
    for call in within:
        yield "", ""
        yield f"`{_brief(call.source)}`  (column {call.site.column})", "bold"
        yield _row("calls", f"what waits for the device: {call.at.path}:{call.at.line}, in `{call.function}`"), ""
        yield _row("", f"`transferlint explain {call.at.path}:{call.at.line}` says whether that is reported"), "dim"


def _row(name: str, text: str) -> str:
    return f"  {name:{_WIDTH}} {text}"


def _verdict(one: Explained) -> str:
    if one.verdict.reported:
        return f"reported: {one.verdict.code} {one.verdict.reason}"
    return f"not reported: {one.verdict.reason}"


def _kind(one: Explained) -> str:
    belief = one.belief
    if not belief.kind:
        return "no transfer"
    direction = belief.direction.value if belief.direction is not None else ""
    parts = [belief.kind, direction if direction != "none" else "moves no data", "sync" if belief.waits else ""]
    named = "explicit" if belief.explicit else "implicit"
    return ", ".join(part for part in (*parts, f"{belief.api}: {named}") if part)


def _heat(one: Explained) -> str:
    heat = one.belief.heat
    state = "hot" if heat.hot else "rare" if heat.cold or heat.amortised else "not hot"
    return f"{state}: " + "; ".join(part for part in (heat.why, heat.amortised, heat.cold) if part)


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 72 else flat[:69] + "..."


def _show(lines: Sequence[tuple[str, str]], color: bool | None) -> None:
    """In colour on a terminal, as it is in a pipe."""
    from transferlint import rows

    coloured = output.coloured(color, None, os.environ, sys.stdout)
    styles = {style: style for _, style in lines}
    output.write(rows.render([[(style, text)] for text, style in lines], styles, coloured), None, coloured)
