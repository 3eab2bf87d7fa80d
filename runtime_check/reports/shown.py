"""What every form of the report gets: the run, what was made of it, and the text of the lines that it names."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime_check import cost, phrases
from runtime_check.records import IMPORTED, Run, SiteRecord
from runtime_check.reports.units import count, duration, share, size
from runtime_check.verdicts import Judgement, Missed, Verdict
from transferlint.model import Direction, Site


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """`judgement` is of `run`; `failures` are budgets and verdicts that failed, `problems` what could not be done, one
    line each; `folder` is the absolute folder that paths are shown relative to; `texts` the files by path, as far as
    they could be read; `version` is transferlint's."""

    run: Run
    judgement: Judgement
    folder: str
    texts: Mapping[str, Sequence[str]]
    failures: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    version: str = ""

    def path(self, path: str) -> str:
        """A path as it is shown."""
        inside = path.startswith(self.folder.rstrip(os.sep) + os.sep)
        return os.path.relpath(path, self.folder) if inside else path

    def place(self, site: Site) -> str:
        """ "train.py:31:18"."""
        if not site.line:
            return site.path
        column = f":{site.column}" if site.column else ""
        return f"{self.path(site.path)}:{site.line}{column}"

    def source(self, site: Site) -> str:
        """The line of a site without its indentation; "" where it is not to be had."""
        lines = self.texts.get(site.path, ())
        return lines[site.line - 1].strip() if 1 <= site.line <= len(lines) else ""

    @property
    def modelled(self) -> bool:
        """Whether times come from a model."""
        return self.run.header.time_source == "modelled"

    @property
    def misses(self) -> tuple[Missed, ...]:
        """What `check` should have found."""
        return tuple(one for one in self.judgement.missed if one.own and not one.explained)

    @property
    def explained(self) -> tuple[Missed, ...]:
        """What crossed in hot code, where it is right to say nothing."""
        return tuple(one for one in self.judgement.missed if not one.own or one.explained)


def of(run: Run, judgement: Judgement, folder: str, **more: tuple[str, ...] | str) -> Shown:
    """What is shown of a run: reads the files it names."""
    paths = {site.path for record in run.sites for site in (record.site, record.user, *record.chain[:1]) if site}
    paths |= {verdict.finding.site.path for verdict in judgement.verdicts}
    texts = {}
    for path in sorted(paths):
        try:
            texts[path] = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
    return Shown(run, judgement, folder, texts, **more)  # type: ignore[arg-type]


def blocked(shown: Shown) -> str:
    """ "1.38 ms (modelled; 0.1 % of what the run took here)", "1.38 ms, 4.1 % of the run (measured)": how long
    everything kept the host. A modelled time is held against the clock too, which ran on this machine and not on a
    device."""
    time, source = duration(shown.judgement.blocked_ns), source_of(shown)
    if shown.judgement.share is not None:
        return f"{time}, {share(shown.judgement.share)} of the run ({source})"
    whole = shown.run.outcome.processes if shown.run.outcome is not None else 0
    if not whole:
        return f"{time} ({source})"
    held = f"the run took {duration(whole)} here, of which that is {share(shown.judgement.blocked_ns / whole)}"
    return f"{time} ({source}; {held})"


def source_of(shown: Shown) -> str:
    """ "measured", "modelled by a100, half of such copies took 1.2 ms to 1.7 ms": whose the times are, and for modelled
    ones their spread."""
    between = spread(shown)
    if between is None:
        return shown.run.header.times
    low, high = (duration(time) for time in between)
    return f"{shown.run.header.times}, by its quartiles {low} to {high}"


def spread(shown: Shown) -> tuple[int, int] | None:
    """The quartiles of all waiting by the model that it comes from, in nanoseconds; None where it does not come from
    one that is known here, or where nothing waits."""
    if not shown.run.header.model or not shown.judgement.blocked_ns:
        return None
    try:
        return cost.named(shown.run.header.model).between(shown.run.sites)
    except cost.CostError:
        return None


def totals(records: Sequence[SiteRecord]) -> list[tuple[str, int, int]]:
    """(what, events, bytes) of h2d, d2h and the syncs that moved nothing; d2d, between two devices, where there is
    any."""
    kinds = [("h2d", Direction.H2D), ("d2h", Direction.D2H), ("sync", Direction.NONE)]
    if any(one.direction is Direction.D2D for one in records):
        kinds.insert(2, ("d2d", Direction.D2D))
    found = []
    for name, direction in kinds:
        group = [one for one in records if one.direction is direction and (one.crossed or direction is Direction.D2D)]
        found.append((name, sum(one.count for one in group), sum(one.bytes for one in group)))
    return found


def headline(shown: Shown) -> str:
    """One line: where it ran, how it ended, for how long, what crossed, and how long the host was blocked."""
    header, outcome = shown.run.header, shown.run.outcome
    how = "a trace of it" if header.level == IMPORTED else f"level {header.level}"
    parts = [f"{' '.join(header.program)} on {header.device or 'the device'} ({how})"]
    if outcome is not None and outcome.status:
        parts.append(phrases.ended(outcome.status))
    if header.ranks > 1:
        parts.append(count(header.ranks, "rank"))
    if outcome is not None:
        parts.append((f"{count(outcome.steps, 'step')} in " if outcome.steps else "") + duration(outcome.duration))
    crossed = [
        f"{number:,} {name}" + (f" ({size(moved)})" if moved else "")
        for name, number, moved in totals(shown.run.sites)
        if number
    ]
    cut = outcome is not None and (outcome.status or 0) < 0 and not outcome.events
    parts.append(", ".join(crossed) or ("nothing had been written down" if cut else "nothing crossed"))
    no_time = phrases.untimed([one for one in shown.run.sites if one.crossed])
    parts.append(phrases.NO_TIME if no_time else f"the host was blocked for {blocked(shown)}")
    return " · ".join(parts)


def verdict_kinds(shown: Shown) -> dict[str, int]:
    """How many of each kind of verdict there are, and of misses."""
    kinds = dict.fromkeys(("confirmed", "partly", "refuted", "not reached"), 0)
    for verdict in shown.judgement.verdicts:
        kinds[verdict.kind.value] += 1
    return {**kinds, "missed": len(shown.misses)}


def columns(one: Verdict | Missed) -> tuple[str, str, str]:
    """Events, bytes and blocked time of a verdict or a miss, "" where there is nothing."""
    return (
        f"{one.count:,}" if one.count else "",
        size(one.bytes) if one.bytes else "",
        duration(one.blocked_ns) if one.blocked_ns else "",
    )
