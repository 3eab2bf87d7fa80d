"""What a run says of findings, as values."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from runtime_check.findings import FoundFinding
from runtime_check.misses import Missed
from runtime_check.records import Link, SiteRecord


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


def sums(records: Sequence[SiteRecord]) -> tuple[int, int, int]:
    """Nanoseconds blocked, events and bytes."""
    blocked = sum(record.blocked.total for record in records)
    return blocked, sum(record.count for record in records), sum(record.bytes for record in records)
