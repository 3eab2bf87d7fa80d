"""A suppression does not say why.

What it does
------------
Reports a comment that silences findings (`# transferlint: ignore[...]`, `ignore-file[...]`, `# noqa: TL...`) and has no
words behind its codes.

Why
---
Whoever comes later cannot tell a transfer that is meant from one that was silenced in a hurry.

Example
-------
    total += loss.item()  # transferlint: ignore[TL101]

Use instead
-----------
    total += loss.item()  # transferlint: ignore[TL101] the scheduler wants every value

When it is fine
---------------
The rule is off by default: `extend-select = ["TL003"]`. A `# noqa` without codes is other linters' affair.

Fix safety
----------
No automatic fix: only a person knows the reason. `--add-ignore --reason "..."` writes one.

See also
--------
- TL002 for one that silences nothing
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.model import Finding
from transferlint.rule import CommentFacts, Example, Rule


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Nothing: comments are no facts of the program."""
    del facts
    yield from ()


def judge(facts: CommentFacts) -> Iterator[Finding]:
    """The suppressions without a word of explanation."""
    for comment in facts.comments:
        other = comment.kind == "malformed" or (comment.kind == "noqa" and not comment.codes)
        if not other and not comment.reason:
            yield facts.finding(
                comment.start, comment.end, "the suppression gives no reason", "add the reason after the codes"
            )


RULE = Rule(
    code="TL003",
    name="suppression-without-a-reason",
    summary="a suppression comment without a reason",
    category="linter",
    default=False,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def train(model, loader, device):
    total = 0.0
    for x in loader:
        total += model(x.to(device)).mean().item()  # transferlint: ignore[TL101]  # expect: TL003
    return total
""",
            good="""\
import torch


def train(model, loader, device):
    total = 0.0
    for x in loader:
        total += model(x.to(device)).mean().item()  # transferlint: ignore[TL101] a handful of batches
    return total
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
    judge=judge,
)
