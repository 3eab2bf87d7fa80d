"""The run: paths and settings to findings. Everything is a value; nothing is printed here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Protocol

from transferlint import selection, workers
from transferlint.discovery import Exclusion, Trouble, discover
from transferlint.flow.options import AnalysisOptions
from transferlint.model import Finding
from transferlint.pipeline import UNPARSABLE, Outcome, Plan, check_bytes
from transferlint.registry import Registry
from transferlint.settings import Settings

__all__ = ["Progress", "Result", "check_paths", "check_stdin", "plan_for"]


class Progress(Protocol):
    """Who is told how far a run is; called from any thread."""

    def begin(self, total: int) -> None:
        """So many files will be checked."""

    def advance(self, count: int) -> None:
        """So many more are done."""


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What a run found: findings in order of path and line, what was fixed, what could not be done, how many files were
    looked at, the texts of files with findings, the diffs of fixes that were only shown, `notes` on fixes that were
    left out, and how many texts changed."""

    findings: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    troubles: tuple[Trouble, ...]
    files: int
    texts: dict[str, str]
    diffs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changed: int = 0


def plan_for(settings: Settings, registry: Registry, write: bool = True, diff: bool = False) -> Plan:
    """What the settings ask of each file. Raises SettingsError where a selector names no rule."""
    chosen = [*(settings.select or ()), *settings.extend_select, *settings.ignore]
    chosen += [code for _, codes in settings.per_file_ignores for code in codes]
    selection.check(chosen, [UNPARSABLE, *((rule.code, rule.name) for rule in registry.rules)])
    return Plan(
        rules=selection.choose(registry.rules, settings.select, settings.extend_select, settings.ignore),
        options=AnalysisOptions(test_paths=settings.test_paths),
        min_confidence=settings.min_confidence,
        ignore=settings.ignore,
        fix=settings.fix or diff,
        unsafe=settings.unsafe_fixes,
        write=write and not diff,
        diff=diff,
    )


def check_paths(paths: Iterable[str], settings: Settings, plan: Plan, progress: Progress) -> Result:
    """Discover and check; `progress` hears how it goes."""
    files = discover(paths, settings)
    progress.begin(len(files.targets))
    ignored = _PerFile(settings)
    jobs = [workers.Job(index, target, ignored.of(target.path)) for index, target in enumerate(files.targets)]
    outcomes = workers.run(jobs, plan, settings.jobs, progress.advance)
    return _gathered(outcomes, files.troubles, len(jobs))


def check_stdin(path: str, data: bytes, settings: Settings, plan: Plan) -> tuple[Result, Outcome]:
    """Check text from standard input as if it stood in `path`; the outcome holds the fixed text. Nothing is written."""
    if settings.force_exclude and Exclusion(settings).covers(path):
        outcome = Outcome(path)
    else:
        ignored = _PerFile(settings).of(path)
        outcome = workers.deep(lambda: check_bytes(path, data, dataclasses.replace(plan, write=False), ignored))
    return _gathered([outcome], (), 1), outcome


class _PerFile:
    """The selectors that `per-file-ignores` names for a path; patterns as in `exclude`."""

    def __init__(self, settings: Settings) -> None:
        empty = dataclasses.replace(settings, exclude=(), extend_exclude=())
        self.rows = [
            (Exclusion(dataclasses.replace(empty, exclude=(pattern,))), codes)
            for pattern, codes in settings.per_file_ignores
        ]

    def of(self, path: str) -> tuple[str, ...]:
        return tuple(code for pattern, codes in self.rows if pattern.covers(path) for code in codes)


def _gathered(outcomes: Iterable[Outcome], troubles: Sequence[Trouble], files: int) -> Result:
    outcomes = list(outcomes)
    return Result(
        findings=tuple(finding for outcome in outcomes for finding in outcome.findings),
        fixed=tuple(finding for outcome in outcomes for finding in outcome.fixed),
        troubles=(*troubles, *(trouble for outcome in outcomes for trouble in outcome.troubles)),
        files=files,
        texts={outcome.path: outcome.text for outcome in outcomes if outcome.findings},
        diffs=tuple(outcome.diff for outcome in outcomes if outcome.diff),
        notes=tuple(note for outcome in outcomes for note in outcome.notes),
        changed=sum(outcome.changed for outcome in outcomes),
    )
