"""Everything, as one JSON object: `version`, `findings`, `errors`, `summary` and, where asked for, `quiet`. Within a
`format_version` keys are only ever added; `report.schema.json` describes them (`transferlint schema report`)."""

from __future__ import annotations

import collections
import json
from typing import Any

from transferlint import escaping
from transferlint.model import Evidence, Finding, Fix, Heat, QuietSite, Site
from transferlint.reporters.report import Report, fingerprint, fixable, position

VERSION = 1


def render(report: Report) -> str:
    """The report as JSON, indented, in ASCII. Lines and columns are 1-based code points, offsets 0-based."""
    options = [fixable(finding, report.unsafe) for finding in report.findings]
    whole: dict[str, Any] = {
        "format_version": VERSION,
        "version": report.version,
        "findings": [finding_data(finding, report) for finding in report.findings],
        "errors": [{"path": problem.path or None, "message": problem.message} for problem in report.problems],
        "summary": {
            "files": report.files,
            "findings": len(report.findings),
            "fixed": len(report.fixed),
            "fixable": options.count("--fix"),
            "fixable_unsafely": options.count("--unsafe-fixes"),
            "fixed_by_code": dict(sorted(collections.Counter(finding.code for finding in report.fixed).items())),
            "suppressed": len(report.silenced),
            "in_baseline": report.known,
            "by_code": dict(sorted(collections.Counter(finding.code for finding in report.findings).items())),
        },
    }
    if report.shard:
        whole["shard"] = report.shard
    if report.quiet is not None:
        whole["quiet"] = [_quiet(one) for one in report.quiet]
    return escaping.data(json.dumps(whole, indent=2)) + "\n"


def finding_data(finding: Finding, report: Report) -> dict[str, Any]:
    """One finding as an object."""
    return {
        **_site(finding.site),
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "help": finding.help,
        "confidence": finding.confidence.name.lower(),
        "heat": _heat(finding.heat),
        "evidence": [_evidence(finding, link) for link in finding.evidence],
        "fix": _fix(finding.fix, report.texts.get(finding.site.path, "")),
        "framework": finding.framework,
        "context": finding.context,
        "fingerprint": fingerprint(finding),
    }


def _quiet(one: QuietSite) -> dict[str, Any]:
    direction = None if one.direction is None else one.direction.value
    return {**_site(one.site), "direction": direction, "kind": one.kind, "reason": one.reason}


def _evidence(finding: Finding, link: Evidence) -> dict[str, Any]:
    data = {**_site(link.site), "message": link.message, "part": link.part.value}
    if not link.code:
        return data
    return {**data, "code": link.code, "name": link.name, "fingerprint": fingerprint(finding.member(link))}


def _site(site: Site) -> dict[str, Any]:
    return {
        "path": site.file,
        **({"cell": site.cell} if site.cell else {}),
        "line": site.line,
        "column": site.column,
        "end_line": site.end_line,
        "end_column": site.end_column,
    }


def _heat(heat: Heat | None) -> dict[str, Any] | None:
    if heat is None:
        return None
    return {
        "level": heat.level.name.lower(),
        "hot": heat.hot,
        "seen": heat.seen,
        "why": heat.why,
        "amortised": heat.amortised,
        "cold": heat.cold,
        "share": heat.share,
    }


def _fix(fix: Fix | None, text: str) -> dict[str, Any] | None:
    if fix is None:
        return None
    edits = []
    for edit in fix.edits:
        (line, column), (end_line, end_column) = position(text, edit.start), position(text, edit.end)
        edits.append(
            {
                "start": edit.start,
                "end": edit.end,
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "text": edit.text,
            }
        )
    return {"title": fix.title, "safety": fix.safety.name.lower(), "edits": edits}
