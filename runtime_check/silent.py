"""Verdicts on findings to which no record belongs: the line did not run, or it ran and nothing crossed; and on moves
that are said to be needless, which is borne out by just that."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from runtime_check import phrases
from runtime_check.claims import Claim, made_within, sites_of
from runtime_check.findings import FoundFinding
from runtime_check.joining import RealPaths, covers
from runtime_check.judgements import Verdict, VerdictKind, sums
from runtime_check.records import IMPORTED, UNPLACED, Executed, Run, SiteRecord
from transferlint.model import Direction, Site

Ran = Mapping[str, Executed]  # by real path


def without_records(finding: FoundFinding, claim: Claim, run: Run, ran: Ran | None) -> Verdict:
    if run.header.level == IMPORTED:
        return _in_trace(finding, claim, run, ran)
    if ran is None:
        text = "no transfer was recorded here, and it was not recorded which lines ran"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.REACH)
    sites = [site for site in sites_of(finding) if _line_ran(site, ran)]
    if not sites:
        told = ran.get(finding.site.path)
        text = "the line did not run" if told is None or told.started else phrases.NEVER_IMPORTED
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.REACH)
    if all(skipped(site, ran) for site in sites):
        text = "the line ran, but this expression was never evaluated"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.REACH)
    if others := _of_some_caller(finding, claim, run):
        often = phrases.times(others)
        text = f"the line ran; what it calls transferred {often}, but only the caller of the first transfer is known"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.ALONE)
    there = _no_ops(finding, run)
    times = phrases.times(sum(record.count for record in there))
    text = f"it ran {times}, and the value was already there" if there else "the line ran without a transfer"
    return Verdict(VerdictKind.REFUTED, finding, text, phrases.quiet(finding), there)


def _in_trace(finding: FoundFinding, claim: Claim, run: Run, ran: Ran | None) -> Verdict:
    """Of a finding that nothing in a trace is known to belong to. It is refuted where the trace shows that the
    expression itself ran; what has no stack may be anybody's."""
    sites = sites_of(finding)
    if ran is not None and any(_line_ran(site, ran) and not skipped(site, ran) for site in sites):
        text = "the trace shows that it ran without a transfer"
        return Verdict(VerdictKind.REFUTED, finding, text, phrases.quiet(finding))
    unplaced = [one for one in run.sites if one.site.path.startswith(UNPLACED) and claim.bears_out(one)]
    named = [one for one in unplaced if claim.operation in ("", one.operation)]
    nameless = [one for one in unplaced if "::" not in one.operation and one.direction is not Direction.NONE]
    if (named or nameless) and (claim.operation or len(claim.directions) == 1):
        how = f"by {'operator' if named else 'direction'}, without stacks: may be another call site"
        text = f"{phrases.crossed(named or nameless, phrases.scale_of(run))}; {how}"
        return Verdict(VerdictKind.PARTLY, finding, text, phrases.WITH_STACKS)
    if ran is None:
        text = "the trace has no such transfer, and does not show which lines ran"
        return Verdict(VerdictKind.NOT_REACHED, finding, text, phrases.WITH_STACKS)
    return Verdict(VerdictKind.NOT_REACHED, finding, "the trace does not show that it ran", phrases.REACH)


def needless(
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
        text = f"{phrases.crossed(records, scale)}; so the move is not redundant"
        return Verdict(VerdictKind.REFUTED, finding, text, phrases.needed(finding), records, *sums(records))
    plain = without_records(finding, Claim(), run, ran)
    if plain.kind is not VerdictKind.REFUTED:
        return plain
    return dataclasses.replace(plain, kind=VerdictKind.CONFIRMED, act=phrases.act_on(finding))


def _line_ran(site: Site, ran: Ran) -> bool:
    lines = frozenset(ran[site.path].lines if site.path in ran else ())
    return any(number in lines for number in range(site.line, site.end_line + 1))


def skipped(site: Site, ran: Ran) -> bool:
    """Whether a site lies in an expression that may not run although its line does, and did not."""
    told, start = ran[site.path], (site.line, site.column)
    return start in told.decided and start not in told.evaluated


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
