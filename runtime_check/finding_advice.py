"""What a run adds to what a finding says: which of its places crossed, how often at all, and what to do about data of
which the run knows more than the source shows."""

from __future__ import annotations

from collections.abc import Sequence

from runtime_check import advice, library_advice, phrases, uploads
from runtime_check.claims import Claim, sites_of
from runtime_check.expressions import Expressions, Origin
from runtime_check.findings import FoundFinding
from runtime_check.joining import RealPaths, covers
from runtime_check.records import Run, SiteRecord
from runtime_check.silent import Ran, skipped
from transferlint.model import Direction, Site

_OFTEN = 10  # crossings from which a site without steps is taken for what runs in a loop
_NUMBER = 8  # bytes of a number: the device can be told to fill it in, whatever it is
_OF_HOST_DATA = ("TL104", "TL401")  # their help is for data that may be the same each time, or may not


def act_on(finding: FoundFinding, records: Sequence[SiteRecord], run: Run, source: Expressions) -> str:
    """What to do about a finding that was borne out: its own help, or what is known better here."""
    if finding.code in _OF_HOST_DATA:
        return _of_upload(finding, records, run, source) or phrases.act_on(finding)
    ids = {record.id for record in records}
    if told := advice.unchanged(records, [link for link in run.links if link.second in ids], run):
        return told
    if size := next((size for one in records if (size := library_advice.size_argument(one, source))), ""):
        return f"pass {size} if it is known"
    return phrases.act_on(finding)


def seldom(finding: FoundFinding, records: Sequence[SiteRecord], run: Run, full_steps: int) -> str:
    """That what is said to cross in every step did not, in a run without steps: it crossed a few times, where another
    line crossed ten times as often. "" where it may have."""
    if not finding.hot or full_steps >= 2:
        return ""
    times = _executions(records)
    most = max(map(_executions, _by_line(run).values()), default=0)
    if times >= _OFTEN or times * _OFTEN > most:
        return ""
    return f"not per step: another line transferred {phrases.times(most)}"


def where_it_crossed(
    finding: FoundFinding, claim: Claim, records: Sequence[SiteRecord], ran: Ran | None, source: Expressions
) -> str:
    """Which of a finding's places crossed, where the one that it stands at did not: "`x.tolist()` at 151:55 crossed,
    `x.item()` never ran"."""
    own, *others = sites_of(finding)
    real = RealPaths()
    placed = [real.of(site) for one in records for site in (one.site, one.user, *one.chain) if site is not None]
    if not others or not own.column or not all(one.site.column for one in records):
        return ""
    if any(covers(site, own) for site in placed):
        return ""
    crossed = [site for site in others if any(covers(one, site) for one in placed)]
    if not crossed:
        return ""
    here = source.text(own) or "it"
    never = ran is not None and own.path in ran and skipped(own, ran)
    there = ", ".join(f"{_quoted(source.text(site))}at {site.line}:{site.column}" for site in crossed[:3])
    return f"transferred {there}; `{here}` {'never ran' if never else 'did not transfer'}"


def _of_upload(finding: FoundFinding, records: Sequence[SiteRecord], run: Run, source: Expressions) -> str:
    ids = {record.id for record in records}
    links = [link for link in run.links if link.second in ids]
    origins = {source.origin(record.user or record.site) for record in records}
    if origins & {Origin.FILL} or any(record.direction is not Direction.H2D for record in records):
        return ""
    if uploads.the_same(records, links, source):
        return uploads.once(records, source)
    count, size = sum(record.count for record in records), sum(record.bytes for record in records)
    if origins != {Origin.MADE} or size <= _NUMBER * count or count < _OFTEN:
        return ""
    beside = uploads.beside_it(records, run, source)
    one = f" in one copy together with the upload {beside}," if beside else ""
    way = f"{one} {uploads.without_waiting(records)}"
    return f"new data nearly every time: keep its source on the device, or upload it{way}{uploads.saving(records, run)}"


def _by_line(run: Run) -> dict[tuple[str, int], list[SiteRecord]]:
    found: dict[tuple[str, int], list[SiteRecord]] = {}
    for record in run.sites:
        if record.crossed:
            own: Site = record.user or record.site
            found.setdefault((own.path, own.line), []).append(record)
    return found


def _executions(records: Sequence[SiteRecord]) -> int:
    return sum(record.executions or record.count for record in records)


def _quoted(text: str) -> str:
    return f"`{text}` " if text else ""
