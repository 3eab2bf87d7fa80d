"""Measures the predictors of transferlint/flow/frequency/predictors.py on the committed tables: `make predictors`.

    python benchmarks/truth/predictors.py [PACKAGE ...]

Of the functions of the fitted packages that a predictor applies to, and that ran, those are hot that ran in half of
the steps or more: of the kinds of steps in which they are called at all. What ran outside of steps alone is not.
Writes benchmarks/results/predictors.json: by predictor the packages, the functions, how many were hot, the mean of the
packages' shares, the share of all functions, and the counts by package;
nothing is run but the analysis. Packages that are kept out of fitting are left out.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from truth import analysed, sources, tables
from truth.compare import HOT
from truth.marks import STEPS

RESULT = Path(__file__).parents[1] / "results" / "predictors.json"
_RULE = Path(__file__).with_name("rules") / "every_function.py"


def main() -> int:
    """Measure, and write; 1 where a package could not be read."""
    names = sys.argv[1:] or sorted(path.name.removesuffix(".jsonl.xz") for path in tables.DATA.glob("*.jsonl.xz"))
    found: dict[str, dict[str, Counter[bool]]] = defaultdict(dict)
    failed = 0
    for name in names:
        table = tables.read(name)
        if table.header["kept_out"]:
            continue
        try:
            for predictor, hot in _measured(table):
                found[predictor].setdefault(name, Counter())[hot] += 1
        except (OSError, ValueError, RuntimeError, sources.NoSource) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    rows = {predictor: _row(packages) for predictor, packages in sorted(found.items())}
    print(json.dumps(rows, indent=1))
    if not sys.argv[1:]:
        RESULT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return failed


def _measured(table: tables.Table) -> list[tuple[str, bool]]:
    """Each function of a package that a predictor applies to, and that ran: the predictor, and whether it was hot."""
    root = sources.extract(table)
    files = sources.unchanged(table, root)
    print(f"{root.name}: {len(files)} files", file=sys.stderr, flush=True)
    steps = [section.steps if section.phase == STEPS else 0 for section in table.sections]
    ran: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for path in files:
        for (section, _, function), (_, distinct) in table.files[path].calls.items():
            ran[path, function][0] += min(distinct, steps[section])
            ran[path, function][1] += steps[section]
    options = ("--rules", str(_RULE), "--select", "TRUTH002", "--min-confidence", "possible")
    found = []
    for one in analysed.check(root, files, *options)["findings"]:
        if one["code"] == "TRUTH002":
            said = json.loads(one["message"])
            counted = ran.get((os.path.normpath(one["path"]), said["function"]))
            if counted is not None:
                found.append((said["predictor"], counted[0] >= HOT * max(counted[1], 1)))
    return found


def _row(packages: dict[str, Counter[bool]]) -> dict[str, Any]:
    functions = sum(counts.total() for counts in packages.values())
    hot = sum(counts[True] for counts in packages.values())
    return {
        "packages": len(packages),
        "functions": functions,
        "hot": hot,
        # The mean over packages: functions of one are alike, and one with many would speak for all.
        "rate": round(sum(counts[True] / counts.total() for counts in packages.values()) / len(packages), 2),
        "of_functions": round(hot / functions, 2),
        "by_package": {name: [counts.total(), counts[True]] for name, counts in sorted(packages.items())},
    }


if __name__ == "__main__":
    sys.exit(main())
