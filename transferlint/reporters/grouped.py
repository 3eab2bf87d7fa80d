"""One heading a file, one line a finding below it."""

from __future__ import annotations

import itertools

from transferlint import escaping
from transferlint.model import Finding
from transferlint.reporters.report import Report, count, fixable, summary


def render(report: Report, quiet: bool = False) -> str:
    """The findings file by file, each file with how many it has, and, unless `quiet`, the summary line."""
    lines = []
    for path, group in itertools.groupby(sorted(report.findings, key=_path), key=_path):
        findings = list(group)
        lines.append(f"{path}: {count(len(findings), 'finding')}")
        width = max(len(_place(finding)) for finding in findings)
        for finding in findings:
            option = fixable(finding, report.unsafe)
            mark = f" [fix: {option}]" if option else ""
            lines.append(f"  {_place(finding):>{width}}  {finding.code}  {finding.message}{mark}")
        lines.append("")
    if not quiet:
        lines.append(summary(report))
    return escaping.lines(lines)


def _path(finding: Finding) -> str:
    return finding.site.path


def _place(finding: Finding) -> str:
    return f"{finding.site.line}:{finding.site.column}"
