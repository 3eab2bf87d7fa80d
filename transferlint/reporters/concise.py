"""One line a finding: `path:line:column CODE message`, as editors and `grep` take it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint import escaping
from transferlint.model import Finding
from transferlint.reporters.report import Report, fixable, summary


def render(report: Report, quiet: bool = False) -> str:
    """The report, a line a finding and, unless `quiet`, the summary line."""
    return "".join(line for _, line in blocks(report.findings, report.unsafe)) + tail(report, quiet)


def blocks(findings: Iterable[Finding], unsafe: bool) -> Iterator[tuple[Finding, str]]:
    """Each finding and its line."""
    for finding in findings:
        site = finding.site
        option = fixable(finding, unsafe)
        mark = f" [fix: {option}]" if option else ""
        yield finding, escaping.lines([f"{site.path}:{site.line}:{site.column} {finding.code} {finding.message}{mark}"])


def tail(report: Report, quiet: bool) -> str:
    """What follows on the findings."""
    return "" if quiet else escaping.lines([summary(report)])
