"""A baseline entry does not match any finding.

What it does
------------
Reports an entry of the `--baseline` file that no longer matches a finding: the finding was fixed, its line was
rewritten, or its file was removed.

Why
---
The stale entry would hide the next finding that looks the same.

Example
-------
    {"fingerprint": "5f0c...", "code": "TL101", "path": "train.py", "in": "train", "source": "loss.item()", "count": 2}

Use instead
-----------
    transferlint check --baseline baseline.json --write-baseline

When it is fine
---------------
An entry is only checked if this run could have found its finding: its file was checked, its rule ran, and
`--min-confidence` and `--context` are not narrower than when the baseline was written.

Fix safety
----------
No automatic fix: rewriting the baseline would also add new findings to it.

See also
--------
- TL002 for suppression comments
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
