"""The run: paths and settings to findings. Everything is a value; nothing is printed here."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from transferlint import late
from transferlint.cache.signatures import Signature, signature
from transferlint.engine import batches, jobs, steps, workers, writing
from transferlint.engine.cells import by_cells
from transferlint.engine.pipeline import check_bytes
from transferlint.engine.plan import UNPARSABLE, Outcome, Plan
from transferlint.engine.run import Run
from transferlint.engine.scopes import Scopes
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Finding, QuietSite
from transferlint.registry import Registry
from transferlint.settings import selection
from transferlint.settings.loading import Settings
from transferlint.sources import context
from transferlint.sources.discovery import Exclusion, Found, Target, Trouble, discover
from transferlint.sources.nearest import Nearest
from transferlint.sources.reach import Reach
from transferlint.sources.shards import Shard, weight
from transferlint.syntax import collector

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from transferlint.engine.resuming import Made
    from transferlint.suppressions.baseline import Baseline

_PASSES = 5

__all__ = ["Progress", "Result", "check_paths", "check_stdin", "plan_for"]


class Progress(Protocol):
    """Who is told how far a run is; called from any thread."""

    def begin(self, total: int) -> None:
        """So many files will be checked."""

    def advance(self, count: int) -> None:
        """So many more are done."""


@late.dataclass(frozen=True, slots=True)
class Result:
    """What a run found: findings in order of path and line, what was fixed, what could not be done, how many files were
    looked at, the texts of files with findings, the diffs of fixes that were only shown, `notes` on fixes that were
    left out, the paths of texts that changed, what suppressions were added for, how many findings the baseline knew,
    and what is quiet on purpose, where that was asked. `seen` are the files that it rests on, and the folders that were
    walked, in the state they were in before; `made` is of what the next run may go on from."""

    findings: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    troubles: tuple[Trouble, ...]
    files: int
    texts: dict[str, str]
    diffs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()
    silenced: tuple[Finding, ...] = ()
    known: int = 0
    quiet: tuple[QuietSite, ...] = ()
    seen: Mapping[str, Signature] = dataclasses.field(default_factory=dict, compare=False)
    made: Made | None = dataclasses.field(default=None, compare=False)

    @property
    def changed(self) -> int:
        """How many texts changed."""
        return len(self.written)


def plan_for(
    settings: Settings,
    registry: Registry,
    write: bool = True,
    diff: bool = False,
    silence: str | None = None,
    known: Baseline | None = None,
    cache: str = "",
) -> Plan:
    """What the settings ask of each file; `silence` is the reason of suppressions to add, `known` a baseline, `cache`
    the folder of kept programs ("" for none). Raises SettingsError where a selector names no rule."""
    chosen = [*(settings.select or ()), *settings.extend_select, *settings.ignore]
    chosen += [code for _, codes in settings.per_file_ignores for code in codes]
    selection.check(chosen, [UNPARSABLE, *((rule.code, rule.name) for rule in registry.rules)])
    return Plan(
        rules=selection.choose(registry.rules, settings.select, settings.extend_select, settings.ignore),
        options=AnalysisOptions(test_paths=settings.test_paths, knowledge=settings.knowledge),
        min_confidence=settings.min_confidence,
        min_frequency=settings.min_frequency,
        ignore=settings.ignore,
        fix=(settings.fix or diff) and silence is None,
        unsafe=settings.unsafe_fixes,
        write=write and not diff,
        diff=diff,
        usual=frozenset(rule.code for rule in registry.rules if rule.default),
        whole=settings.context == "project",
        silence=silence,
        known=known,
        cache=cache,
    )


def check_paths(
    paths: Iterable[str],
    settings: Settings,
    plan: Plan,
    progress: Progress,
    scopes: Scopes | None = None,
    shard: Shard | None = None,
    executor: Executor | None = None,
) -> Result:
    """Discover and check; `progress` hears how it goes. `scopes` has other settings and plans for some files, None for
    the same everywhere. Of a `shard` only its files are reported on; all others count as much as in a run of them all.
    An `executor` does what needs no other file: reading, and where files are checked alone, all.

    Where files were changed, all are checked again, and changed again, until nothing changes: what was changed in one
    file may matter for another, and only then are the findings those of the project as it is now. A file that could
    not be written is left alone from then on.
    """
    paths = tuple(paths)
    scopes = scopes or Scopes(Nearest(settings), plan)
    results: list[Result] = []
    given_up: dict[str, Trouble] = {}
    while not results or (results[-1].changed and plan.write and plan.changes and len(results) < _PASSES):
        results.append(_pass(paths, settings, scopes, progress, given_up, shard, executor))
    last = results[-1]
    return late.replace(
        last,
        troubles=tuple(dict.fromkeys((*last.troubles, *given_up.values()))),
        fixed=tuple(finding for result in results for finding in result.fixed),
        silenced=tuple(finding for result in results for finding in result.silenced),
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        written=frozenset().union(*(result.written for result in results)),
    )


def _pass(
    paths: tuple[str, ...],
    settings: Settings,
    scopes: Scopes,
    progress: Progress,
    given_up: dict[str, Trouble],
    shard: Shard | None,
    executor: Executor | None,
) -> Result:
    """Check all once, and write what is to be written; `given_up` are the files that could not be, and gets more."""
    files = discovered(paths, scopes)
    every = [jobs.job(index, target, scopes) for index, target in enumerate(files.targets)]
    told = every if shard is None else shard.of(every, [weight(job.target.path) for job in every])
    gone = shard is None or shard.index == 1
    write = scopes.plans[0].write
    barred = writing.outside(paths, files.targets)
    if write and scopes.plans[0].changes:
        writing.sweep(files.targets)
    if settings.context == "file" or not told:
        progress.begin(len(told))
        states = {job.target.path: signature(job.target.path) for job in every}
        plans = tuple(scopes.plans)
        outcomes, remark = jobs.checked(told, plans, settings.jobs, progress.advance, executor)
        if write:
            outcomes = writing.written(outcomes, barred, given_up)
        return _gathered(outcomes, scopes, plans, files.troubles, (files.note, remark), states, gone)
    from transferlint.engine import kept_results, resuming  # for what runs keep for each other

    around = context.around(paths, files.targets, scopes.nearest, cache=scopes.plans[0].cache, below=files.below)
    reading = [*every, *jobs.beside(len(every), around.others, scopes)]
    plans = tuple(late.replace(plan, whole=not around.note) for plan in scopes.plans)
    progress.begin(len(reading) + len(told))
    with collector.paused():
        keeper = kept_results.keeper(around, plans, every) if shard is None else None
        numbers = frozenset(job.index for job in told)
        run = Run(around, plans, settings.jobs, progress.advance, numbers, keeper, executor)
        outcomes, stamps, remark = batches.check(run, reading)
        if around.contents is not None:
            around.contents.keep()
    if write and any(outcome.data for outcome in outcomes):
        rests_on = _rests_on(stamps, around)
        outcomes = writing.written(outcomes, lambda path: barred(path) or rests_on(path), given_up)
    result = _gathered(outcomes, scopes, plans, files.troubles, (around.note, remark), around.states, gone)
    return result if keeper is None else late.replace(result, made=resuming.Made(around, reading, keeper))


def discovered(paths: Iterable[str], scopes: Scopes) -> Found:
    """The files that `paths` stand for; where only what changed counts, those that did."""
    files = discover(paths, scopes.nearest)
    since = scopes.plans[0].since
    if since is None:
        return files
    return late.replace(files, targets=tuple(one for one in files.targets if since.touch(one.path)))


def check_stdin(
    path: str, data: bytes, settings: Settings, plan: Plan, scopes: Scopes | None = None
) -> tuple[Result, Outcome]:
    """Check text from standard input as if it stood in `path`; the outcome holds the fixed text. Nothing is written."""
    plan = late.replace(plan, write=False)
    scopes = scopes or Scopes(Nearest(settings), plan)
    note = ""
    if scopes.nearest.is_test(path) or (settings.force_exclude and Exclusion(settings).covers(path)):
        outcome = Outcome(path)
    elif settings.context == "file" or not path.endswith(".py"):
        ignored = scopes.ignored(path)
        alone = late.replace(plan, whole=False)
        outcome = workers.deep(lambda: check_bytes(path, data, alone, ignored))
    else:
        from transferlint.engine import kept_results

        job = jobs.job(0, Target(path), scopes)
        around = context.around((path,), (job.target,), scopes.nearest, {path: data}, plan.cache)
        others = jobs.beside(1, around.others, scopes)
        plans = (plan, *scopes.plans[1:])
        with collector.paused():
            own = workers.deep(lambda: steps.prepare_bytes(path, data, plan, job.ignored))
            keeper = kept_results.keeper(around, plans, [job])
            run = Run(around, plans, settings.jobs, _nobody, frozenset({job.index}), keeper)
            outcome = batches.check_beside(own, hashlib.sha256(data).digest(), job, others, run)
        note = around.note
    return _gathered([outcome], scopes, [plan], (), (note,)), outcome


def _rests_on(stamps: Iterable[tuple[str, writing.Stamp]], around: context.Context) -> Callable[[str], str]:
    """For a path, why it is not to be written, where a file that matters for it changed since it was read; else "".
    `stamps` say which state of each file was read."""
    changed = [path for path, stamp in stamps if stamp not in (writing.NO_STAMP, writing.stamp_of(path))]
    if not changed:
        return lambda path: ""
    reach = Reach(context.Sources(around.files), around.index())

    def look(path: str) -> str:
        near = reach.of([path])
        other = next((other for other in changed if other in near.users or other in near.used), "")
        return f"not written: {other}, on which its findings rest, changed while it was checked" if other else ""

    return look


def _nobody(count: int) -> None:
    """Hears how far a run is, and tells nobody."""


def _gathered(
    outcomes: Sequence[Outcome],
    scopes: Scopes,
    plans: Sequence[Plan],
    troubles: Sequence[Trouble],
    notes: Iterable[str] = (),
    states: Mapping[str, Signature] | None = None,
    gone: bool = True,
) -> Result:
    """`gone` False leaves out baselines' entries of files that do not exist."""
    troubles = [*scopes.troubles(), *troubles]
    stale = tuple(_stale(outcomes, scopes, plans, gone))
    told = [by_cells(outcome) for outcome in outcomes]
    outcomes = [outcome for outcome, _ in told]
    found = [finding for outcome in outcomes for finding in outcome.findings]
    return Result(
        findings=(*found, *stale),
        fixed=tuple(finding for outcome in outcomes for finding in outcome.fixed),
        troubles=(*troubles, *(trouble for outcome in outcomes for trouble in outcome.troubles)),
        files=len(outcomes),
        texts={path: text for _, texts in told for path, text in texts.items()},
        diffs=tuple(outcome.diff for outcome in outcomes if outcome.diff),
        notes=(*filter(None, notes), *(note for outcome in outcomes for note in outcome.notes)),
        written=frozenset(outcome.path for outcome in outcomes if outcome.changed),
        silenced=tuple(finding for outcome in outcomes for finding in outcome.silenced),
        known=sum(outcome.hidden for outcome in outcomes),
        quiet=tuple(one for outcome in outcomes for one in outcome.quiet),
        seen={**scopes.nearest.walked, **(states or {})},
    )


def _stale(outcomes: Sequence[Outcome], scopes: Scopes, plans: Sequence[Plan], gone: bool) -> Iterator[Finding]:
    """The entries of baselines that nothing answers to any more, where this run would have found what they know."""
    planned = [(outcome, plans[scopes.of(outcome.path)]) for outcome in outcomes]
    # Settings of several folders may name one baseline.
    for known in {plan.known.path: plan.known for plan in plans if plan.known is not None}.values():
        from transferlint.suppressions.baseline import STALE

        whose = [plan for plan in plans if plan.known is not None and plan.known.path == known.path]
        numbers = set(map(id, whose))
        own = [(outcome, plan) for outcome, plan in planned if id(plan) in numbers and plan.since is None]
        ran = ((outcome.path, code) for outcome, plan in own if _comparable(plan, known) for code in outcome.ran)
        if any(rule.code == STALE[0] for plan in whose for rule in plan.rules):
            yield from known.stale((key for outcome, _ in own for key in outcome.known), ran, gone)


def _comparable(plan: Plan, known: Baseline) -> bool:
    """Whether a run finds what the run found that wrote the baseline."""
    seen = plan.min_confidence <= known.confidence and plan.min_frequency <= known.frequency
    return seen and plan.whole == (known.context == "project")
