"""SARIF 2.1.0 (OASIS): what code-scanning services and editors read. Section numbers are those of the standard."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from transferlint import escaping, links
from transferlint.model import Confidence, Finding, Fix, Safety, Site
from transferlint.reporters.report import Problem, Report, RuleCard, fingerprints, position

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# The one that GitHub tells findings apart by (docs.github.com, "SARIF support for code scanning").
_LINE_HASH = "primaryLocationLineHash"
_RANKS = {Confidence.CERTAIN: 100.0, Confidence.LIKELY: 75.0, Confidence.POSSIBLE: 25.0}


def render(report: Report) -> str:
    """The report as a SARIF log of one run. Columns count code points (3.14.17), as everywhere else here."""
    cards = _cards(report)
    index = {card.code: number for number, card in enumerate(cards)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "transferlint",
                "semanticVersion": report.version or "0",
                "informationUri": links.HOME,
                "rules": [_rule(card) for card in cards],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"uri": _folder_uri(report.root)}} if report.root else {},
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [_notification(problem) for problem in report.problems],
            }
        ],
        "results": [
            _result(finding, key, report, index)
            for finding, key in zip(report.findings, fingerprints(report.findings), strict=True)
        ],
    }
    if report.shard:  # 3.17.3: what is before the last slash says which runs succeed one another
        run["automationDetails"] = {"id": f"transferlint/shard-{report.shard.replace('/', '-of-')}/"}
    if not run["originalUriBaseIds"]:
        del run["originalUriBaseIds"]
    return escaping.data(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)) + "\n"


def _cards(report: Report) -> list[RuleCard]:
    """The known rules, and a bare card for every code that was found without one."""
    cards = {card.code: card for card in report.rules}
    for finding in report.findings:
        cards.setdefault(finding.code, RuleCard(finding.code, finding.name, finding.name, "", True, "", ""))
    return [cards[code] for code in sorted(cards)]


def _rule(card: RuleCard) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": card.code,
        "name": card.name,
        "shortDescription": {"text": card.summary},
        "fullDescription": {"text": card.summary},
        "defaultConfiguration": {"enabled": card.default, "level": "warning"},
        "properties": {"tags": [tag for tag in ("performance", card.category) if tag]},
    }
    if card.url:
        rule["helpUri"] = card.url
    if card.doc:
        rule["help"] = {"text": card.doc, "markdown": card.doc}
    return rule


def _result(finding: Finding, key: str, report: Report, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": "error" if finding.code.startswith("TL0") else "warning",
        "rank": _RANKS[finding.confidence],
        "message": {"text": finding.message + (f". Use instead: {finding.help}" if finding.help else "")},
        "locations": [{"physicalLocation": _place(finding.site)}],
        "partialFingerprints": {"transferlint/v1": key, _LINE_HASH: key},
    }
    if finding.context:
        result["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": finding.context, "kind": "function"}]
    if finding.evidence:
        steps = [*((link.site, link.words) for link in finding.evidence), (finding.site, finding.message)]
        flow = [{"location": {"physicalLocation": _place(site), "message": {"text": text}}} for site, text in steps]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if finding.heat:
        result["properties"] = {"heat": finding.heat.level.name.lower(), "why": finding.heat.why}
    text = report.texts.get(finding.site.path)
    if finding.fix and finding.fix.edits and finding.fix.safety is not Safety.DISPLAY and text is not None:
        result["fixes"] = [_fix(finding.fix, finding.site.path, text)]
    return result


def _place(site: Site) -> dict[str, Any]:
    region = {"startLine": site.line, "startColumn": site.column, "endLine": max(site.end_line, site.line)}
    region["endColumn"] = max(1, site.end_column)
    if region["endLine"] == site.line:
        region["endColumn"] = max(site.end_column, site.column)
    return {"artifactLocation": _artifact(site.path), "region": region}


def _artifact(path: str) -> dict[str, Any]:
    """Relative paths hang on %SRCROOT% (3.4.4); an absolute one is a URI of its own."""
    if os.path.isabs(path):
        return {"uri": "file://" + _quoted("/" + path.lstrip("/"))}
    return {"uri": _quoted(path), "uriBaseId": "%SRCROOT%"}


def _fix(fix: Fix, path: str, text: str) -> dict[str, Any]:
    replacements = []
    for edit in fix.edits:
        (line, column), (end_line, end_column) = position(text, edit.start), position(text, edit.end)
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
        replacements.append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    changes = [{"artifactLocation": _artifact(path), "replacements": replacements}]
    mark = " (unsafe: review it)" if fix.safety is Safety.UNSAFE else ""
    return {"description": {"text": fix.title + mark}, "artifactChanges": changes}


def _notification(problem: Problem) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": problem.message}}
    if problem.path:
        notification["locations"] = [{"physicalLocation": {"artifactLocation": _artifact(problem.path)}}]
    return notification


def _folder_uri(folder: str) -> str:
    return "file://" + _quoted("/" + folder.replace(os.sep, "/").strip("/")).rstrip("/") + "/"


def _quoted(path: str) -> str:
    try:
        return quote(os.fsencode(path), safe="/")
    except UnicodeEncodeError:  # half of a pair, as Windows allows it in names
        return quote(path.encode("utf-8", "surrogatepass"), safe="/")
