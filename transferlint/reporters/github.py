"""Workflow commands: what makes GitHub Actions mark the lines of a change."""

from __future__ import annotations

from transferlint import escaping
from transferlint.reporters.report import Report


def render(report: Report) -> str:
    """One `::error` command a finding and one for each thing that could not be done."""
    lines = []
    for finding in report.findings:
        site = finding.site
        place = {"file": site.path, "line": str(site.line)}
        if site.end_line > site.line:
            place["endLine"] = str(site.end_line)
        else:  # columns count only where the annotation stays on one line
            place |= {"endLine": str(site.line), "col": str(site.column)}
            place |= {"endColumn": str(max(site.end_column, site.column))}
        place = {"title": f"transferlint {finding.code} ({finding.name})"} | place
        words = f"{site.path}:{site.line}:{site.column}: {finding.code} {finding.message}"
        lines.append(_command(place, words + (f"\n{finding.help}" if finding.help else "")))
    for problem in report.problems:
        place = {"title": "transferlint"} | ({"file": problem.path} if problem.path else {})
        lines.append(_command(place, problem.message))
    return "".join(line + "\n" for line in lines)


def _command(properties: dict[str, str], message: str) -> str:
    """Escaped as the runner unescapes: properties also lose their separators. Of control characters only the ends of
    a message's lines are left, of which the runner makes lines again."""
    shown = ",".join(f"{key}={_escaped(value, in_property=True)}" for key, value in properties.items())
    return f"::error {shown}::{_escaped(message, in_property=False)}"


def _escaped(text: str, in_property: bool) -> str:
    text = escaping.escaped(text) if in_property else "\n".join(map(escaping.line, text.split("\n")))
    text = text.replace("%", "%25").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
