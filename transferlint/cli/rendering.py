"""The report of a run as text: in one go, or from what it says of each file (`reporters/parts.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.cli import output
from transferlint.reporters import formats, parts
from transferlint.reporters.parts import Look, Part
from transferlint.reporters.report import Report
from transferlint.settings.formats import usual_order
from transferlint.settings.loading import Settings

if TYPE_CHECKING:
    from transferlint.cli.check_options import CheckOptions


def look(options: CheckOptions, settings: Settings, coloured: bool) -> Look | None:
    """How the findings of each file are shown; None where that does not go file by file."""
    if options.statistics or settings.output_format not in parts.FORMS:
        return None
    return Look(settings.output_format, _order(settings), settings.unsafe_fixes, coloured, _width(options))


def in_parts(report: Report, how: Look) -> list[tuple[str, Part]]:
    """What is said of the findings of each file, which are in order of place."""
    return [(path, parts.of_file(found, report.texts, how)) for path, found in parts.by_file(report.findings)]


def whole(report: Report, options: CheckOptions, settings: Settings, coloured: bool) -> str:
    """A report that does not go file by file."""
    name = settings.output_format
    if options.statistics:
        from transferlint.reporters import statistics

        return statistics.render_json(report) if name == "json" else statistics.render(report)
    return formats.render(report, name, coloured, options.quiet, _width(options))


def _order(settings: Settings) -> str:
    return settings.sort or usual_order(settings.output_format)


def _width(options: CheckOptions) -> int:
    return 0 if options.output_file else output.width()
