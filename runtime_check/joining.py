"""Which records belong to which finding: by file, lines and, where a record has them, columns."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence

from runtime_check.claims import claim_of, sites_of
from runtime_check.findings import FoundFinding
from runtime_check.records import Run, SiteRecord
from transferlint.model import Site

_FAR = 1 << 30  # a column after every other


def join(findings: Sequence[FoundFinding], run: Run) -> list[list[SiteRecord]]:
    """For each finding the records that bear it out, of its own site and of those that it stands for.

    A record belongs to every finding that its site lies within; where there is none, to those whose site lies within
    its own or crosses it. It is taken at the program's own line where the nearest line outside torch is a library's
    without a finding; and, last, at a caller whose call is what a finding is about (a function that wraps a read). A
    record without columns belongs to the line's findings of its direction, and of these to those that are about its
    operation, if there are any.
    """
    joined: list[list[SiteRecord]] = [[] for _ in findings]
    by_path: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        claim = claim_of(finding)
        for path in {site.path for site in sites_of(finding)} if claim else ():
            by_path.setdefault(path, []).append(number)
    real = RealPaths()
    formatted = Formatted() if run.header.python.startswith("3.11.") else None
    for record in run.sites:
        if record.maybe:
            for number in _of_any(findings, by_path, record, real):
                joined[number].append(record)
            continue
        chosen: Sequence[int] = ()
        for caller, site in enumerate(filter(None, (record.site, record.user, *record.chain))):
            placed = real.of(site)
            near = [number for number in by_path.get(placed.path, ()) if _bears(findings[number], record)]
            if caller > (record.user is not None):
                chosen = [number for number in near if site.column and placed in _sites(findings[number])]
            else:
                columns = formatted is None or not near or not formatted.around(placed)
                chosen = _choose(findings, near, placed, record.operation, columns)
            if chosen:
                break
        for number in chosen:
            joined[number].append(record)
    return joined


class RealPaths:
    """Sites with their real paths, each path looked up once."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def of(self, site: Site) -> Site:
        """The same stretch of the file that its path leads to."""
        real = self._real.get(site.path)
        if real is None:
            real = self._real[site.path] = os.path.realpath(site.path)
        return Site(real, site.line, site.column, site.end_line, site.end_column)


class Formatted:
    """The lines of f-strings, within which Python 3.11 gives expressions the wrong columns."""

    def __init__(self) -> None:
        self._lines: dict[str, frozenset[int]] = {}

    def around(self, site: Site) -> bool:
        """True where a site is on a line of one, or in a file that cannot be read."""
        if site.path not in self._lines:
            self._lines[site.path] = _formatted(site.path)
        lines = self._lines[site.path]
        return not lines or site.line in lines


def _formatted(path: str) -> frozenset[int]:
    """The lines of the f-strings in a file, and 0; none where it cannot be read."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return frozenset()
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))
    return frozenset({0}.union(*(range(one.lineno, (one.end_lineno or one.lineno) + 1) for one in texts)))


def covers(site: Site, other: Site) -> bool:
    """True where two sites of the same file have something in common, as far as their columns are known."""
    if site.path != other.path or site.end_line < other.line or other.end_line < site.line:
        return False
    if not site.column or not other.column:
        return True
    return _start(site) < _end(other) and _start(other) < _end(site)


def _bears(finding: FoundFinding, record: SiteRecord) -> bool:
    claim = claim_of(finding)
    return claim is not None and claim.bears_out(record)


def _of_any(
    findings: Sequence[FoundFinding], by_path: dict[str, list[int]], record: SiteRecord, real: RealPaths
) -> list[int]:
    """The findings that a record may belong to, of which the expression is not known."""
    places = [real.of(site) for site in record.maybe]
    near = dict.fromkeys(number for place in places for number in by_path.get(place.path, ()))
    return [
        number
        for number in near
        if _bears(findings[number], record)
        and any(covers(place, site) for place in places for site in _sites(findings[number]))
    ]


def _choose(
    findings: Sequence[FoundFinding], near: Sequence[int], site: Site, operation: str, columns: bool
) -> Sequence[int]:
    places = {number: _sites(findings[number]) for number in near}
    if site.column:
        inside = [number for number in near if any(within(site, place) for place in places[number])]
        if inside:
            # A jump of a conditional expression has the columns of all of it: its test, with a finding, lies within.
            held = [n for n in near if n not in inside and any(within(place, site) for place in places[n])]
            about = [number for number in held if _about(findings[number], operation)]
            return inside if any(_about(findings[n], operation) for n in inside) else about or inside
        crossing = [number for number in near if any(covers(site, place) for place in places[number])]
        if crossing or columns:
            return crossing
    line = Site(site.path, site.line, 0, site.end_line, 0)
    on_line = [number for number in near if any(covers(line, place) for place in places[number])]
    about = [number for number in on_line if _about(findings[number], operation)]
    return about or on_line


def _sites(finding: FoundFinding) -> tuple[Site, ...]:
    claim = claim_of(finding)
    return () if claim is None else sites_of(finding)


def _about(finding: FoundFinding, operation: str) -> bool:
    claim = claim_of(finding)
    return claim is not None and claim.names(operation)


def within(inner: Site, outer: Site) -> bool:
    """True where a site lies in another, as far as their columns are known."""
    if not inner.column:
        return covers(inner, outer)
    return inner.path == outer.path and _start(outer) <= _start(inner) and _end(inner) <= _end(outer)


def _start(site: Site) -> tuple[int, int]:
    return site.line, site.column


def _end(site: Site) -> tuple[int, int]:
    return site.end_line, site.end_column or _FAR
