"""What was found in a group of files, kept between runs for as long as all that it rests on is as it was.

That is: the bytes of the group's files and what is asked of each, the names of all files of the project (by which
imports are followed), the settings of formatters (which fixes keep to), this version and the Python that runs it. No
time of change and no other folder is looked at: a cache that was brought to another machine, or a branch that was left
and taken up again, counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from transferlint import late
from transferlint.cache import results
from transferlint.cache.contents import Contents
from transferlint.engine.plan import Outcome, Plan
from transferlint.engine.workers import Job
from transferlint.files.screen import is_package
from transferlint.sources.context import Context

_RULES = "transferlint_rules"  # of other packs nobody knows which modules they rest on


class Keeper:
    """Results in the cache's folder `where`; `base` stands for what is the same for all groups of a run, `project` for
    what of that its analysis rests on, whichever files are checked and by which rules; `users` are the files beside the
    checked ones whose calls count, and `plans` those of the run."""

    def __init__(
        self, where: str, base: str, project: str, users: frozenset[str], plans: Sequence[Plan], contents: Contents
    ) -> None:
        self.where = where
        self._digests = contents
        self._base = base
        self._project = project
        self._users = users
        self._plans = plans
        self._contents: dict[str, bytes] = {}

    def key(self, group: Sequence[Job]) -> str:
        """What the results of a group are kept under, "" where a file of it cannot be read."""
        try:
            for job in group:
                self._contents[job.target.path] = self._content(job)
        except OSError:
            return ""
        return self.key_of(group, self.contents(group))

    def name(self, group: Sequence[Job]) -> str:
        """What a group is known by, whatever is in its files, and whichever of them are checked."""
        rows = [
            (
                job.target.path,
                job.wanted or job.target.path in self._users,
                job.scope and self._plans[job.scope].options,
            )
            for job in group
        ]
        return results.digest(self._project, rows)

    def contents(self, group: Sequence[Job]) -> list[bytes]:
        """The digests of what was in the files of a group when its key was made, none for what does not count."""
        return [self._contents[job.target.path] for job in group]

    def key_of(self, group: Sequence[Job], contents: Sequence[bytes]) -> str:
        """The key of a group when these were the contents of its files."""
        rows = [(*self._row(job), content) for job, content in zip(group, contents, strict=True)]
        return results.digest(self._base, rows)

    def _row(self, job: Job) -> tuple[object, ...]:
        return job.target, job.wanted, job.ignored, job.scope, job.target.path in self._users

    def _content(self, job: Job) -> bytes:
        path = job.target.path
        counts = job.target.named or is_package(path) or self._digests.worth(path)
        return self._digests.digest(path) if counts else b""

    def _stands(self, group: Sequence[Job]) -> bool:
        """Whether the files of a group are still what its key was made of."""
        try:
            return all(self._digests.stands(job.target.path) for job in group)
        except OSError:
            return False

    def read_contents(self, group: Sequence[Job], contents: Sequence[bytes]) -> dict[int, Outcome] | None:
        """What came of the wanted files of a group when these were the contents of its files."""
        return self.read(self.key_of(group, contents), group)

    def read(self, key: str, group: Sequence[Job]) -> dict[int, Outcome] | None:
        """What came of the wanted files of a group, by their index; None where that is not known."""
        kept = results.read(self.where, key)
        wanted = [job for job in group if job.wanted]
        if not isinstance(kept, tuple) or [one.path for one in kept] != [job.target.path for job in wanted]:
            return None
        try:
            return {job.index: with_text(one) for job, one in zip(wanted, kept, strict=True)}
        except OSError:
            return None

    def write(self, key: str, group: Sequence[Job], outcomes: Mapping[int, Outcome]) -> bool:
        """Keep what came of a group, unless something went wrong, or a file changed since the key was made; whether it
        was kept."""
        found = [outcomes[job.index] for job in group if job.wanted]
        if not found or any(one.troubles for one in found) or not self._stands(group):
            return False
        records = tuple(late.replace(one, text=one.text[:1], looked=()) for one in found)
        results.write(self.where, key, records)
        return True


def keeper(around: Context, plans: Sequence[Plan], jobs: Iterable[Job]) -> Keeper | None:
    """What keeps the results of a run; None where they rest on more than is looked at, or nothing is to be kept."""
    where = plans[0].cache
    if not where or not all(map(_plain, plans)):
        return None
    try:
        contents = around.contents or Contents(where, around.root, around.states)
        own = _own()
        return Keeper(
            where, _base(own, around, plans, jobs), _project(own, around, plans[0]), around.users, plans, contents
        )
    except OSError:  # something of it cannot be read: then it is not known when it changes
        return None


def _own() -> str:
    """This version, and that of the rules."""
    own = os.path.dirname(os.path.abspath(__file__))
    rules = sys.modules.get(_RULES)
    packs = [os.path.dirname(rules.__file__)] if rules is not None and rules.__file__ else []
    return results.made_by([own, *packs])


def _project(own: str, around: Context, plan: Plan) -> str:
    """What the analysis of any group of a project rests on."""
    modules = sorted(path for path in around.files if path.endswith(".py"))
    links = sorted(around.links.items())
    return results.digest(
        own, plan.options, plan.whole, plan.front_end, os.getcwd(), around.root, around.whole, modules, links
    )


def _base(own: str, around: Context, plans: Sequence[Plan], jobs: Iterable[Job]) -> str:
    """What is the same for all groups of a run."""
    folders = {os.path.dirname(os.path.abspath(job.target.path)) for job in jobs if job.wanted}
    return results.digest(
        own,
        [asked(plan) for plan in plans],
        os.getcwd(),
        around.root,
        around.files,
        sorted(around.links.items()),
        _formatting(folders),
    )


def _plain(plan: Plan) -> bool:
    """Whether nothing is changed, compared with another state, or found by rules that are not ours."""
    if plan.changes or plan.diff or plan.known is not None or plan.since is not None:
        return False
    return all(rule.detect.__module__.partition(".")[0] == _RULES for rule in plan.rules)


def asked(plan: Plan) -> tuple[object, ...]:
    """All of a plan that findings rest on."""
    codes = [rule.code for rule in plan.rules]
    usual = None if plan.usual is None else sorted(plan.usual)
    options = plan.min_confidence, plan.min_frequency, plan.ignore, plan.whole, plan.quiet, plan.front_end, plan.unsafe
    return codes, usual, plan.options, *options


def _formatting(folders: Iterable[str]) -> list[tuple[str, bytes]]:
    """The settings of formatters for files in some folders, which the folders above may have too."""
    from transferlint.fixes import line_length  # which a run does without that goes on from the last

    found: dict[str, bytes] = {}
    pending = set(folders)
    seen: set[str] = set()
    while pending:
        folder = pending.pop()
        seen.add(folder)
        names = _names(folder)
        if not names.isdisjoint(line_length.NAMES):
            found.update((path, _bytes(path)) for path in line_length.consulted(folder) if os.path.isfile(path))
        if ".git" in names:
            found[os.path.join(folder, ".git")] = b""
        elif (above := os.path.dirname(folder)) not in seen:
            pending.add(above)
    return sorted(found.items())


def _names(folder: str) -> set[str]:
    """What is in a folder; where that may not be looked at, whatever might matter."""
    try:
        return set(os.listdir(folder))
    except PermissionError:
        from transferlint.fixes import line_length

        return {*line_length.NAMES, ".git"} if os.path.exists(os.path.join(folder, ".git")) else set(line_length.NAMES)


def with_text(outcome: Outcome) -> Outcome:
    """An outcome with the text that its findings' lines refer to, which lies in the file."""
    if not outcome.text:
        return outcome
    from transferlint.syntax.source import decode

    return late.replace(outcome, text=decode(outcome.path, _bytes(outcome.path)).text)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
