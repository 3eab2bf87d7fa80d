"""A suppression comment has no effect.

What it does
------------
Reports a suppression comment (`# transferlint: ignore[...]`, `ignore-file[...]`, `# noqa: TL...`), or individual codes
in it, that does not suppress any finding.

Why
---
The comment outlives the code it was written for, and would hide the next finding on that line before anybody has seen
it.

Example
-------
    total = loss.detach()  # transferlint: ignore[TL101] read once an epoch

Use instead
-----------
    total = loss.detach()

When it is fine
---------------
A code is only checked if its rule ran on the file: rules that were not selected, or that failed, are not considered. A
prefix (`TL1`) and a comment without codes stand for all rules that are on by default, and are only checked if all of
them ran. A `# noqa` without codes may be meant for other linters and is never reported. A comment that suppresses a
finding below `--min-confidence` counts as used. To keep a comment that has no effect, add TL002 to it: `ignore[TL101,
TL002]`.

Fix safety
----------
Safe: removes the unused codes, or the whole comment including its reason. Unsafe if the file was checked without its
project (`--context file`): there may be findings to suppress once the other files are known.

See also
--------
- TL003 for suppressions without a reason
- TL004 for baseline entries
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.model import Finding, Fix, Safety
from transferlint.rule import CommentFacts, Example, Rule
from transferlint.syntax import comment_edits
from transferlint.syntax.suppressions import Suppression

_OWN = "TL0"  # codes of the linter's own rules, which no suppression of other findings is measured by


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Nothing: what a comment silences is known once the other rules have run."""
    del facts
    yield from ()


def judge(facts: CommentFacts) -> Iterator[Finding]:
    """The comments, and codes in comments, that silence nothing though their rules ran."""
    for comment, silenced in zip(facts.comments, facts.silenced, strict=True):
        if comment.kind == "malformed" or (comment.kind == "noqa" and not comment.codes):
            continue
        unused = [code for code in comment.codes if not code.startswith(_OWN) and _unused(code, silenced, facts)]
        blank = not comment.codes and _unused("", silenced, facts)
        if unused or blank:
            yield _finding(facts, comment, unused)


def _unused(code: str, silenced: frozenset[str], facts: CommentFacts) -> bool:
    """Whether a code, or the beginning of codes, silences nothing, and the rules that it speaks for have run."""
    if any(found.startswith(code) for found in silenced):
        return False
    if code in facts.ran:
        return True
    meant = {usual for usual in facts.usual if usual.startswith(code) and not usual.startswith(_OWN)}
    return bool(meant) and meant <= facts.ran and code not in facts.usual


def _finding(facts: CommentFacts, comment: Suppression, unused: list[str]) -> Finding:
    what = f"the suppression of {', '.join(unused)}" if unused else "the suppression"
    whole = len(unused) == len(comment.codes)
    title = "remove the suppression" if whole else f"remove {', '.join(unused)} from the suppression"
    edit = comment_edits.without(facts.text, comment, unused)
    fix = Fix(title, Safety.SAFE if facts.whole else Safety.UNSAFE, (edit,))
    return facts.finding(comment.start, comment.end, f"{what} has no effect", title, fix)


RULE = Rule(
    code="TL002",
    name="unused-suppression",
    summary="a suppression comment that has no effect",
    category="linter",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def train(model, loader, device):
    total = torch.zeros((), device=device)
    for x in loader:
        total += model(x.to(device)).mean().detach()  # transferlint: ignore[TL101] cheap  # expect: TL002
    return total.item()
""",
            good="""\
import torch


def train(model, loader, device):
    total = 0.0
    for x in loader:
        total += model(x.to(device)).mean().item()  # transferlint: ignore[TL101] a handful of batches
    return total
""",
            fixed="""\
import torch


def train(model, loader, device):
    total = torch.zeros((), device=device)
    for x in loader:
        total += model(x.to(device)).mean().detach()
    return total.item()
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
    judge=judge,
)
