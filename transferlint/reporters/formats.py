"""The reporter of each format, imported when it is used."""

from __future__ import annotations

import importlib

from transferlint.reporters.report import Report

_FOR_PEOPLE = ("concise", "grouped")


def render(report: Report, form: str, color: bool = False, quiet: bool = False, width: int = 0) -> str:
    """The report in a format of `transferlint.formats.FORMATS`. `color`, `quiet` (no summary) and `width` (of the
    terminal, 0 for none) are for those that people read."""
    reporter = importlib.import_module(f"transferlint.reporters.{form.replace('-', '_')}")
    if form == "text":
        return str(reporter.render(report, color, quiet, width))
    return str(reporter.render(report, quiet) if form in _FOR_PEOPLE else reporter.render(report))
