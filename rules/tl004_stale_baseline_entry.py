"""The baseline knows a finding that is gone.

What it does
------------
Reports an entry of the file given with `--baseline` to which nothing in the source answers any more: the finding was
fixed, its line was rewritten, or its file is gone.

Why
---
The entry would hide the next finding that looks the same.

Example
-------
    {"fingerprint": "5f0c...", "code": "TL101", "path": "train.py", "in": "train", "source": "loss.item()", "count": 2}

Use instead
-----------
    transferlint check --baseline baseline.json --write-baseline

When it is fine
---------------
An entry is judged only where this run would have found what it knows: its file was checked, its rule ran, and neither
`--min-confidence` nor `--context` is narrower than when the baseline was written.

Fix safety
----------
No automatic fix: writing the baseline anew also takes in what is new.

See also
--------
- TL002 for comments
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.model import Finding
from transferlint.rule import Rule


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Nothing: a baseline is no file of the program. The engine reports its entries under this rule's code."""
    del facts
    yield from ()


RULE = Rule(
    code="TL004",
    name="stale-baseline-entry",
    summary="a baseline entry that no finding matches any more",
    category="linter",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(),
    detect=detect,
    doc=__doc__,
)
