"""Fits the weights of transferlint/flow/frequency/shares.py on the committed tables: `make predictors`.

    python benchmarks/truth/shares.py [PACKAGE ...]

Of the lines with a transfer of the fitted packages whose function ran: the share of the steps in which each ran, of the
kind of steps in which it ran most. Of those that are called hot, the weights of the rows are a logistic regression on
that share, each package counting as the root of its lines; of the others, the mean share by what they are called. Lines
in a loop over steps of their own function are left out: a step is a turn of that, by what the words mean, and what is
recorded as steps may be another loop.
Writes benchmarks/results/shares.json: the weights, how many lines a row has, of how many packages, the mean share, and
what comes of it for packages that are left out, each in turn. Nothing is run but the analysis. Packages that are kept
out of fitting are left out.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from truth import analysed, measured, sources, structure, tables
from truth.compare import HOT

RESULT = Path(__file__).parents[1] / "results" / "shares.json"
_RARE = ("cold", "amortised", "once")
_PENALTY = 5.0  # of the square of a weight
_BIAS = "bias"


class Seen(NamedTuple):
    """One line: its package, the rows that apply and how often, and the share of steps in which it ran."""

    package: str
    rows: Mapping[str, int]
    share: float


def main() -> int:
    """Measure, and write; 1 where a package could not be read."""
    names = sys.argv[1:] or sorted(path.name.removesuffix(".jsonl.xz") for path in tables.DATA.glob("*.jsonl.xz"))
    lines: list[Seen] = []
    failed = 0
    for name in names:
        table = tables.read(name)
        if table.header["kept_out"]:
            continue
        try:
            lines += _lines(name, table)
        except (OSError, ValueError, RuntimeError, sources.NoSource) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    result = fitted(lines)
    print(json.dumps(result, indent=1))
    if not sys.argv[1:]:
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return failed


def _lines(name: str, table: tables.Table) -> Iterator[Seen]:
    root = sources.extract(table)
    files = sources.unchanged(table, root)
    print(f"{name}: {len(files)} files", file=sys.stderr, flush=True)
    facts: dict[str, list[analysed.Fact]] = defaultdict(list)
    for fact in analysed.analyse(root, files).facts:
        facts[fact.path].append(fact)
    for path, found in sorted(facts.items()):
        shape = structure.read((root / path).read_text(encoding="utf-8", errors="replace"))
        truth = measured.of_file(table, table.files[path], shape.functions)
        told: set[tuple[int, bool]] = set()
        for fact in found:
            if fact.said["own loop"]:
                continue
            begin = shape.statements.get(fact.site[0], fact.site[0])
            ran = [truth.lines[one].frequency for one in (begin, fact.site[0]) if one in truth.lines]
            shares = [one for one in ran if one is not None]
            if shares and (begin, bool(fact.said["hot"])) not in told:
                told.add((begin, bool(fact.said["hot"])))
                yield Seen(name, fact.said["rows"], min(1.0, max(shares)))


def fitted(lines: Sequence[Seen]) -> dict[str, Any]:
    """The weights and rates of the rows, and how well they do for packages that are left out."""
    hot = [one for one in lines if not any(row in one.rows for row in _RARE)]
    names = [*sorted({row for one in hot for row in one.rows}), _BIAS]
    weights = _weights(hot, names)
    rare = {row: _of_row(row, lines) for row in _RARE}
    rows = {row: {"weight": round(float(weights[at]), 2), **_of_row(row, hot)} for at, row in enumerate(names[:-1])}
    estimated: list[tuple[float, float]] = []
    for package in sorted({one.package for one in lines}):
        kept = [one for one in lines if one.package != package]
        others = _weights([one for one in hot if one.package != package], names)
        means = {row: _of_row(row, kept)["share"] for row in _RARE}
        for one in lines:
            if one.package == package:
                known = next((means[row] for row in _RARE if row in one.rows), None)
                share = max(means["amortised"], _estimate(one, names, others)) if known is None else known
                estimated.append((share, one.share))
    return {
        "lines": len(lines),
        "packages": len({one.package for one in lines}),
        "bias": round(float(weights[-1]), 2),
        "rows": rows,
        "not hot": rare,
        "left out": _judged(estimated),
    }


def _weights(lines: Sequence[Seen], names: Sequence[str]) -> Any:
    """Newton's method, with a penalty on the weights but the last."""
    given = np.array([[one.rows.get(row, 0) for row in names[:-1]] + [1] for one in lines], float)
    shares = np.array([one.share for one in lines])
    of = {name: sum(one.package == name for one in lines) for name in {one.package for one in lines}}
    counts = np.array([1 / math.sqrt(of[one.package]) for one in lines])
    counts *= len(counts) / counts.sum()
    penalty = np.full(len(names), _PENALTY)
    penalty[-1] = 1e-3
    weights = np.zeros(len(names))
    for _ in range(50):
        estimate = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (counts * (estimate - shares)) + penalty * weights
        bend = (given * (counts * estimate * (1 - estimate))[:, None]).T @ given + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    return weights


def _estimate(one: Seen, names: Sequence[str], weights: Any) -> float:
    odds = sum(float(weights[at]) * one.rows.get(row, row == _BIAS) for at, row in enumerate(names))
    return 1 / (1 + math.exp(-odds))


def _of_row(row: str, lines: Sequence[Seen]) -> dict[str, Any]:
    """The lines that a row applies to, their packages, and their mean share."""
    shares = [one.share for one in lines if row in one.rows]
    packages = {one.package for one in lines if row in one.rows}
    return {"lines": len(shares), "packages": len(packages), "share": round(sum(shares) / max(1, len(shares)), 2)}


def _judged(estimated: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Of what is estimated to run in half of the steps what did, the converse, and by tenths the mean of what ran."""
    said = [ran >= HOT for share, ran in estimated if share >= HOT]
    ran = [share >= HOT for share, ran in estimated if ran >= HOT]
    tenths: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for share, measured_share in estimated:
        tenths[min(9, int(share * 10))].append((share, measured_share))
    return {
        "precision": round(sum(said) / max(1, len(said)), 3),
        "recall": round(sum(ran) / max(1, len(ran)), 3),
        "tenths": {
            f"{tenth / 10:.1f}": {
                "lines": len(found),
                "estimated": round(sum(share for share, _ in found) / len(found), 2),
                "measured": round(sum(one for _, one in found) / len(found), 2),
            }
            for tenth, found in sorted(tenths.items())
        },
    }


if __name__ == "__main__":
    sys.exit(main())
