"""Logging commands that Azure Pipelines makes issues of a build from (learn.microsoft.com, "Logging commands",
`task.logissue`)."""

from __future__ import annotations

from transferlint import escaping
from transferlint.reporters.report import Report

# What the agent unescapes: docs/design/percentEncoding.md in microsoft/azure-pipelines-agent.
_ESCAPES = (("%", "%AZP25"), ("\r", "%0D"), ("\n", "%0A"))
_IN_PROPERTY = (*_ESCAPES, (";", "%3B"), ("]", "%5D"))


def render(report: Report) -> str:
    """One command a finding (a warning) and one for each thing that could not be done (an error)."""
    lines = []
    for finding in report.findings:
        site = finding.site
        place = {"type": "warning", "sourcepath": site.path, "linenumber": str(site.line)}
        place |= {"columnnumber": str(site.column), "code": finding.code}
        lines.append(_command(place, finding.message + (f" Use instead: {finding.help}" if finding.help else "")))
    for problem in report.problems:
        place = {"type": "error"} | ({"sourcepath": problem.path} if problem.path else {})
        lines.append(_command(place, problem.message))
    return "".join(line + "\n" for line in lines)


def _command(properties: dict[str, str], message: str) -> str:
    shown = "".join(f"{key}={_escaped(value, _IN_PROPERTY)};" for key, value in properties.items())
    return f"##vso[task.logissue {shown}]{_escaped(message, _ESCAPES)}"


def _escaped(text: str, escapes: tuple[tuple[str, str], ...]) -> str:
    text = escaping.escaped(text)
    for one, instead in escapes:
        text = text.replace(one, instead)
    return text
