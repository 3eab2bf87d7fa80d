"""What a run leaves for the next of the same command line, and a run that goes on from it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transferlint.cache import runs, sessions
from transferlint.cache.runs import News
from transferlint.cli import output, rendering
from transferlint.cli.codes import FOUND
from transferlint.cli.keeping import Run
from transferlint.engine import resuming
from transferlint.engine.cells import by_cells
from transferlint.engine.checking import Result
from transferlint.engine.plan import Outcome, Plan
from transferlint.reporters import parts
from transferlint.reporters.parts import Look, Part
from transferlint.reporters.report import Report
from transferlint.settings.loading import Settings

if TYPE_CHECKING:
    from transferlint.cli.check_options import CheckOptions


def leave(run: Run, kept: News, folders: Mapping[str, bytes], result: Result, said: Mapping[str, Part]) -> None:
    """Leave what a run found, that reported this of each file, for the next."""
    if result.made is None or result.notes:
        return
    session = resuming.session(result.made, folders, {path: _plain(part) for path, part in said.items()})
    if session is not None:
        sessions.write(run.where, kept, session.plain())


def go_on(
    run: Run, news: News, options: CheckOptions, settings: Settings, plan: Plan, environment: Mapping[str, str]
) -> int | None:
    """Check what changed since the last run of these arguments, and report all: the exit code. None where that takes a
    whole run; nothing is written then."""
    coloured = output.coloured(options.color, options.output_file, environment, sys.stdout)
    look = rendering.look(options, settings, coloured)
    left = sessions.read(run.where, news) if look is not None else None
    if left is None or look is None:
        return None
    found = resuming.resume(left, news, plan)
    if found is None:
        return None
    now = found.told(_parts(found.outcomes, look), _parts(found.known, look))
    checked = sum(wanted for _, _, _, wanted in now.files)
    report = Report((), {}, checked, unsafe=settings.unsafe_fixes, root=os.getcwd())
    shown = list(map(_part, resuming.shown(now)))
    content = parts.joined(shown, report, look, options.quiet)
    output.write(content, None, coloured)
    code = FOUND if any(part.texts for part in shown) and not options.exit_zero else 0
    kept = runs.renew(run.where, news, run.began, (content, "", code))
    if kept is not None:
        sessions.write(run.where, kept, now.plain())
    return code


def _parts(outcomes: Mapping[int, Outcome], look: Look) -> dict[int, Any]:
    """What is said of those files of which there is something to say."""
    told = {number: by_cells(outcome) for number, outcome in outcomes.items() if outcome.findings}
    return {number: _plain(parts.of_file(one.findings, texts, look)) for number, (one, texts) in told.items()}


def _plain(part: Part) -> tuple[Any, ...]:
    return part.texts, tuple(part.counts.items())


def _part(plain: tuple[Any, ...]) -> Part:
    texts, counts = plain
    return Part(texts, dict(counts))
