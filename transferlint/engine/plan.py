"""What is done to every file, and what comes of one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Confidence, Finding, QuietSite
from transferlint.rule import Rule
from transferlint.sources.discovery import Trouble

if TYPE_CHECKING:
    from transferlint.sources.changes import Changes
    from transferlint.suppressions.baseline import Baseline

UNPARSABLE = ("TL001", "unparsable-file")


@late.dataclass(frozen=True, slots=True)
class Plan:
    """What is done to every file: the rules that run, what is left out, and whether fixes are made (and written).

    `ignore` holds the selectors of `--ignore` (for TL001, which no rule detects). `write` False leaves files as they
    are; `diff` asks for the change of each as a unified diff. `usual` are the codes of the installed rules that are on
    by default, None for those of `rules`. `whole` says that files are seen within their project. `silence` is the
    reason with which every finding is to be suppressed by a comment, None where none is. `known` is the baseline,
    `cache` the folder of kept programs, "" for none. `quiet` asks for what is quiet on purpose, too. `front_end` names
    the one that reads every file, "" where each file is read by the one that suits. `since` is what changed: findings
    elsewhere do not count; None where all do. `min_frequency`: findings in code that is expected to run in a smaller
    share of the steps do not count.
    """

    rules: tuple[Rule, ...]
    options: AnalysisOptions = dataclasses.field(default_factory=AnalysisOptions)
    min_confidence: Confidence = Confidence.LIKELY
    ignore: tuple[str, ...] = ()
    fix: bool = False
    unsafe: bool = False
    write: bool = True
    diff: bool = False
    usual: frozenset[str] | None = None
    whole: bool = True
    silence: str | None = None
    known: Baseline | None = None
    cache: str = ""
    quiet: bool = False
    front_end: str = ""
    since: Changes | None = None
    min_frequency: float = 0.0

    def reports(self, finding: Finding) -> bool:
        """Whether a finding is sure enough, and stands in code that is expected to run often enough."""
        heat = finding.heat
        seldom = heat is not None and heat.share is not None and heat.share < self.min_frequency
        return finding.confidence >= self.min_confidence and not seldom

    @property
    def changes(self) -> bool:
        """Whether files may be changed."""
        return self.fix or self.silence is not None


@late.dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file.

    `text` is what the findings' lines refer to (after fixing, the fixed text), "" where there is nothing to show;
    `fixed` are findings that fixes removed, `silenced` those for which suppressions were added; `notes` are remarks on
    fixes left out and comments not understood; `changed` says that the text changed, `diff` is that change as a unified
    diff, and `data` the new bytes where they are to be written (or were asked for), of a file that held `before`.
    `unchanged` is what came of the file where it stays as it was. `known` are the fingerprints of what the baseline
    knows, `hidden` is how many findings that leaves out, and `ran` are the codes of the rules that ran to their end.
    `quiet` are the transfers that are quiet on purpose, where they were asked for. `looked` are the functions of
    other files that were looked at for the findings.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()
    text: str = ""
    diff: str = ""
    data: bytes = b""
    changed: bool = False
    silenced: tuple[Finding, ...] = ()
    before: bytes = b""
    unchanged: Outcome | None = None
    known: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    hidden: int = 0
    quiet: tuple[QuietSite, ...] = ()
    looked: tuple[tuple[str, int], ...] = ()


@late.dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a text that count, in order, one trouble for each rule (or analysis) that broke on it, notes on
    comments that are not understood, the fingerprints of what the baseline knows, the codes of rules that ran, how many
    findings are not among them because the baseline knows them, and what is quiet on purpose, where that was asked."""

    findings: tuple[Finding, ...]
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    hidden: int = 0
    quiet: tuple[QuietSite, ...] = ()


def internal(where: str, path: str, error: BaseException) -> Trouble:
    """A defect of ours or of a rule pack, in one line; `where` is the code of a rule, or a stage."""
    words = " ".join(str(error).split())[:200]
    return Trouble("", f"internal error in {where} on {path}: {type(error).__name__}: {words}; please report")
