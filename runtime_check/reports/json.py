"""Everything, as one JSON object. Keys are only ever added; times are nanoseconds, and `time_source` says whose."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from runtime_check.reports.shown import Shown, spread, verdict_kinds
from runtime_check.verdicts import Missed, Verdict
from transferlint import escaping
from transferlint.model import Site


def render(shown: Shown) -> str:
    """The report as JSON, indented, in ASCII."""
    run, judgement = shown.run, shown.judgement
    whole = {
        "version": shown.version,
        "time_source": run.header.time_source,
        "time_model": run.header.model,
        "header": _plain(run.header),
        "outcome": _plain(run.outcome),
        "blocked_ns": judgement.blocked_ns,
        "blocked_range_ns": spread(shown),
        "blocked_share": judgement.share,
        "summary": {kind.replace(" ", "_"): number for kind, number in verdict_kinds(shown).items()},
        "verdicts": [_verdict(shown, one) for one in judgement.verdicts],
        "missed": [_missed(shown, one) for one in judgement.missed],
        "links": [_plain(one) for one in run.links],
        "sites": [_plain(one) for one in run.sites],
        "profiles": [_plain(one) for one in run.profiles],
        "lines": [_plain(one) for one in run.counted],
        "notes": list(judgement.notes),
        "failures": list(shown.failures),
        "problems": list(shown.problems),
    }
    return escaping.data(json.dumps(whole, indent=2, default=lambda value: value.value)) + "\n"


def _verdict(shown: Shown, one: Verdict) -> dict[str, Any]:
    finding = one.finding
    return {
        "verdict": one.kind.value,
        **_site(shown, finding.site),
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "fingerprint": finding.fingerprint,
        **_numbers(one),
        "sites": [record.id for record in one.records],
    }


def _missed(shown: Shown, one: Missed) -> dict[str, Any]:
    return {
        **_site(shown, one.site),
        "direction": one.direction.value,
        "operation": one.operation,
        "own": one.own,
        "explained": one.explained,
        **_numbers(one),
        "sites": [record.id for record in one.records],
    }


def _numbers(one: Verdict | Missed) -> dict[str, Any]:
    return {"count": one.count, "bytes": one.bytes, "blocked_ns": one.blocked_ns, "text": one.text, "act": one.act}


def _site(shown: Shown, site: Site) -> dict[str, Any]:
    return {**dataclasses.asdict(site), "path": shown.path(site.path)}


def _plain(value: Any) -> Any:
    return None if value is None else dataclasses.asdict(value)
