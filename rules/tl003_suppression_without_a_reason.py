"""A suppression comment has no reason.

What it does
------------
Reports a suppression comment (`# transferlint: ignore[...]`, `ignore-file[...]`, `# noqa: TL...`) without any text
after its codes.

Why
---
Without a reason, nobody can tell a transfer that is intended from one that was silenced in a hurry.

Example
-------
    total += loss.item()  # transferlint: ignore[TL101]

Use instead
-----------
    total += loss.item()  # transferlint: ignore[TL101] the scheduler wants every value

When it is fine
---------------
The rule is off by default; enable it with `extend-select = ["TL003"]`. A `# noqa` without codes is not checked, because
it may be meant for other linters.

Fix safety
----------
No automatic fix: only the author knows the reason. `--add-ignore --reason "..."` writes a comment with one.

See also
--------
- TL002 for suppressions without an effect
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
