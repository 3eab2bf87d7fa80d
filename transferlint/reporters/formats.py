"""The reporter of each format, imported when it is used."""

from __future__ import annotations

import importlib

from transferlint import late
from transferlint.model import Evidence, Finding, Site
from transferlint.reporters.report import Report

# Their readers look for a line in a file: a notebook's cells are no such lines.
_OF_FILES = ("sarif", "github", "gitlab", "azure", "junit", "rdjson")
_FOR_PEOPLE = ("concise", "grouped")


def render(report: Report, form: str, color: bool = False, quiet: bool = False, width: int = 0) -> str:
    """The report in a format of `settings.formats.FORMATS`. `color`, `quiet` (no summary) and `width` (of the
    terminal, 0 for none) are for those that people read."""
    reporter = importlib.import_module(f"transferlint.reporters.{form.replace('-', '_')}")
    if form in _OF_FILES:
        report = late.replace(report, findings=tuple(map(_on_file, report.findings)))
    if form == "text":
        return str(reporter.render(report, color, quiet, width))
    return str(reporter.render(report, quiet) if form in _FOR_PEOPLE else reporter.render(report))


def _on_file(finding: Finding) -> Finding:
    """The finding on its file, where it stands in a notebook's cell: the cell and the line go into the words."""
    if not finding.site.cell:
        return finding
    links = tuple(_link_on_file(link) if link.site.cell else link for link in finding.evidence)
    words = f"{_cell(finding.site)}: {finding.message}"
    return late.replace(finding, site=_whole(finding.site), message=words, evidence=links, fix=None)


def _link_on_file(link: Evidence) -> Evidence:
    return late.replace(link, site=_whole(link.site), message=f"{_cell(link.site)}: {link.message}")


def _whole(site: Site) -> Site:
    return Site(site.file, 1, 1, 1, 1)


def _cell(site: Site) -> str:
    return f"cell {site.cell}:{site.line}:{site.column}"
