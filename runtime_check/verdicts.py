"""Findings held against the records of a run: which were borne out, which not, and what crossed without a finding.

A verdict says for how long the host was blocked, and what share of the run that is. How much faster a program would be
without depends on how host and device overlap, which a recording does not show; so nothing here speaks of that.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence

from runtime_check import phrases
from runtime_check.claims import Claim, claim_of, ends_of, made_within, sites_of
from runtime_check.findings import FindingsError, FoundFinding, read_findings
from runtime_check.joining import RealPaths, covers, join
from runtime_check.misses import Missed, missed
from runtime_check.records import IMPORTED, UNPLACED, Executed, Link, LinkKind, Run, SiteRecord
from transferlint.model import Direction, QuietSite, Site

__all__ = [
    "FindingsError",
    "FoundFinding",
    "Judgement",
    "Missed",
    "Verdict",
    "VerdictKind",
    "judge",
    "other_ends",
    "read_findings",
]


Ran = Mapping[str, Executed]  # by real path


class VerdictKind(enum.Enum):
    """What became of a finding."""

    CONFIRMED = "confirmed"
    PARTLY = "partly"
    REFUTED = "refuted"
    NOT_REACHED = "not reached"


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """A finding held against a run. `records` are those of its site and of the sites it stands for; `count`, `bytes`
    and `blocked_ns` are their sums. `text` is what happened and `act` what to do, in one line each; `links` are what
    was seen of a round trip."""

    kind: VerdictKind
    finding: FoundFinding
    text: str
    act: str
    records: tuple[SiteRecord, ...] = ()
    blocked_ns: int = 0
    count: int = 0
    bytes: int = 0
    links: tuple[Link, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """All verdicts and misses, those that blocked the host longest first.

    `blocked_ns` is how long all that was recorded kept the host, nothing counted twice; `share` what part that is of
    the run (None where times are modelled, or the run's length is not known). `notes` say, one line each, what the
    verdicts cannot know; `unjudged` are findings of which a run cannot tell.
    """

    verdicts: tuple[Verdict, ...]
    missed: tuple[Missed, ...]
    blocked_ns: int = 0
    share: float | None = None
    notes: tuple[str, ...] = ()
    unjudged: tuple[FoundFinding, ...] = ()


def judge(
    findings: Sequence[FoundFinding],
    run: Run,
    executed: Sequence[Executed] | None = None,
    root: str = "",
    quiet: Sequence[QuietSite] = (),
) -> Judgement:
    """Hold findings against a run.

    `executed` tells what of the findings' sites ran (None: what the run itself says, if it does); `root` is
    the folder of the program's own code ("": all of it is). `quiet` is what `check` says nothing of on purpose: what
    crossed there is explained, and not missed.
    """
    told = run.executed or None if executed is None else executed
    ran = None if told is None else {one.path: one for one in told}
    scale = phrases.scale_of(run)
    joined = join(findings, run)
    verdicts, unjudged = [], []
    for finding, records in zip(findings, joined, strict=True):
        claim = claim_of(finding)
        if claim is None or (claim.framework and claim.framework not in run.header.watched):
            unjudged.append(finding)
        else:
            verdicts.append(_verdict(finding, claim, tuple(records), run, ran, scale))
    verdicts.sort(key=_rank)
    claimed = {record.id for verdict in verdicts for record in verdict.records}
    claimed |= {end for verdict in verdicts for link in verdict.links for end in (link.first, link.second)}
    claimed |= {record.id for finding in findings for record in other_ends(finding, run)}
    total = sum(record.blocked.total for record in run.sites)
    return Judgement(
        tuple(verdicts),
        missed(run, claimed, root, scale, quiet),
        total,
        scale.share(total),
        (*phrases.notes(run, lines_known=ran is not None or not findings), *phrases.unseen(unjudged, run)),
        tuple(unjudged),
    )


def _rank(verdict: Verdict) -> tuple[int, int, int, str, int]:
    order = {VerdictKind.REFUTED: 1, VerdictKind.NOT_REACHED: 2}.get(verdict.kind, 0)
    return order, -verdict.blocked_ns, -verdict.count, verdict.finding.site.path, verdict.finding.site.line


def _verdict(
    finding: FoundFinding,
    claim: Claim,
    records: tuple[SiteRecord, ...],
    run: Run,
    ran: Ran | None,
    scale: phrases.Scale,
) -> Verdict:
    if claim.manner == "needless":
        return _needless(finding, records, run, ran, scale)
    if not records:
        return _without_records(finding, claim, run, ran)
    records = tuple(record for record in records if not record.maybe) or records  # what is known says more
    links = _links(records, claim.links | claim.hints, run)
    others = other_ends(finding, run)
    kind, remark = _how(claim, records, links, others, run)
    text = phrases.crossed(records, scale) + (f"; {remark}" if remark else "")
    return Verdict(
        kind,
        finding,
        text,
        phrases.act_on(finding),
        records,
        *_sums(records),
        links,
    )


def _sums(records: Sequence[SiteRecord]) -> tuple[int, int, int]:
    """Nanoseconds blocked, events and bytes."""
    blocked = sum(record.blocked.total for record in records)
    return blocked, sum(record.count for record in records), sum(record.bytes for record in records)


def _how(
    claim: Claim, records: Sequence[SiteRecord], links: Sequence[Link], others: Sequence[SiteRecord], run: Run
) -> tuple[VerdictKind, str]:
    """Whether what crossed is what was claimed, and a remark on it."""
    if all(record.maybe for record in records):
        return VerdictKind.PARTLY, phrases.one_of(records)
    if claim.manner in ("pageable", "ignored") and all(record.unknown_memory == record.count for record in records):
        return VerdictKind.PARTLY, "whether from pinned memory the trace does not say"
    if claim.manner == "waits" and not any(record.sync for record in records):
        return VerdictKind.PARTLY, "but the host did not wait for it"
    if claim.manner == "pageable" and all(record.pinned == record.count for record in records):
        return VerdictKind.PARTLY, "but from memory that was pinned"
    if claim.manner == "ignored" and not any(record.hint_ignored for record in records):
        return VerdictKind.PARTLY, "but no `non_blocking` was ignored"
    if links or not claim.links:
        return VerdictKind.CONFIRMED, phrases.linked(links)
    if claim.ends and others:
        times = sum(record.count for record in others)
        return VerdictKind.CONFIRMED, (
            f"the other end crossed {phrases.times(times)}; that it is the same data was not seen"
        )
    if run.header.level == IMPORTED:
        return VerdictKind.PARTLY, "a trace does not follow data: `transferlint verify` does"
    if run.header.level == "guard":
        return VerdictKind.PARTLY, "level guard does not follow data: `--level trace` looks for the rest of it"
    what = "nothing was seen to cross at the other end" if claim.ends else "the same data was not seen to go again"
    return VerdictKind.PARTLY, what


def _without_records(finding: FoundFinding, claim: Claim, run: Run, ran: Ran | None) -> Verdict:
    if run.header.level == IMPORTED:
        return _in_trace(finding, claim, run, ran)
    if ran is None:
        text = "no transfer was recorded here; which lines ran was not"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.REACH)
    sites = [site for site in sites_of(finding, claim) if _line_ran(site, ran)]
    if not sites:
        told = ran.get(finding.site.path)
        text = "the line did not run" if told is None or told.started else phrases.NEVER_IMPORTED
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.REACH)
    if all(_skipped(site, ran) for site in sites):
        text = "the line ran, but this expression never did: what it depends on did not let it"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.REACH)
    if others := _of_some_caller(finding, claim, run):
        often = phrases.times(others)
        text = f"the line ran; what it calls crossed {often}, but by which call is known of the first alone"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.ALONE)
    there = _no_ops(finding, run)
    times = phrases.times(sum(record.count for record in there))
    text = f"it ran {times}, and the value was there already" if there else "the line ran and nothing crossed"
    return Verdict(VerdictKind.REFUTED, finding, text, phrases.quiet(finding), there)


def _in_trace(finding: FoundFinding, claim: Claim, run: Run, ran: Ran | None) -> Verdict:
    """Of a finding that nothing in a trace is known to belong to. It is refuted where the trace shows that the
    expression itself ran; what has no stack may be anybody's."""
    sites = sites_of(finding, claim)
    if ran is not None and any(_line_ran(site, ran) and not _skipped(site, ran) for site in sites):
        text = "the trace shows that it ran, and nothing crossed"
        return Verdict(VerdictKind.REFUTED, finding, text, phrases.quiet(finding))
    unplaced = [one for one in run.sites if one.site.path.startswith(UNPLACED) and claim.bears_out(one)]
    named = [one for one in unplaced if claim.operation in ("", one.operation)]
    nameless = [one for one in unplaced if "::" not in one.operation and one.direction is not Direction.NONE]
    if (named or nameless) and (claim.operation or len(claim.directions) == 1):
        how = f"by {'operator' if named else 'direction'}, without stacks: may be another call site"
        text = f"{phrases.crossed(named or nameless, phrases.scale_of(run))}; {how}"
        return Verdict(VerdictKind.PARTLY, finding, text, phrases.WITH_STACKS)
    if ran is None:
        text = "nothing of its kind crossed in the trace, whose lines are not known"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.WITH_STACKS)
    return Verdict(VerdictKind.NOT_REACHED, finding, "the trace does not show that it ran", phrases.REACH)


def _needless(
    finding: FoundFinding,
    records: tuple[SiteRecord, ...],
    run: Run,
    ran: Ran | None,
    scale: phrases.Scale,
) -> Verdict:
    """A finding that says that nothing crosses is borne out by a line that ran and moved nothing; what moves within the
    expression, before its own move, does not count."""
    end = finding.site.end_line, finding.site.end_column
    records = tuple(one for one in records if not one.maybe)
    records = tuple(one for one in records if not one.site.column or (one.site.end_line, one.site.end_column) == end)
    if records:
        text = f"{phrases.crossed(records, scale)}; so the move is not needless"
        return Verdict(VerdictKind.REFUTED, finding, text, phrases.needed(finding), records, *_sums(records))
    plain = _without_records(finding, Claim(), run, ran)
    if plain.kind is not VerdictKind.REFUTED:
        return plain
    return dataclasses.replace(plain, kind=VerdictKind.CONFIRMED, act=phrases.act_on(finding))


def _line_ran(site: Site, ran: Ran) -> bool:
    lines = frozenset(ran[site.path].lines if site.path in ran else ())
    return any(number in lines for number in range(site.line, site.end_line + 1))


def _skipped(site: Site, ran: Ran) -> bool:
    """Whether a site lies in an expression that may not run although its line does, and did not."""
    told, start = ran[site.path], (site.line, site.column)
    return start in told.decided and start not in told.evaluated


def _links(records: Sequence[SiteRecord], kinds: frozenset[LinkKind], run: Run) -> tuple[Link, ...]:
    ids = {record.id for record in records}
    return tuple(link for link in run.links if link.kind in kinds and ids & {link.first, link.second})


def other_ends(finding: FoundFinding, run: Run) -> list[SiteRecord]:
    """The records at the other end of the round trip that a finding claims."""
    claim, real = claim_of(finding), RealPaths()
    ends = ends_of(finding, claim) if claim else ()
    return [
        record
        for record in (run.sites if claim and ends else ())
        if claim and record.direction is claim.back and any(covers(real.of(record.site), end) for end in ends)
    ]


def _of_some_caller(finding: FoundFinding, claim: Claim, run: Run) -> int:
    """How often what a finding's call is reported for crossed, where not all the callers are known: a record keeps the
    chain of its first event."""
    places, real = made_within(finding), RealPaths()
    return sum(
        record.count
        for record in (run.sites if places else ())
        if record.count > 1 and claim.bears_out(record) and any(covers(real.of(record.site), one) for one in places)
    )


def _no_ops(finding: FoundFinding, run: Run) -> tuple[SiteRecord, ...]:
    """The moves at the finding's site that crossed nothing."""
    idle = [record for record in run.sites if not record.crossed and record.direction is Direction.NONE]
    real = RealPaths() if idle else None
    return tuple(record for record in idle if real and covers(real.of(record.site), finding.site))
