"""What `verify --fixed` found, as data and as text."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from runtime_check.fixed_outputs import Compared
from runtime_check.fixed_run import Ran
from runtime_check.reports.units import count, duration
from transferlint import escaping

_WIDTH = 12


def nothing(summary: Mapping[str, Any], unsafe: bool) -> str:
    """That there was nothing to fix, and what there would be."""
    found = count(int(summary.get("findings", 0)), "finding")
    shown = int(summary.get("fixable_unsafely", 0))
    more = f", {shown} fix{'' if shown == 1 else 'es'} with --unsafe-fixes" if shown else ""
    return f"transferlint: nothing to compare: no {'' if unsafe else 'safe '}fix applies ({found}{more})"


def fixes(summary: Mapping[str, Any]) -> str:
    """ "6 fixes (TL101 1, TL103 2, TL401 3)"."""
    total = int(summary.get("fixed", 0))
    codes = ", ".join(f"{code} {number}" for code, number in summary.get("fixed_by_code", {}).items())
    return f"{total:,} fix{'' if total == 1 else 'es'}" + (f" ({codes})" if codes else "")


def ratio(original: Sequence[float], fixed: Sequence[float]) -> dict[str, Any] | None:
    """Medians of both in nanoseconds, the ratio original/fixed of these, and, of the ratios of neighbouring runs, the
    least and the greatest; None where a time is missing."""
    if not original or not fixed or not all(original) or not statistics.median(fixed):
        return None
    pairs = [one / other for one, other in zip(original, fixed, strict=True) if other]
    before, after = statistics.median(original), statistics.median(fixed)
    return {
        "original_ns": before, "fixed_ns": after, "ratio": before / after, "least": min(pairs), "most": max(pairs)
    }  # fmt: skip


def result(
    summary: Mapping[str, Any], original: Sequence[Ran], fixed: Sequence[Ran], compared: Compared
) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    modelled = original[0].level == "simulate"
    steps = ratio([one.step for one in original], [one.step for one in fixed])
    whole = [[float(one.blocked if modelled else one.whole) for one in runs] for runs in (original, fixed)]
    return {
        "fixed": int(summary.get("fixed", 0)),
        "fixed_by_code": dict(summary.get("fixed_by_code", {})),
        "rounds": len(original),
        "times": "modelled" if modelled else "measured",
        "device": original[0].device,
        "model": original[0].model,
        "what": "host blocked" if modelled else "wall time",
        "steps": original[0].steps,
        "step": steps,
        "whole": ratio(*whole),
        "crossed": {"original": dict(original[0].crossed), "fixed": dict(fixed[0].crossed)},
        "same": compared.same,
        "outputs": compared.text,
        "notes": list(compared.notes),
    }


def render(found: Mapping[str, Any], runs: Mapping[str, Sequence[Ran]], quiet: bool = False) -> str:
    """The report; `quiet`: only what differs."""
    if quiet and found["same"]:
        return ""
    times_by = f"{found['times']} by {found['model']}" if found["model"] else str(found["times"])
    label = f"{times_by} on {found['device']}" if found["device"] else times_by
    lines = [f"transferlint verify --fixed: {fixes(found)}, {count(found['rounds'], 'round')}, {label}", ""]
    for name, key in (("per step", "step"), ("in all", "whole")):
        times = found[key]
        if times is not None:
            lines.append(_times(name, times, str(found["what"])))
    if found["whole"] is None and found["times"] == "modelled":
        lines.append(f"{'in all':<{_WIDTH}}the host is no longer blocked, or was not")
    lines.append(_crossings(found["crossed"]))
    verdict = "the same" if found["same"] else "DIFFER"
    lines.append(f"{'outputs':<{_WIDTH}}{verdict}: {found['outputs']}")
    lines += [f"{'note':<{_WIDTH}}{note}" for note in found["notes"]]
    if not found["same"]:
        lines += _last_words(runs["fixed"])
    return escaping.lines(lines)


def _times(name: str, times: Mapping[str, Any], what: str) -> str:
    gain, least, most = times["ratio"], times["least"], times["most"]
    said = "no difference beyond the spread" if least <= 1 <= most else "faster" if gain > 1 else "SLOWER"
    if what == "host blocked" and said != "SLOWER":
        said = "less" if gain > 1 else "no difference"
    return (
        f"{name:<{_WIDTH}}{what} {duration(times['original_ns'])} before, {duration(times['fixed_ns'])} after: "
        f"{gain:.2f}x ({least:.2f} to {most:.2f}), {said}"
    )


def _crossings(crossed: Mapping[str, Mapping[str, int]]) -> str:
    before, after = crossed["original"], crossed["fixed"]
    parts = (f"{name} {before.get(name, 0):,} to {after.get(name, 0):,}" for name in ("h2d", "d2h", "waits"))
    return f"{'crossings':<{_WIDTH}}{', '.join(parts)}"


def _last_words(runs: Sequence[Ran]) -> list[str]:
    """What a fixed program that failed said last."""
    failed = next((one for one in runs if one.code), None)
    said = failed.err.strip().splitlines() if failed is not None else []
    return [f"{'it said':<{_WIDTH}}{said[-1]}"] if said else []
