"""Why `check` says nothing of a place, found for what a run recorded there."""

from __future__ import annotations

from collections.abc import Sequence

from runtime_check.joining import RealPaths, within
from runtime_check.records import SiteRecord
from transferlint.model import Direction, QuietSite, Site

_SAID = ("suppressed", "baseline")  # somebody's decision, which comes before what the analysis makes of the place


class Reasons:
    """The transfers that `check --quiet-sites` lists, by file."""

    def __init__(self, quiet: Sequence[QuietSite]) -> None:
        self._by_path: dict[str, list[QuietSite]] = {}
        for one in sorted(quiet, key=lambda one: one.kind not in _SAID):
            self._by_path.setdefault(one.site.path, []).append(one)
        self._real = RealPaths()

    def of(self, record: SiteRecord) -> QuietSite | None:
        """The reason for a record's own line or the program's above it, or that of a caller whose whole call is quiet;
        None where there is none. Of a record of which the expression is not known, all that it may be are quiet."""
        if record.maybe:
            reasons = [self._at(self._real.of(site), record.direction) for site in record.maybe]
            return reasons[0] if all(reasons) else None
        for caller, site in enumerate(filter(None, (record.site, record.user, *record.chain))):
            placed = self._real.of(site)
            exact = caller > (record.user is not None)
            for one in self._by_path.get(placed.path, ()):
                there = placed == one.site if exact else within(placed, one.site)
                if there and _may_be(one.direction, record.direction) and (not exact or site.column):
                    return one
        return None

    def _at(self, place: Site, direction: Direction) -> QuietSite | None:
        near = self._by_path.get(place.path, ())
        return next((one for one in near if within(place, one.site) and _may_be(one.direction, direction)), None)


def _may_be(said: Direction | None, seen: Direction) -> bool:
    """Whether a transfer that was said to go one way can be the one that was seen: reads are syncs, too."""
    return said is None or said is seen or (Direction.H2D not in (said, seen))
