"""Every function of which nothing but a predictor says how often it runs: no call that is known to be hot or cold.

What it does
------------
Reports each, as JSON: for the measurement of the predictors.

Why
---
A predictor is worth what was measured of it.

Example
-------
    def f(x: torch.Tensor):
        return x + 1

Use instead
-----------
    y = 1

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

from transferlint.flow.facts import FileFacts
from transferlint.model import Finding
from transferlint.rule import Example, Rule


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Each such function, at its first expression."""
    for function in facts.functions:
        row = facts.heat.predicted.get(function.index)
        base = facts.heat.base(function.index)
        if base.caller is not None or base.cold or not base.reason:
            continue  # the calls decide
        reg = next((reg for reg in range(len(function.code)) if function.has_text(reg)), None)
        if row is not None and reg is not None:
            said = {"function": function.function.qualname, "predictor": row.id}
            yield function.finding(reg, json.dumps(said), heated=False)


RULE = Rule(
    code="TRUTH002",
    name="every-function",
    summary="Each function of which nothing but its arguments says how often it runs.",
    category="linter",
    default=False,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="import torch\n\n\ndef f(x: torch.Tensor):\n    return x + 1  # expect: TRUTH002\n", good="x = 1\n"
        ),
    ),
    detect=detect,
    doc=__doc__ or "",
)
