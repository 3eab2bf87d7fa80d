"""What crosses in a step before and after each rule's fix: `python -m benchmarks.crossings [--only TL101 ...]`.

The programs are those of `benchmarks/pairs/`, which `benchmarks.fixes` times on a GPU. Counts are exact on the
simulated device too, so these are taken there: transfers, and how often the host waits, per step. Nothing here is a
time. Writes `benchmarks/results/crossings.json`, which the pages of the rules quote.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import device as devices
from benchmarks import fixes

STEPS = 4


def count(one: fixes.Pair) -> dict[str, Any]:
    """The counts of one pair, per step."""

    def of(path: Path) -> dict[str, float]:
        crossed = dataclasses.asdict(fixes.crossing(fixes.load(path), STEPS))
        return {name: crossed[name] for name in ("h2d", "d2h", "waits")}

    fix = "transferlint" if one.own else "by hand"
    return {"about": one.about, "fix": fix, "before": of(one.before), "after": of(one.after)}


def main() -> None:
    """Count for every pair; one that fails is told, and the others are counted."""
    parser = devices.arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="RULE")
    options = parser.parse_args()
    device = devices.start()
    os.environ["PAIRS_SMALL"] = "1"
    rules: dict[str, Any] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as home:
        sys.path.insert(0, str(fixes.PAIRS))
        for code, one in fixes.pairs(options.only or fixes.codes(), Path(home)).items():
            if isinstance(one, str):
                failed[code] = one
                continue
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    rules[code] = count(one)
            except Exception as error:
                failed[code] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    text = json.dumps({"about": device.about, "steps": STEPS, "rules": rules, "failed": failed}, indent=1)
    if options.only:
        print(text)
    else:
        (options.output or devices.RESULTS).joinpath("crossings.json").write_text(text + "\n", encoding="utf-8")
        print(f"{len(rules)} rules counted, {len(failed)} not")
    device.leave(1 if failed else 0)


if __name__ == "__main__":
    main()
