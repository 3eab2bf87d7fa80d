"""The run: paths and settings to findings. Everything is a value; nothing is printed here."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from transferlint import context, selection, steps, workers
from transferlint.discovery import Exclusion, Target, Trouble, discover
from transferlint.flow.options import AnalysisOptions
from transferlint.model import Finding
from transferlint.pipeline import UNPARSABLE, Outcome, Plan, check_bytes, check_file, internal
from transferlint.registry import Registry
from transferlint.settings import Settings
from transferlint.steps import Prepared
from transferlint.syntax import collector

if TYPE_CHECKING:
    from transferlint.flow.project import Project

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
        options=AnalysisOptions(test_paths=settings.test_paths, knowledge=settings.knowledge),
        min_confidence=settings.min_confidence,
        ignore=settings.ignore,
        fix=settings.fix or diff,
        unsafe=settings.unsafe_fixes,
        write=write and not diff,
        diff=diff,
    )


def check_paths(paths: Iterable[str], settings: Settings, plan: Plan, progress: Progress) -> Result:
    """Discover and check; `progress` hears how it goes."""
    paths = tuple(paths)
    files = discover(paths, settings)
    ignored = _PerFile(settings)
    jobs = [workers.Job(index, target, ignored.of(target.path)) for index, target in enumerate(files.targets)]
    if settings.context == "file" or not jobs:
        progress.begin(len(jobs))
        check = functools.partial(_check, plan=plan)
        return _gathered(workers.run(jobs, check, _died, settings.jobs, progress.advance), files.troubles, len(jobs))
    around = context.around(paths, files.targets, settings)
    beside = enumerate(around.others, start=len(jobs))
    reading = [*jobs, *(workers.Job(index, Target(path), wanted=False) for index, path in beside)]
    progress.begin(len(reading) + len(jobs))
    with collector.paused():
        prepare = functools.partial(_prepare, plan=plan)
        prepared = workers.run(reading, prepare, _lost, settings.jobs, progress.advance)
        outcomes = _check_prepared(prepared, jobs, around, plan, settings.jobs, progress.advance)
    return _gathered(outcomes, files.troubles, len(jobs), around.note)


def check_stdin(path: str, data: bytes, settings: Settings, plan: Plan) -> tuple[Result, Outcome]:
    """Check text from standard input as if it stood in `path`; the outcome holds the fixed text. Nothing is written."""
    plan = dataclasses.replace(plan, write=False)
    note = ""
    if settings.force_exclude and Exclusion(settings).covers(path):
        outcome = Outcome(path)
    elif settings.context == "file" or not path.endswith(".py"):
        ignored = _PerFile(settings).of(path)
        outcome = workers.deep(lambda: check_bytes(path, data, plan, ignored))
    else:
        job = workers.Job(0, Target(path), _PerFile(settings).of(path))
        around = context.around((path,), (job.target,), settings, {path: data})
        others = [workers.Job(index, Target(other), wanted=False) for index, other in enumerate(around.others)]
        with collector.paused():
            prepared = [workers.deep(lambda: steps.prepare_bytes(path, data, plan, job.ignored))]
            prepare = functools.partial(_prepare, plan=plan)
            prepared += workers.run(others, prepare, _lost, settings.jobs, _nobody)
            (outcome,) = _check_prepared(prepared, [job], around, plan, 1, _nobody)
        note = around.note
    return _gathered([outcome], (), 1, note), outcome


def _check_prepared(
    prepared: Sequence[Prepared],
    jobs: Sequence[workers.Job],
    around: context.Context,
    plan: Plan,
    count: int,
    done: workers.Done,
) -> list[Outcome]:
    """The second step for `jobs`, with which `prepared` begins; all of it is the project's. Where that cannot be put
    together, the files are checked each by itself."""
    project = None
    troubles: tuple[Trouble, ...] = ()
    try:
        if any(one.program for one in prepared):
            project = workers.deep(lambda: steps.linked(prepared, around.index(), plan))
    except Exception as error:  # a defect of ours must not end the run
        troubles = (internal("the project", around.root, error),)
    checking = [job for job in jobs if prepared[job.index].outcome is None]
    task = functools.partial(_check_one, prepared=prepared, plan=plan, project=project)
    checked = workers.run(checking, task, _died, count, done, shares=True)
    done(len(jobs) - len(checking))
    outcomes = {job.index: outcome for job, outcome in zip(checking, checked, strict=False)}
    final = [outcomes.get(job.index) or prepared[job.index].outcome or Outcome(job.target.path) for job in jobs]
    return [dataclasses.replace(final[0], troubles=(*troubles, *final[0].troubles)), *final[1:]]


def _check(job: workers.Job, plan: Plan) -> Outcome:
    return check_file(job.target, plan, job.ignored)


def _prepare(job: workers.Job, plan: Plan) -> Prepared:
    return steps.prepare(job.target, plan, job.ignored, job.wanted)


def _check_one(job: workers.Job, prepared: Sequence[Prepared], plan: Plan, project: Project | None) -> Outcome:
    return steps.check_prepared(prepared[job.index], plan, job.ignored, project)


def _died(job: workers.Job) -> Outcome:
    why = f"internal error: the worker that checked {job.target.path} died; please report"
    return Outcome(job.target.path, troubles=(Trouble("", why),))


def _lost(job: workers.Job) -> Prepared:
    return Prepared(job.target.path, outcome=_died(job))


def _nobody(count: int) -> None:
    """Hears how far a run is, and tells nobody."""


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


def _gathered(outcomes: Iterable[Outcome], troubles: Sequence[Trouble], files: int, note: str = "") -> Result:
    outcomes = list(outcomes)
    notes = [note] if note else []
    return Result(
        findings=tuple(finding for outcome in outcomes for finding in outcome.findings),
        fixed=tuple(finding for outcome in outcomes for finding in outcome.fixed),
        troubles=(*troubles, *(trouble for outcome in outcomes for trouble in outcome.troubles)),
        files=files,
        texts={outcome.path: outcome.text for outcome in outcomes if outcome.findings},
        diffs=tuple(outcome.diff for outcome in outcomes if outcome.diff),
        notes=(*notes, *(note for outcome in outcomes for note in outcome.notes)),
        changed=sum(outcome.changed for outcome in outcomes),
    )
