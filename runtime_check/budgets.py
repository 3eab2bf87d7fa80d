"""What a run may cost: limits on waiting and on transfers a step, verdicts that fail, a baseline that only falls."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime_check import phrases
from runtime_check.records import Run, SiteRecord
from runtime_check.reports import units
from runtime_check.verdicts import Judgement, Missed, VerdictKind

FAIL_ON = (*(kind.value.replace(" ", "-") for kind in VerdictKind), "missed")
COUNTED = ("h2d", "d2h", "sync")
_VERSION = 1
_NOISE = 0.005  # of a count a step, below which two runs do not differ
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class BudgetError(Exception):
    """A budget that cannot be read, or held against this run; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What is allowed. `blocked_share` is a part of the run (0 to 1) and `blocked_ns` a time, of which at most one is
    given; `per_step` the mean count by direction, or of syncs; `fail_on` the kinds of verdict that fail, by the words
    of FAIL_ON."""

    blocked_share: float | None = None
    blocked_ns: int | None = None
    per_step: Mapping[str, float] = dataclasses.field(default_factory=dict)
    fail_on: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Baseline:
    """What a project has grown used to: mean counts a step, the fingerprints of findings that were borne out, and the
    keys of sites that were missed. `per_step` is empty where no steps were seen."""

    per_step: Mapping[str, float] = dataclasses.field(default_factory=dict)
    findings: frozenset[str] = frozenset()
    missed: frozenset[str] = frozenset()


def parse_blocked(text: str) -> Budget:
    """The budget of `--max-blocked`: "5%" of the run, or a time ("200ms"). Raises BudgetError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%|ns|us|ms|s)\s*", text)
    if found is None:
        raise BudgetError(f"--max-blocked {text}: a share of the run (5%) or a time (200ms, 1.5s)")
    number, unit = float(found[1]), found[2]
    if unit == "%":
        return Budget(blocked_share=number / 100)
    return Budget(blocked_ns=round(number * _UNITS[unit]))


def parse_per_step(texts: Sequence[str]) -> dict[str, float]:
    """The counts of `--max-per-step`: "d2h=0", or several with commas. Raises BudgetError."""
    counts: dict[str, float] = {}
    for part in (part for text in texts for part in text.split(",")):
        found = re.fullmatch(r"\s*(h2d|d2h|sync)\s*=\s*(\d+(?:\.\d*)?|\.\d+)\s*", part)
        if found is None:
            raise BudgetError(f"--max-per-step {part.strip()}: {', '.join(COUNTED)}, with a count (d2h=0)")
        counts[found[1]] = float(found[2])
    return counts


def parse_fail_on(texts: Sequence[str]) -> frozenset[str]:
    """The words of `--fail-on`: several with commas; "never" stands for none. Raises BudgetError."""
    words = {part.strip() for text in texts for part in text.split(",")} - {"", "never"}
    unknown = sorted(words - set(FAIL_ON))
    if unknown:
        raise BudgetError(f"--fail-on {unknown[0]}: {', '.join(FAIL_ON)}, never")
    return frozenset(words)


def breaches(budget: Budget, run: Run, judgement: Judgement) -> tuple[str, ...]:
    """What goes beyond a budget, in one line each. Raises BudgetError where the run cannot be held against it."""
    found = []
    if (budget.blocked_share, budget.blocked_ns) != (None, None) and phrases.untimed(
        [record for record in run.sites if record.crossed]
    ):
        raise BudgetError("--max-blocked: nothing tells how long the host was blocked; count with --max-per-step")
    if budget.blocked_share is not None:
        if judgement.share is None:
            why = (
                f"times are {run.header.times}"
                if run.header.time_source == "modelled"
                else "the run's length is not known"
            )
            raise BudgetError(f"--max-blocked: no share of the run can be told, because {why}; give a time (200ms)")
        if judgement.share > budget.blocked_share:
            allowed = units.share(budget.blocked_share)
            found.append(f"the host was blocked for {units.share(judgement.share)} of the run, allowed are {allowed}")
    if budget.blocked_ns is not None and judgement.blocked_ns > budget.blocked_ns:
        allowed = units.duration(budget.blocked_ns)
        modelled = f" ({run.header.times})" if run.header.time_source == "modelled" else ""
        took = units.duration(judgement.blocked_ns)
        found.append(f"the host was blocked for {took}{modelled}, allowed are {allowed}")
    if budget.per_step:
        now = per_step(run)
        if not now:
            raise BudgetError(
                "--max-per-step: no two steps were seen to count between; `runtime_check.step()` marks the end of one"
            )
        for name in COUNTED:
            if now[name] > budget.per_step.get(name, math.inf):
                found.append(f"{_rate(now[name])} {name} a step, allowed are {_rate(budget.per_step[name])}")
    return (*found, *_failing(budget.fail_on, judgement))


def per_step(run: Run) -> dict[str, float]:
    """The mean counts of one step, over all steps but the first, which may hold what sets up; empty without two. A
    transfer that the host waits for counts as a sync too."""
    full = run.outcome.full_steps if run.outcome is not None else 0
    if full < 1:
        return {}
    totals = dict.fromkeys(COUNTED, 0)
    for record in run.sites:
        for name in (record.direction.value, "sync" if record.sync else ""):
            if name in totals:
                totals[name] += record.stepped
    return {name: total / full for name, total in totals.items()}


def baseline_of(run: Run, judgement: Judgement, root: str = "") -> Baseline:
    """What this run would have a project grow used to; `root` is the folder that paths are kept relative to."""
    kinds = (VerdictKind.CONFIRMED, VerdictKind.PARTLY)
    return Baseline(
        # upwards, so that the run that made it passes it
        {name: math.ceil(count * 1000) / 1000 for name, count in per_step(run).items()},
        frozenset(one.finding.fingerprint for one in judgement.verdicts if one.kind in kinds),
        frozenset(_key(one, root) for one in judgement.missed if one.own and not one.explained),
    )


def compare(old: Baseline, now: Baseline) -> tuple[tuple[str, ...], Baseline]:
    """What is worse than the baseline, in one line each, and the baseline to keep: it takes over what is better, and
    never what is worse."""
    worse = []
    kept = dict(old.per_step)
    for name, count in now.per_step.items():
        before = old.per_step.get(name)
        if before is not None and count > before + _NOISE:
            worse.append(f"{_rate(count)} {name} a step, {_rate(before)} in the baseline")
        kept[name] = count if before is None else min(before, count)
    for what, new in (("confirmed finding", now.findings - old.findings), ("missed site", now.missed - old.missed)):
        worse += [f"a {what} that is not in the baseline: {one}" for one in sorted(new)]
    return tuple(worse), Baseline(kept, old.findings & now.findings, old.missed & now.missed)


def read_baseline(path: str | Path) -> Baseline:
    """Read a baseline. Raises BudgetError where the file is none, and OSError."""
    try:
        fields = json.loads(Path(path).read_bytes())
        if fields["version"] != _VERSION:
            raise BudgetError(f"{path}: a baseline of version {fields['version']}, this one reads {_VERSION}")
        counts = {str(name): float(count) for name, count in fields["per_step"].items()}
        return Baseline(counts, frozenset(map(str, fields["findings"])), frozenset(map(str, fields["missed"])))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BudgetError(f"{path}: not a baseline of `transferlint verify`") from error


def write_baseline(path: str | Path, baseline: Baseline) -> None:
    """Write a baseline, whole or not at all, in an order that makes small diffs. Raises OSError."""
    fields = {
        "version": _VERSION,
        "per_step": dict(sorted(baseline.per_step.items())),
        "findings": sorted(baseline.findings),
        "missed": sorted(baseline.missed),
    }
    beside = Path(f"{path}.new")
    beside.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    os.replace(beside, path)


def _failing(fail_on: frozenset[str], judgement: Judgement) -> list[str]:
    found = []
    for kind in VerdictKind:
        count = sum(verdict.kind is kind for verdict in judgement.verdicts)
        if kind.value.replace(" ", "-") in fail_on and count:
            found.append(f"{units.count(count, 'finding')} {kind.value}")
    true = sum(one.own and not one.explained for one in judgement.missed)
    if "missed" in fail_on and true:
        found.append(f"{units.count(true, 'hot site')} without a finding")
    return found


def _key(one: Missed, root: str) -> str:
    """Names a missed site by what survives moved lines."""
    path = one.site.path
    if root:
        path = Path(os.path.relpath(os.path.realpath(path), os.path.realpath(root))).as_posix()
    first: SiteRecord = one.records[0]
    function = first.function if first.site == one.site else ""
    return " ".join(filter(None, (path, function, one.direction.value, one.operation)))


def _rate(count: float) -> str:
    return f"{count:.3g}"
