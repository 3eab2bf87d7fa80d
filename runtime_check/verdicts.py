"""Findings held against the records of a run: which were borne out, which not, and what crossed without a finding.

A verdict says for how long the host was blocked, and what share of the run that is. How much faster a program would be
without depends on how host and device overlap, which a recording does not show; so nothing here speaks of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime_check import finding_advice, phrases, uploads
from runtime_check.claims import Claim, claim_of, ends_of
from runtime_check.expressions import Expressions
from runtime_check.findings import FindingsError, FoundFinding, read_findings
from runtime_check.joining import RealPaths, covers, join
from runtime_check.judgements import Judgement, Verdict, VerdictKind, sums
from runtime_check.misses import Missed, missed
from runtime_check.records import IMPORTED, Executed, Link, LinkKind, Run, SiteRecord
from runtime_check.silent import Ran, needless, without_records
from transferlint.model import QuietSite

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
    scale, source = phrases.scale_of(run), Expressions()
    joined = join(findings, run)
    verdicts, unjudged = [], []
    for finding, records in zip(findings, joined, strict=True):
        claim = claim_of(finding)
        if claim is None or (claim.framework and claim.framework not in run.header.watched):
            unjudged.append(finding)
        else:
            verdicts.append(_verdict(finding, claim, tuple(records), run, ran, scale, source))
    verdicts.sort(key=_rank)
    claimed = {record.id for verdict in verdicts for record in verdict.records}
    claimed |= {end for verdict in verdicts for link in verdict.links for end in (link.first, link.second)}
    claimed |= {record.id for finding in findings for record in other_ends(finding, run)}
    total = sum(record.blocked.total for record in run.sites)
    return Judgement(
        tuple(verdicts),
        missed(run, claimed, root, scale, quiet, source),
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
    source: Expressions,
) -> Verdict:
    if claim.manner == "needless":
        return needless(finding, records, run, ran, scale)
    if not records:
        return without_records(finding, claim, run, ran)
    records = tuple(record for record in records if not record.maybe) or records  # what is known says more
    links = _links(records, claim.links | claim.hints, run)
    others = other_ends(finding, run)
    kind, remark = _how(claim, records, links, others, run)
    act = finding_advice.act_on(finding, records, run, source)
    remarks = [remark, finding_advice.where_it_crossed(finding, claim, records, ran, source)]
    if seldom := finding_advice.seldom(finding, records, run, scale.full_steps):
        kind, act = VerdictKind.PARTLY, "nothing, if it transfers as rarely as here"
        remarks.append(seldom)
    text = "; ".join([phrases.crossed(records, scale), *filter(None, remarks)])
    return Verdict(kind, finding, text, act, records, *sums(records), links)


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
        return VerdictKind.PARTLY, "but from pinned memory, or so little that the host was hardly kept"
    if links or not claim.links:
        return VerdictKind.CONFIRMED, phrases.linked(links)
    if claim.returns and others:
        times = sum(record.count for record in others)
        return VerdictKind.CONFIRMED, (
            f"the other end crossed {phrases.times(times)}; that it is the same data was not seen"
        )
    if run.header.level == IMPORTED:
        return VerdictKind.PARTLY, "a trace does not track data: `transferlint verify` does"
    if run.header.level == "guard":
        return VerdictKind.PARTLY, "level guard does not track data: use `--level trace`"
    if claim.returns:
        return VerdictKind.PARTLY, "no transfer was seen at the other end"
    return VerdictKind.PARTLY, "the same data was not seen to be transferred again"


def _links(records: Sequence[SiteRecord], kinds: frozenset[LinkKind], run: Run) -> tuple[Link, ...]:
    ids = {record.id for record in records}
    found = [link for link in run.links if link.kind in kinds and ids & {link.first, link.second}]
    return uploads.borne_out(found, records)


def other_ends(finding: FoundFinding, run: Run) -> list[SiteRecord]:
    """The records at the other end of the round trip that a finding claims."""
    claim, real = claim_of(finding), RealPaths()
    ends = ends_of(finding) if claim else ()
    return [
        record
        for record in (run.sites if claim and ends else ())
        if claim and record.direction is claim.back and any(covers(real.of(record.site), end) for end in ends)
    ]
