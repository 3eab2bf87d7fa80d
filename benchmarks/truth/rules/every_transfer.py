"""Every transfer that the analysis knows of, whatever it thinks of it.

What it does
------------
Reports each fact of a transfer, as JSON: for the comparison with what programs did.

Why
---
What rules say nothing of is known, or not: the two are different defects.

Example
-------
    for x in loader:
        x.cuda().item()

Use instead
-----------
    for x in loader:
        x + 1

When it is fine
---------------
It says nothing about that.

Fix safety
----------
It has no fix.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice.values import ON_DEVICE
from transferlint.flow.quiet import ON_PURPOSE, RARE, why_quiet
from transferlint.model import Finding
from transferlint.rule import Example, Rule
from transferlint.wording import words


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Each transfer of each function."""
    for function in facts.functions:
        for transfer in function.transfers:
            if not function.has_text(transfer.register):
                continue
            warmth = function.warmth(transfer.register)
            before = transfer.before
            sure = before.places & ~ON_DEVICE == 0 and bool(before.places)
            place = "host" if before.on_host else "device" if sure else "either" if before.on_device else "unknown"
            quiet, why = why_quiet(function, transfer, warmth)
            said = {
                "kind": transfer.kind,
                "direction": transfer.direction.value,
                "place": place,
                "api": transfer.api,
                "inside": transfer.inside is not None,
                "hot": warmth.hot,
                "level": warmth.level.words,
                "own loop": warmth.hot and warmth.turn,
                "cold": words(warmth.cold),
                "amortised": words(warmth.amortised),
                "frequency": round(facts.heat.share(function.index, transfer.register), 3),
                "rows": _rows(function, transfer.register, warmth),
                "quiet": quiet,
                "why": why,
                "on purpose": quiet in ON_PURPOSE or (quiet == RARE and warmth.once),
            }
            yield function.finding(transfer.register, json.dumps(said), heated=False)


def _rows(function: FunctionFacts, reg: int, warmth: Warmth) -> dict[str, int]:
    """What `shares` goes by."""
    if warmth.hot:
        return dict(function.file.heat.rows(function.index, reg))
    return {"cold" if warmth.cold else "amortised" if warmth.amortised else "once": 1}


RULE = Rule(
    code="TRUTH001",
    name="every-transfer",
    summary="Each transfer that the analysis knows of.",
    category="linter",
    default=False,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(bad="import torch\n\n\ndef f(x):\n    return x.cuda().item()  # expect: TRUTH001\n", good="x = 1\n"),
    ),
    detect=detect,
    doc=__doc__ or "",
)
