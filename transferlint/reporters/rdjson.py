"""Reviewdog's diagnostic format (reviewdog, proto/rdf/reviewdog.proto: `DiagnosticResult`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from transferlint import escaping, links
from transferlint.model import Edit, Finding, Safety
from transferlint.reporters.report import Report, lines_of, position


def render(report: Report) -> str:
    """The report as one JSON object. Its columns count bytes of UTF-8, 1-based, as the format asks; a fix is one
    suggestion, from its first edit to its last."""
    pages = {card.code: card.url for card in report.rules}
    whole = {
        "source": {"name": "transferlint", "url": links.HOME},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(finding, report, pages.get(finding.code, "")) for finding in report.findings],
    }
    return escaping.data(json.dumps(whole, indent=2)) + "\n"


def _diagnostic(finding: Finding, report: Report, page: str) -> dict[str, Any]:
    site = finding.site
    text = report.texts.get(site.path, "")
    lines = lines_of(text)
    code = {"value": finding.code} | ({"url": page} if page else {})
    made: dict[str, Any] = {
        "message": finding.message + (f"\nUse instead: {finding.help}" if finding.help else ""),
        "location": {
            "path": site.path,
            "range": _range(lines, (site.line, site.column), (site.end_line, site.end_column)),
        },
        "severity": "ERROR" if finding.code == "TL001" else "WARNING",
        "code": code,
    }
    fix = finding.fix
    if fix and fix.edits and fix.safety is not Safety.DISPLAY and text:
        made["suggestions"] = [_suggestion(fix.edits, text, lines)]
    return made


def _suggestion(edits: Sequence[Edit], text: str, lines: Sequence[str]) -> dict[str, Any]:
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    start, end = ordered[0].start, max(edit.end for edit in ordered)
    made, at = "", start
    for edit in ordered:
        made += text[at : edit.start] + edit.text
        at = edit.end
    return {"range": _range(lines, position(text, start), position(text, end)), "text": made + text[at:end]}


def _range(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {"start": _position(lines, *start), "end": _position(lines, *max(start, end))}


def _position(lines: Sequence[str], line: int, column: int) -> dict[str, int]:
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + 1 if before else column}
