"""One JSON object a line, each a finding as in the JSON report; what could not be done is on standard error alone."""

from __future__ import annotations

import json

from transferlint import escaping
from transferlint.reporters.json import finding_data
from transferlint.reporters.report import Report


def render(report: Report) -> str:
    """The findings, a line each, in ASCII."""
    return "".join(
        escaping.data(json.dumps(finding_data(finding, report), separators=(",", ":"))) + "\n"
        for finding in report.findings
    )
