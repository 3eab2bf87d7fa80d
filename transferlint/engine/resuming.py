"""A run that goes on from the last of the same command line: where few files changed since, and others came by none of
that, nothing is looked for, read or put together but these and what they matter for.

The last run left the files of the project, the groups that no import connects (`connected.py`), what is in each file,
and what was written down of each group (`updates.py`). All of that holds where no file came or went, no settings
changed, and each file that changed imports what it imported. Then the groups with such files are updated, and in all
others stands what was found.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transferlint import late
from transferlint.cache import bases, results
from transferlint.cache.runs import News
from transferlint.engine import updates
from transferlint.engine.kept_results import Keeper, with_text
from transferlint.engine.plan import Outcome, Plan
from transferlint.engine.run import Run
from transferlint.engine.workers import Job
from transferlint.files.screen import is_package, worth_analysing
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.sources import discovery
from transferlint.sources.context import MAX_BYTES, Context, Sources
from transferlint.sources.discovery import Target
from transferlint.sources.reach import Reach, View, is_seen


@late.dataclass(frozen=True, slots=True)
class Made:
    """What a run rested on, of which the next may go on: the project, its jobs, and what keeps results."""

    around: Context
    jobs: Sequence[Job]
    keeper: Keeper


@late.dataclass(frozen=True, slots=True)
class Group:
    """Files of a project, by number, with digests of what was in each. `base` is the key under which all of it was
    written down, with its `digest`, "" where it was not. Of the files `unknown` the session has only what was found
    later; `then` is the key of what was found in all of them when they were written down."""

    numbers: Sequence[int]
    contents: Sequence[bytes]
    base: str = ""
    digest: bytes = b""
    then: str = ""
    unknown: Sequence[int] = ()


@late.dataclass(frozen=True, slots=True)
class Session:
    """What a run leaves: the project's folder, the files that were checked or matter for these (path, whether it was
    named, the selectors that do not count in it, whether it was checked), the `rest` of the project's, the views of
    both (`reach.py`) and, where not all were checked, by number, what they use; which of the files are `users` of those
    that were checked, which are `apart`, worth analysing but connected with none of those, where all that is connected
    is asked; the folders that were walked with digests of what is in them, and the groups; `idle` are the files that
    are not analysed. `parts` is what the report says of files, `updated` what it says now of those (of some,
    nothing: None) of which something else may be found than when their group was written down."""

    root: str
    files: Sequence[tuple[str, bool, tuple[str, ...], bool]]
    rest: Sequence[str]
    views: Sequence[View]
    uses: Sequence[Sequence[int]]
    users: Sequence[int]
    apart: Sequence[int]
    folders: Mapping[str, bytes]
    groups: Sequence[Group]
    idle: Sequence[int]
    parts: Mapping[int, Any]
    updated: Mapping[int, Any]

    def plain(self) -> tuple[Any, ...]:
        """The session as plain values."""
        groups = [dataclasses.astuple(one) for one in self.groups]
        about = (self.root, self.files, self.rest, self.views, self.uses, self.users, self.apart, self.folders)
        return (*about, groups, self.idle, self.parts, self.updated)

    def jobs(self) -> list[Job]:
        """The files as jobs."""
        rows = enumerate(self.files)
        return [Job(number, Target(path, named), ignored, wanted) for number, (path, named, ignored, wanted) in rows]


def restored(left: Any) -> Session:
    """The session of plain values. Raises TypeError and ValueError where it is none."""
    root, files, rest, views, uses, users, apart, folders, groups, *others = left
    idle, parts, updated = others
    every = [Group(*one) for one in groups]
    return Session(root, files, rest, views, uses, users, apart, folders, every, idle, parts, updated)


def session(made: Made, folders: Mapping[str, bytes], parts: Mapping[str, Any]) -> Session | None:
    """What a run leaves that reported these parts, by file; None where the next cannot go on from it."""
    around, reach = made.around, made.around.reach
    jobs = {job.target.path: job for job in made.jobs}
    rest = [path for path in around.files if path not in jobs]
    if reach is None or around.note or around.links or any(job.scope for job in made.jobs):
        return None
    groups = [_group(made.keeper, [jobs[path] for path in group]) for group in around.groups]
    if not any(group.base for group in groups):
        return None
    paths = [*jobs, *rest]
    numbers = {path: number for number, path in enumerate(paths)}
    whole = around.worth is not None or (all(job.wanted for job in made.jobs) and not rest)
    return Session(
        around.root,
        [(job.target.path, job.target.named, job.ignored, job.wanted) for job in made.jobs],
        rest,
        list(map(reach.view, paths)),
        [sorted(numbers[used] for used in reach.used(path)) for path in paths] if not whole else [],
        sorted(numbers[path] for path in around.users),
        sorted(numbers[path] for path in (around.worth or frozenset()).difference(jobs)),
        folders,
        groups,
        [jobs[path].index for path in around.idle],
        {jobs[path].index: part for path, part in parts.items()},
        {},
    )


def _group(keeper: Keeper, jobs: Sequence[Job]) -> Group:
    contents = keeper.contents(jobs)
    base = updates.base_of(keeper, jobs)
    numbers = [job.index for job in jobs]
    if base is None:
        return Group(numbers, contents)
    same = base.head[0] == contents
    then = keeper.key_of(jobs, base.head[0])
    return Group(numbers, contents, keeper.name(jobs), base.digest, then, () if same else numbers)


@late.dataclass(frozen=True, slots=True)
class Resumed:
    """What a run finds that goes on from another: what comes of files, by number, of which something else may be found
    than when their groups were written down (`outcomes`), and what came of others then, of which the session did not
    have that (`known`); and the session, but for what is said of these (`told`)."""

    outcomes: dict[int, Outcome]
    known: dict[int, Outcome]
    session: Session

    def told(self, now: Mapping[int, Any], then: Mapping[int, Any]) -> Session:
        """The session after the run, of which these are the parts of the report."""
        updated = {**self.session.updated, **{number: now.get(number) for number in self.outcomes}}
        parts = {number: part for number, part in self.session.parts.items() if number not in self.known}
        return late.replace(self.session, updated=updated, parts=parts | dict(then))


def resume(left: Any, news: News, plan: Plan) -> Resumed | None:
    """Check what changed since a run left this; None where that takes a whole run."""
    try:
        return _resumed(restored(left), news, plan)
    except Exception:  # of a defect of ours, or in what was left, only time comes
        return None


def _resumed(before: Session, news: News, plan: Plan) -> Resumed | None:
    changed = _changed(before, news)
    if changed is None:
        return None
    jobs = before.jobs()
    paths = [job.target.path for job in jobs]
    groups = tuple(tuple(paths[number] for number in group.numbers) for group in before.groups)
    idle = frozenset(paths[number] for number in before.idle)
    around = Context(before.root, (*paths, *before.rest), {}, (), groups=groups, idle=idle)
    told = frozenset(job.index for job in jobs if job.wanted)
    run = Run(around, [late.replace(plan, whole=True)], 1, _nobody, told)
    found: dict[int, Outcome] = {}
    known: dict[int, Outcome] = {}
    now: list[Group] = []
    again: set[int] = set()
    for group in before.groups:
        contents = [changed.get(number, content) for number, content in zip(group.numbers, group.contents, strict=True)]
        if contents != group.contents:
            outcomes = _checked(run, group, contents, jobs)
            if outcomes is None:
                return None
            found.update(outcomes)
            again.update(group.numbers)
            earlier = _then(run.plans[0].cache, group, jobs, set(group.unknown) - outcomes.keys())
            if earlier is None:
                return None
            known.update(earlier)
            unknown = [number for number in group.unknown if number in outcomes]
            group = late.replace(group, contents=contents, unknown=unknown)
        now.append(group)
    if any(one.troubles or one.notes for one in (*found.values(), *known.values())):
        return None
    kept = {number: part for number, part in before.updated.items() if number not in again}
    return Resumed(found, known, late.replace(before, groups=now, updated=kept))


def _checked(run: Run, group: Group, contents: Sequence[bytes], jobs: Sequence[Job]) -> dict[int, Outcome] | None:
    where = run.plans[0].cache
    base = bases.read(where, group.base) if group.base else None
    if base is None or base.digest != group.digest:
        return None
    return updates.since(run, [jobs[number] for number in group.numbers], base, contents)


def _then(where: str, group: Group, jobs: Sequence[Job], missing: set[int]) -> dict[int, Outcome] | None:
    """What came of some files, which are as they were when their group was written down; None where that is not known
    any more."""
    if not missing:
        return {}
    kept = results.read(where, group.then)
    wanted = [number for number in group.numbers if jobs[number].wanted]
    if not isinstance(kept, tuple) or [one.path for one in kept] != [jobs[number].target.path for number in wanted]:
        return None
    try:
        return {number: with_text(one) for number, one in zip(wanted, kept, strict=True) if number in missing}
    except OSError:
        return None


def _changed(before: Session, news: News) -> dict[int, bytes] | None:
    """What is in each changed file now, as a digest; None where the project is not what it was."""
    files = dict(news.changed)
    for path in news.changed:
        if path in before.folders:
            if discovery.listed(path) != before.folders[path]:
                return None
            del files[path]
    paths = [*(path for path, *_ in before.files), *before.rest]
    numbers = {path: number for number, path in enumerate(paths) if path in files}
    known = {number: one for group in before.groups for number, one in zip(group.numbers, group.contents, strict=True)}
    found: dict[int, bytes] = {}
    several = sum(wanted for _, _, _, wanted in before.files) > 1
    for path, state in files.items():
        number = numbers.get(path)
        if number is None or not path.endswith(".py") or state[2] > MAX_BYTES:
            return None
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        if not is_seen(data, before.views[number]):
            return None
        if number >= len(before.files):
            if not before.uses and number not in before.apart and worth_analysing(data):
                return None  # it may be connected with what is checked
        else:
            _, named, _, wanted = before.files[number]
            worth = is_package(path) or worth_analysing(data)
            found[number] = hashlib.sha256(data).digest() if named or worth else b""
            if bool(found[number]) != bool(known[number]) or (several and wanted and worth == (number in before.idle)):
                return None
    sizes = {path: state[2] for path, state in news.states} | {path: state[2] for path, state in files.items()}
    return found if not before.uses or _reaches_the_same(before, paths, sizes) else None


def _reaches_the_same(before: Session, paths: Sequence[str], sizes: Mapping[str, int]) -> bool:
    """Whether the same files matter for those that are checked."""
    uses = zip(paths, before.uses, before.views, strict=True)
    known = {path: (frozenset(paths[number] for number in used), view) for path, used, view in uses}
    reach = Reach(Sources(paths), ModuleIndex((), before.root), known)
    found = reach.of([path for path, _, _, wanted in before.files if wanted])
    users, used = ({path for path in some if sizes[path] <= MAX_BYTES} for some in (found.users, found.used))
    others = {path for path, _, _, wanted in before.files if not wanted}
    return users | used == others and users == {paths[number] for number in before.users}


def shown(now: Session) -> Iterable[Any]:
    """What the report says of each file, in their order."""
    for number in sorted(now.parts.keys() | now.updated.keys()):
        part = now.updated[number] if number in now.updated else now.parts[number]
        if part is not None:
            yield part


def _nobody(count: int) -> None:
    """Hears how far a run is, and tells nobody."""
