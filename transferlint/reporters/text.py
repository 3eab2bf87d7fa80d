"""For people: each finding with its source, the evidence, how hot it is, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transferlint import rows as lines_of_pieces
from transferlint.model import Finding, Heat
from transferlint.reporters import excerpt, preview
from transferlint.reporters.report import Report, fixable, lines_of, summary, tallies
from transferlint.rows import Row

_STYLES = {
    "dim": "dim",
    "path": "bold",
    "code": "bold red",
    "site": "bold red",
    "evidence": "cyan",
    "label": "bold",
    "option": "green",
}


def render(report: Report, color: bool = False, quiet: bool = False) -> str:
    """The report; with `color`, with ANSI codes. `quiet` leaves out the summary line."""
    rows: list[Row] = []
    texts: dict[str, list[str]] = {}
    for finding in report.findings:
        path = finding.site.path
        if path not in texts:
            texts = {path: lines_of(report.texts.get(path, ""))}  # findings come file by file
        rows.extend(_finding(finding, texts[path], report.unsafe))
        rows.extend(preview.rows(finding, report.texts.get(path, "")))
        rows.append([])
    if not quiet:
        rows.append([("label", summary(report))])
        rows += [[("", line)] for line in tallies(report.fixed, report.findings).splitlines()]
    return lines_of_pieces.render(rows, _STYLES, color)


def _finding(finding: Finding, lines: Sequence[str], unsafe: bool) -> Iterator[Row]:
    site = finding.site
    message = " ".join(finding.message.split())
    place = f"{site.path}:{site.line}:{site.column}"
    yield [("path", place), ("", " "), ("code", finding.code), ("", f" {message}")]
    if lines != [""]:
        yield from excerpt.rows(finding, lines)
    for words in excerpt.links(finding, lines):
        yield from _note("note", words)
    if finding.heat:
        yield from _note(*_heat(finding.heat))
    option = fixable(finding, unsafe)
    if finding.help:
        yield from _note("use instead", finding.help, option)
    elif finding.fix:
        yield from _note("fix", finding.fix.title, option)


def _heat(heat: Heat) -> tuple[str, str]:
    label = "hot" if heat.hot else "heat"
    if not heat.seen and "assumed" not in heat.why:
        label += " (assumed)"
    rare = [f"but {heat.amortised}"] if heat.amortised else []
    rare += [f"but {heat.cold}"] if heat.cold else []
    return label, ", ".join([heat.why or heat.level.words, *rare])


def _note(label: str, words: str, option: str = "") -> list[Row]:
    first, *more = lines_of(words)
    rows: list[Row] = [[("dim", "   = "), ("label", label), ("", f": {first}")]]
    rows += [[("", f"     {line}")] for line in more]
    if option:
        rows[-1].append(("option", f"   [fix: {option}]"))
    return rows
