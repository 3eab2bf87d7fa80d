"""Limits on what may cross: checked when they are given, and told with the lines when they are exceeded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime_check.records import SiteRecord
from runtime_check.totals import Totals
from runtime_check.watching import describe

NAMES = ("h2d", "d2h", "sync")
_LINES = 20


class TransferLimitExceeded(RuntimeError):
    """Something transferred or waited more often than it may. The first line says what, the others say where."""


def wrong(limits: Mapping[str, object]) -> str:
    """What is wrong with limits by name (None: no limit); "" where nothing is."""
    unknown = [name for name in limits if name not in NAMES]
    if unknown:
        return f"unknown {', '.join(unknown)}"
    bad = [
        f"{name}={value!r}"
        for name, value in limits.items()
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0)
    ]
    return f"{', '.join(bad)}: a number of transfers, 0 or more" if bad else ""


def checked(limits: Mapping[str, int | None]) -> Mapping[str, int]:
    """The limits that were given. Raises ValueError for what is none."""
    if said := wrong(limits):
        raise ValueError(said)
    return {name: most for name, most in limits.items() if most is not None}


def exceeded(limits: Mapping[str, int], totals: Totals) -> Mapping[str, int]:
    """Those of the limits that were exceeded."""
    return {name: most for name, most in limits.items() if getattr(totals, name) > most}


def message(what: str, over: Mapping[str, int], totals: Totals, records: Iterable[SiteRecord]) -> str:
    """`what` in the first line with the exceeded limits, then a line for each site, the most frequent first."""
    parts = [f"{name} {getattr(totals, name)}, limit {most}" for name, most in over.items()]
    concerned = [
        record
        for record in sorted(records, key=lambda record: -record.count)
        if record.direction.value in over or ("sync" in over and record.sync)
    ]
    shown = [f"  {describe(record)}" for record in concerned[:_LINES]]
    more = [f"  ... and {len(concerned) - _LINES} more lines"] if len(concerned) > _LINES else []
    return "\n".join([f"{what}: {'; '.join(parts)}", *shown, *more])
