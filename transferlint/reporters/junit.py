"""JUnit's XML, as Jenkins, GitLab, Azure and CircleCI read it: a suite a file, a failed case a finding."""

from __future__ import annotations

import itertools
from xml.sax.saxutils import escape, quoteattr

from transferlint import escaping
from transferlint.model import Finding
from transferlint.reporters.report import Problem, Report


def render(report: Report) -> str:
    """The report. Where nothing was found and all could be done, one case that passed says so: readers take a report
    without cases for a broken one."""
    found = len(report.findings)
    broken = len(report.problems)
    empty = not found and not broken
    suites: list[str] = []
    by_path = sorted(report.findings, key=lambda finding: finding.site.path)
    for path, group in itertools.groupby(by_path, key=lambda finding: finding.site.path):
        cases = [_case(finding) for finding in group]
        suites += _suite(path, cases, failures=len(cases))
    if report.problems:
        suites += _suite("problems", [_error(problem) for problem in report.problems], errors=broken)
    if empty:
        suites += _suite("transferlint", [f'<testcase name="nothing found in {report.files} files"/>'])
    head = f'<testsuites name="transferlint" tests="{found + broken + empty}" failures="{found}" errors="{broken}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *suites, "</testsuites>", ""])


def _suite(name: str, cases: list[str], failures: int = 0, errors: int = 0) -> list[str]:
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    return [f"  <testsuite name={_attribute(name)} {counts}>", *(f"    {case}" for case in cases), "  </testsuite>"]


def _case(finding: Finding) -> str:
    site = finding.site
    name = f"{finding.code} {finding.name} at {site.path}:{site.line}:{site.column}"
    place = f'classname={_attribute(site.path)} file={_attribute(site.path)} line="{site.line}"'
    words = [f"{site.path}:{site.line}:{site.column} {finding.code} {finding.message}"]
    words += [f"hot: {finding.heat.why}"] if finding.heat and finding.heat.hot else []
    words += [f"use instead: {finding.help}"] if finding.help else []
    body = "\n".join(escape(escaping.escaped(line)) for line in words)
    failure = f"<failure type={_attribute(finding.code)} message={_attribute(finding.message)}>{body}</failure>"
    return f"<testcase name={_attribute(name)} {place}>{failure}</testcase>"


def _error(problem: Problem) -> str:
    name = problem.path or "transferlint"
    return f"<testcase name={_attribute(name)}><error message={_attribute(problem.message)}/></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(escaping.escaped(text))
