"""What crossed in hot code and has no finding."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from runtime_check import advice, phrases, uploads
from runtime_check.expressions import Expressions
from runtime_check.reasons import Reasons
from runtime_check.records import OVERFLOW, UNPLACED, Link, LinkKind, Run, SiteRecord
from transferlint.model import Direction, QuietSite, Site

_OFTEN = 10  # events from which a site counts as hot, where no steps were seen
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
KEEP = "nothing: this is as it should be"
# Reasons that a run can contradict.
_RARE = ("cold", "callers", "rare", "amortised")
_NAMED = ("handed over",)  # a queue by its name alone


@dataclasses.dataclass(frozen=True, slots=True)
class Missed:
    """A hot site without a finding. `site` is the program's own line where there is one; `own` says that there is.
    `explained` says why `check` rightly says nothing, "" where it should have: a true miss. `text` is what happened,
    `act` what to do, in one line each."""

    site: Site
    direction: Direction
    operation: str
    records: tuple[SiteRecord, ...]
    text: str
    act: str
    own: bool = True
    explained: str = ""
    blocked_ns: int = 0
    count: int = 0
    bytes: int = 0


def missed(
    run: Run,
    claimed: set[int],
    root: str,
    scale: phrases.Scale,
    quiet: Sequence[QuietSite] = (),
    source: Expressions | None = None,
) -> tuple[Missed, ...]:
    """The hot sites of a run whose records' ids are not claimed, true misses in the program's own code first, and of
    these those that blocked the host longest. `root` is the folder of the program's own code ("": everything is);
    `quiet` is what `check` says nothing of on purpose, `source` reads the program's text."""
    reasons, source = Reasons(quiet), source or Expressions()
    folder = os.path.realpath(root) if root else ""
    groups: dict[object, list[SiteRecord]] = {}
    for record in run.sites:
        if record.id not in claimed and record.crossed and record.site.path != OVERFLOW:
            groups.setdefault(_group(record, folder), []).append(record)
    often = [records for records in groups.values() if hot(records, scale.full_steps)]
    found = [_missed(run, records, folder, scale, reasons, source) for records in often]
    return tuple(sorted(found, key=lambda one: (not one.own, bool(one.explained), -one.blocked_ns, -one.count)))


def _group(record: SiteRecord, root: str) -> object:
    """What is told as one: a site; of what a library does below a line of the program's own, all of one direction."""
    if record.user is not None and _own(record.user.path, root) and not _own(record.site.path, root):
        return record.user, _library(record.site.path), record.direction
    return record.site, record.user, record.direction, record.operation


def hot(records: Sequence[SiteRecord], full_steps: int) -> bool:
    """True where a site crossed in every other step or more; outside of the steps, or without any to count by, where it
    crossed often, and no less often than there were steps. What one call of torch's moves (a module's parameters) is
    one crossing."""
    often = _OFTEN * max(record.processes for record in records)
    if full_steps < 2:
        return _executed(records) >= often
    stepped = sum(record.stepped * _share(record) for record in records)
    return stepped * 2 >= full_steps or _executed(records) - stepped >= max(often, full_steps)


def _executed(records: Sequence[SiteRecord]) -> int:
    return sum(record.executions or record.count for record in records)


def _share(record: SiteRecord) -> float:
    """Executions for each event."""
    return record.executions / record.count if record.executions and record.count else 1.0


def _missed(
    run: Run,
    records: Sequence[SiteRecord],
    root: str,
    scale: phrases.Scale,
    reasons: Reasons,
    source: Expressions,
) -> Missed:
    first = records[0]
    ids = {record.id for record in records}
    own = [site for site in (first.site, first.user) if site is not None and _own(site.path, root)]
    links = uploads.borne_out([link for link in run.links if ids & {link.first, link.second}], records)
    act, explained = advice.advise(records, links, run, source)
    if first.site.path.startswith(UNPLACED):
        explained, act = "the trace has no Python stack for it", phrases.WITH_STACKS
    elif not own:
        explained = explained or "inside a library, without a calling line in the program's own code"
    elif not _own(first.site.path, root):
        explained = f"inside {_library(first.site.path)}, which is not the program's own code"
    elif not explained:
        reason = reasons.of(first)
        if reason is not None and _stands(reason, records, links, scale.full_steps):
            explained, act = reason.reason, act if reason.kind == "new data" else KEEP
        elif reason is not None and reason.kind == "amortised":
            often = f"it ran on at least every other step, in spite of its condition ({reason.reason})"
            act = f"keep it on the device if only the device uses it, else read it less often: {often}"
        elif reason is not None and reason.kind in _RARE:
            act += f" (`check` assumed that it is rare: {reason.reason})"
        elif reason is not None and reason.kind in _NAMED:
            act += f"; pass many at once ({reason.reason})"
    return Missed(
        own[0] if own else first.site,
        first.direction,
        first.operation,
        tuple(records),
        phrases.crossed(records, scale)
        + (f"; {phrases.linked(links)}" if _worth(links) else "")
        + (f"; {phrases.one_of(records)}" if first.maybe else ""),
        act,
        bool(own),
        explained,
        sum(record.blocked.total for record in records),
        sum(record.count for record in records),
        sum(record.bytes for record in records),
    )


def _stands(reason: QuietSite, records: Sequence[SiteRecord], links: Sequence[Link], full_steps: int) -> bool:
    """Whether the reason for which `check` is quiet holds in this run. What it takes for rare did not run in every
    other step, what it takes for a program's only time did not run so often as to be looked at here, what it takes for
    another process's does not go there in every step, and what it takes for new data did not come again, nor wait where
    it was asked not to."""
    if reason.kind == "callers" and full_steps < 2:
        return False  # it ran often enough to be looked at, whoever else may call it
    if reason.kind == "rare":  # once a program
        return _executed(records) < _OFTEN * max(record.processes for record in records)
    if reason.kind in (*_RARE, *_NAMED):
        return full_steps < 2 or sum(record.steps for record in records) * 2 < full_steps
    if reason.kind != "new data":
        return True
    again = any(link.kind in (*advice.BACK, *advice.SAME) for link in links)
    return not again and not any(record.hint_ignored for record in records)


def _worth(links: Sequence[Link]) -> bool:
    return bool(links) and all(link.kind in (*advice.BACK, *advice.SAME, LinkKind.HOST_DEVICE_HOST) for link in links)


def _own(path: str, root: str) -> bool:
    if not os.path.isabs(path):  # no file here: a line of another machine's, or no line at all
        return False
    real = os.path.realpath(path)
    inside = not root or real.startswith(root.rstrip(os.sep) + os.sep) or real == root
    return inside and not any(part in real for part in _LIBRARIES)


def _library(path: str) -> str:
    """What a file belongs to, in one word: the installed package, else the file."""
    real = os.path.realpath(path)
    for part in _LIBRARIES:
        if part in real:
            return os.path.splitext(real.rpartition(part)[2].split(os.sep)[0])[0]
    return os.path.basename(real)
