"""The outcomes as a table for people and as data."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

from runtime_check.conformance.known import KNOWN
from runtime_check.conformance.running import AGREE, DISAGREE, NOT_CALLED, Outcome, unlike


def counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many outcomes of each verdict."""
    found = collections.Counter(one.verdict for one in outcomes)
    return {verdict: found[verdict] for verdict in (AGREE, DISAGREE, NOT_CALLED)}


def unexpected(outcomes: Sequence[Outcome], simulated: bool) -> list[Outcome]:
    """The disagreements that are not known ones of the simulated device."""
    return [one for one in outcomes if one.verdict == DISAGREE and not (simulated and one.call.name in KNOWN)]


def data(outcomes: Sequence[Outcome], about: Mapping[str, str]) -> dict[str, Any]:
    """Everything, for JSON."""
    apart = sum(map(unlike, outcomes))
    return {"about": dict(about), "counts": counts(outcomes), "unlike": apart, "calls": [_row(one) for one in outcomes]}


def _row(one: Outcome) -> dict[str, Any]:
    return {
        "name": one.call.name,
        "effect": one.call.effect.name,
        "given": list(one.call.given),
        "call": one.call.text,
        "claim": one.call.claim.text,
        "seen": list(one.seen),
        "driver": None if one.driver is None else list(one.driver),
        "place": one.place,
        "bytes": one.bytes,
        "verdict": one.verdict,
        "why": one.why,
    }


def markdown(outcomes: Sequence[Outcome], about: Mapping[str, str]) -> str:
    """A page: what was measured on what, the disagreements, then one row for each call."""
    number = counts(outcomes)
    lines = [
        "# Conformance: what the knowledge tables say, and what happened",
        "",
        "Written by `python -m runtime_check.conformance`, on "
        + "; ".join(f"{key}: {text}" for key, text in about.items()),
        "",
        f"{number[AGREE]} calls agree with their row, {number[DISAGREE]} disagree, {number[NOT_CALLED]} could not be"
        " made here.",
    ]
    disagreeing = [one for one in outcomes if one.verdict == DISAGREE]
    if disagreeing:
        lines += ["", "## Disagreements", "", "| API | call | the row says | seen | why |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        lines += [_line(one, f"{one.why}{_known(one, about)}") for one in disagreeing]
    apart = [one for one in outcomes if unlike(one)]
    if apart:
        lines += ["", "## Recorder and driver differ", "", "| API | call | the row says | driver | recorder |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        lines += [_line(one, ", ".join(one.seen) or "nothing") for one in apart]
    lines += ["", "## Calls", "", "| API | call | the row says | seen | |", "| --- | --- | --- | --- | --- |"]
    lines += [_line(one, one.verdict) for one in outcomes if one.verdict != NOT_CALLED]
    lines += ["", "## Not called", "", "| API | why |", "| --- | --- |"]
    lines += [f"| `{one.call.name}` | {_cell(one.why)} |" for one in outcomes if one.verdict == NOT_CALLED]
    return "\n".join(lines) + "\n"


def _line(one: Outcome, last: str) -> str:
    seen = one.seen if one.driver is None else one.driver
    kinds = ", ".join(kind for kind in ("h2d", "d2h", "sync") if kind in seen) or "nothing"
    return f"| `{one.call.name}` | `{_cell(one.call.text)}` | {one.call.claim.text} | {kinds} | {_cell(last)} |"


def _known(one: Outcome, about: Mapping[str, str]) -> str:
    known = KNOWN.get(one.call.name, "") if "simulated" in about.get("device", "").lower() else ""
    return f"; known: {known}" if known else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "; ")
