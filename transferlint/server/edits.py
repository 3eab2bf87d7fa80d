"""Changes to a document, as the few edits of its text that make them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from transferlint import late
from transferlint.engine import plan
from transferlint.engine.pipeline import finished
from transferlint.fixes import rounds
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Edit, Finding, Safety
from transferlint.server.kept import Checked
from transferlint.suppressions import silencing
from transferlint.syntax import front_end

REASON = "TODO: say why"
_LINES = late.pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def differences(before: str, after: str) -> list[Edit]:
    """The edits that make one text of another: of the lines that differ, from the first character to the last."""
    old, new = _LINES.findall(before), _LINES.findall(after)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    found = []
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    middle = old[first : len(old) - last], new[first : len(new) - last]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
        if tag != "equal":
            found.append(_trimmed(starts[first + a], "".join(middle[0][a:b]), "".join(middle[1][c:d])))
    return found


def _trimmed(start: int, old: str, new: str) -> Edit:
    """The edit without what both have at its beginning and end. A line end of two characters stays whole."""
    head = _alike(old, new)
    if head and old[head - 1] == "\r":
        head -= 1
    tail = _alike(old[head:][::-1], new[head:][::-1])
    if tail and old[len(old) - tail] == "\n" and "\r" in (old[-tail - 1 : -tail], new[-tail - 1 : -tail]):
        tail -= 1
    return Edit(start + head, start + len(old) - tail, new[head : len(new) - tail])


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def fix_of(checked: Checked, finding: Finding) -> tuple[Edit, ...]:
    """The edits of a finding's fix, whatever its safety; none where it cannot be made, or makes what is no Python."""
    source = checked.source
    if source is None or finding.fix is None or not finding.fix.edits or front_end.refusal(source):
        return ()
    allowed = late.replace(finding, fix=late.replace(finding.fix, safety=Safety.SAFE))
    made = rounds.fix_text(source.path, source.text, lambda text: [allowed] if text == source.text else [], False)
    return tuple(dict.fromkeys(finding.fix.edits)) if made.fixed else ()


def all_fixed(checked: Checked) -> str:
    """The text with all safe fixes applied, as one pass of `check --fix` does."""
    source, outcome = checked.source, checked.outcome
    if source is None or not any(one.fix and one.fix.safety is Safety.SAFE for one in outcome.findings):
        return source.text if source is not None else ""
    fixing = late.replace(checked.plan, fix=True, unsafe=False, write=False, diff=False)
    found = plan.Checked(outcome.findings, ran=outcome.ran)
    made = finished(source, b"", found, fixing, checked.ignored, checked.project)
    return made.text if made.changed else source.text


def ignored(checked: Checked, finding: Finding) -> list[Edit]:
    """The edits that suppress a finding by a comment with a reason to be written; none where it cannot be silenced."""
    source = checked.source
    if source is None or front_end.refusal(source):
        return []
    key = finding.code, finding.fingerprint()

    def check(text: str) -> list[Finding]:
        if text == source.text:
            return [finding]
        return [one for one in checked.again(text) if (one.code, one.fingerprint()) == key]

    made = silencing.silence_text(source.path, source.text, check, REASON)
    return differences(source.text, made.text)


def changed(text: str, edits: Sequence[Edit]) -> str:
    """A text with edits applied."""
    return apply_edits(text, edits)
