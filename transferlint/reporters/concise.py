"""One line a finding: `path:line:column CODE message`, as editors and `grep` take it."""

from __future__ import annotations

from transferlint import escaping
from transferlint.reporters.report import Report, fixable, summary


def render(report: Report, quiet: bool = False) -> str:
    """The report, a line a finding and, unless `quiet`, the summary line."""
    lines = []
    for finding in report.findings:
        site = finding.site
        option = fixable(finding, report.unsafe)
        mark = f" [fix: {option}]" if option else ""
        lines.append(f"{site.path}:{site.line}:{site.column} {finding.code} {finding.message}{mark}")
    if not quiet:
        lines.append(summary(report))
    return escaping.lines(lines)
