"""A report with everything that a reporter may meet."""

from __future__ import annotations

import pytest

from transferlint.model import Confidence, Edit, Evidence, Finding, Fix, Heat, Level, Safety, Site
from transferlint.reporters.report import Problem, Report, RuleCard

TEXT = (
    "import torch\n"
    "model.to(device)\n"
    "\n"
    "for batch in loader:\n"
    "\tout = model(batch)  # 漢字\n"
    "    total += sum(\n"
    "        out).item()\n"
)


READ = TEXT.index(".item()")


def _at(path: str, line: int, column: int, end_line: int, end_column: int) -> Site:
    return Site(path, line, column, end_line, end_column)


@pytest.fixture
def report() -> Report:
    """Two findings in one file, one beyond all texts, a problem and two rules."""
    first = Finding(
        code="TL101",
        name="scalar-read-in-hot-code",
        site=_at("src/a b.py", 6, 14, 7, 20),
        message="`sum(out).item()` makes the host wait, 100%: really",
        help="total += sum(out).detach()",
        evidence=(
            Evidence(_at("src/a b.py", 2, 1, 2, 17), "on the device: model moved here"),
            Evidence(_at("src/a b.py", 5, 8, 5, 20), "on the device"),
            Evidence(_at("src/a b.py", 6, 14, 7, 20), "d2h, a sync"),
            Evidence(_at("lib/other.py", 9, 1, 9, 5), "called here"),
        ),
        heat=Heat(Level.PER_STEP, True, "per step, in the loop over `loader` at line 4"),
        confidence=Confidence.LIKELY,
        fix=Fix("keep it on the device", Safety.UNSAFE, (Edit(READ, READ + 7, ".detach()"),)),
        context="train",
        source="sum(\n        out).item()",
    )
    second = Finding(
        code="TL401",
        name="create-then-move",
        site=_at("src/a b.py", 2, 1, 2, 9),
        message="created on the host, then moved",
        heat=Heat(Level.PER_STEP, False, "per step", amortised="every 100 steps"),
        fix=Fix("create it there", Safety.SAFE, (Edit(13, 18, "there"),)),
    )
    third = Finding("TL001", "unparsable-file", _at("/abs/é.py", 3, 1, 3, 1), "no, Python: 2")
    return Report(
        findings=(first, second, third),
        texts={"src/a b.py": TEXT},
        files=3,
        problems=(Problem("gone.py", "no such file or folder"), Problem("", "internal error: x\ny")),
        rules=(
            RuleCard(
                "TL101",
                "scalar-read-in-hot-code",
                "reads",
                "repeated",
                True,
                "unsafe",
                "What it does\n---\n",
                "https://x/TL101",
            ),
            RuleCard("TL401", "create-then-move", "creates", "wasteful", False, "safe", "Words.\n"),
        ),
        version="1.2.3",
        root="/work dir/x",
    )
