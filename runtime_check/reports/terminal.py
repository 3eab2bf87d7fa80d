"""For people: the verdicts, those first that kept the host longest, then what was missed, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator

from runtime_check import phrases
from runtime_check.records import UNPLACED
from runtime_check.reports import lines, steps
from runtime_check.reports import shown as parts
from runtime_check.reports.shown import Shown
from runtime_check.reports.units import count
from runtime_check.verdicts import Missed, Verdict, VerdictKind
from transferlint import rows as lines_of_pieces
from transferlint.rows import Row

_STYLES = {
    "confirmed": "bold red",
    "partly": "bold yellow",
    "refuted": "bold green",
    "not reached": "dim",
    "missed": "bold magenta",
    "path": "bold",
    "label": "bold",
    "dim": "dim",
    "failed": "bold red",
}
_WIDTH = 11  # of the longest kind
_MOST_UNREACHED = 5
_MOST_EXPLAINED = 8


def render(shown: Shown, color: bool = False, quiet: bool = False) -> str:
    """The report; with `color`, with ANSI codes. `quiet`: what failed, and what could not be done."""
    rows = list(_failures(shown)) if quiet else list(_rows(shown))
    return lines_of_pieces.render(rows, _STYLES, color)


def _rows(shown: Shown) -> Iterator[Row]:
    yield [("label", "transferlint verify: "), ("", parts.headline(shown))]
    yield []
    reached = [one for one in shown.judgement.verdicts if one.kind is not VerdictKind.NOT_REACHED]
    for verdict in reached:
        yield from _verdict(shown, verdict)
    for missed in shown.misses:
        yield from _missed(shown, missed)
    yield from _briefly(shown)
    yield from lines.table(shown, lines.functions(shown))
    yield from steps.table(shown)
    for note in shown.judgement.notes:
        yield [("dim", "   = "), ("label", "note"), ("", f": {note}")]
    yield from _failures(shown)
    yield [("label", _summary(shown))]


def _verdict(shown: Shown, verdict: Verdict) -> Iterator[Row]:
    finding, kind = verdict.finding, verdict.kind.value
    yield [
        (kind, f"{kind:<{_WIDTH}} "),
        ("path", shown.place(finding.site)),
        ("", f" {finding.code} {' '.join(finding.message.split())}"),
    ]
    yield from _lines(shown, finding.site.line, shown.source(finding.site), verdict.text, verdict.act)


def _missed(shown: Shown, missed: Missed) -> Iterator[Row]:
    direction = "sync" if missed.direction.value == "none" else missed.direction.value
    yield [
        ("missed", f"{'missed':<{_WIDTH}} "),
        ("path", shown.place(missed.site)),
        ("", f" {direction} by {missed.operation}, without a finding"),
    ]
    yield from _lines(shown, missed.site.line, shown.source(missed.site), missed.text, missed.act)


def _lines(shown: Shown, line: int, source: str, text: str, act: str) -> Iterator[Row]:
    if source:
        yield [("dim", f"{line:>4} | "), ("", source)]
    yield [("dim", "   = "), ("label", "seen"), ("", f": {text}")]
    yield [("dim", "   = "), ("label", "do"), ("", f": {act}")]
    yield []


def _briefly(shown: Shown) -> Iterator[Row]:
    """What asks for nothing, a line each, and no more lines than can be taken in."""
    every = [one for one in shown.judgement.verdicts if one.kind is VerdictKind.NOT_REACHED]
    unreached = [one for one in every if one.text != phrases.NEVER_IMPORTED]
    for verdict in unreached[:_MOST_UNREACHED]:
        place = f"{shown.place(verdict.finding.site)} {verdict.finding.code}"
        yield [("not reached", f"{'not reached':<{_WIDTH}} {place}: {verdict.text}; {verdict.act}")]
    yield from _further(len(unreached) - _MOST_UNREACHED, "that were not reached")
    if len(every) > len(unreached):
        files = {one.finding.site.path for one in every if one.text == phrases.NEVER_IMPORTED}
        number = f"{count(len(every) - len(unreached), 'finding')} in {count(len(files), 'file')}"
        yield [("not reached", f"{'not reached':<{_WIDTH}} {number} that the run did not import")]
    for missed in shown.explained[:_MOST_EXPLAINED]:
        why = missed.explained or "in a library"
        kind = "unplaced" if missed.site.path.startswith(UNPLACED) else "as it is"
        yield [("dim", f"{kind:<{_WIDTH}} {shown.place(missed.site)}: {missed.text} ({why})")]
        if kind == "as it is" and not missed.act.startswith("nothing"):
            yield [("dim", "   = "), ("label", "cheaper"), ("", f": {missed.act}")]
    yield from _further(len(shown.explained) - _MOST_EXPLAINED, "that need no change")
    if every or shown.explained:
        yield []


def _further(number: int, words: str) -> Iterator[Row]:
    if number > 0:
        yield [("dim", f"{'':<{_WIDTH}} and {number:,} more {words}; report.json lists them")]


def _failures(shown: Shown) -> Iterator[Row]:
    for problem in shown.problems:
        yield [("failed", "problem"), ("", f": {problem}")]
    for failure in shown.failures:
        yield [("failed", "failed"), ("", f": {failure}")]


def _summary(shown: Shown) -> str:
    kinds = parts.verdict_kinds(shown)
    said = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    outcome = shown.run.outcome
    if not said and outcome is not None and outcome.status:
        return "Nothing to judge: no finding, and nothing crossed in hot code before the program ended."
    return f"{said or 'No findings, and nothing was missed'}."
