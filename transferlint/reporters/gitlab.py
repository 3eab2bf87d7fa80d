"""GitLab's Code Quality report (docs.gitlab.com, ci/testing/code_quality, "Code Quality report format")."""

from __future__ import annotations

import json
from typing import Any

from transferlint import escaping
from transferlint.model import Confidence, Finding
from transferlint.reporters.report import Problem, Report, fingerprints

_SEVERITIES = {Confidence.CERTAIN: "major", Confidence.LIKELY: "minor", Confidence.POSSIBLE: "info"}


def render(report: Report) -> str:
    """A JSON list of what was found and what could not be done. Paths are relative to the folder of the run, which is
    to be the repository's; fingerprints stay when lines move, and no two are alike."""
    rows = [_finding(finding, key) for finding, key in zip(report.findings, fingerprints(report.findings), strict=True)]
    rows += [_problem(problem, number) for number, problem in enumerate(report.problems)]
    return escaping.data(json.dumps(rows, indent=2)) + "\n"


def _finding(finding: Finding, key: str) -> dict[str, Any]:
    words = f"{finding.code} {finding.message}" + (f" Use instead: {finding.help}" if finding.help else "")
    return {
        "description": words,
        "check_name": f"{finding.code} {finding.name}",
        "fingerprint": key,
        "severity": "blocker" if finding.code == "TL001" else _SEVERITIES[finding.confidence],
        "location": {
            "path": finding.site.path,
            "lines": {"begin": finding.site.line, "end": max(finding.site.line, finding.site.end_line)},
        },
    }


def _problem(problem: Problem, number: int) -> dict[str, Any]:
    return {
        "description": problem.message,
        "check_name": "transferlint",
        "fingerprint": f"problem-{number}-{problem.path}",
        "severity": "blocker",
        "location": {"path": problem.path or ".", "lines": {"begin": 1, "end": 1}},
    }
