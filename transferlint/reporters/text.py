"""For people: each finding with its source, the evidence, how hot it is, and what to write instead."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from transferlint import rows as lines_of_pieces
from transferlint.model import Finding, Heat
from transferlint.reporters import excerpt, order, preview, statistics
from transferlint.reporters.order import Told
from transferlint.reporters.report import Report, fixable, lines_of, summary, tallies
from transferlint.rows import Row

_NARROWEST = 40  # cells: below that no source line would be left to look at

_STYLES = {
    "dim": "dim",
    "path": "bold",
    "code": "bold red",
    "site": "bold red",
    "evidence": "cyan",
    "label": "bold",
    "option": "green",
}


def render(report: Report, color: bool = False, quiet: bool = False, width: int = 0) -> str:
    """The report; with `color`, with ANSI codes. `quiet` leaves out the summary. `width` is that of the terminal in
    cells, to which everything is fitted; 0 for none: then each message stands on one line, for whoever searches it."""
    shown = blocks(report.findings, report.texts, report.unsafe, color, width)
    return "".join(block for _, block in shown) + tail(report, color, quiet)


def blocks(
    findings: Iterable[Finding], texts: Mapping[str, str], unsafe: bool, color: bool, width: int
) -> Iterator[tuple[Finding, str]]:
    """Findings in their order, each told once: the first of those that are told together, and what is said."""
    width = max(width, _NARROWEST) if width else 0
    rendered = lines_of_pieces.renderer(_STYLES, color)
    lines: dict[str, list[str]] = {}
    for one in order.told(findings, unsafe):
        path = one.finding.site.path
        if path not in lines:
            lines[path] = lines_of(texts.get(path, ""))
        rows = [*_finding(one, lines[path], unsafe, width), *preview.rows(one.finding, texts.get(path, ""), width), []]
        yield one.finding, rendered(rows)


def tail(report: Report, color: bool, quiet: bool) -> str:
    """What follows on the findings."""
    if quiet:
        return ""
    rows: list[Row] = [[("label", summary(report))]]
    rows += [[("", line)] for line in tallies(report.fixed, report.findings).splitlines()]
    if not report.fixed and len({code for code, _, _ in report.counted()}) > 1:
        rows += [[("", line)] for line in statistics.render(report).splitlines()]
    return lines_of_pieces.renderer(_STYLES, color)(rows)


def _finding(one: Told, lines: Sequence[str], unsafe: bool, width: int) -> Iterator[Row]:
    finding = one.finding
    site = finding.site
    first, *more = _wrapped(
        " ".join(finding.message.split()), width, len(f"{site.path}:{site.line}:{site.column} {finding.code} ")
    )
    place = f"{site.path}:{site.line}:{site.column}"
    yield [("path", place), ("", " "), ("code", finding.code), ("", f" {first}")]
    for line in more:
        yield [("", f"    {line}")]
    if lines != [""]:
        yield from excerpt.rows(finding, lines, width)
    if one.also:
        yield from _note("also", one.also, width=width)
    for words in excerpt.links(finding, lines):
        yield from _note("note", words, width=width)
    if finding.heat:
        yield from _note(*_heat(finding.heat), width=width)
    option = fixable(finding, unsafe)
    if finding.help:
        yield from _note("use instead", finding.help, option, width)
    elif finding.fix:
        yield from _note("fix", finding.fix.title, option, width)


def _wrapped(words: str, width: int, taken: int, indent: int = 4) -> list[str]:
    """The words as lines that fit, the first beside what has `taken` so many cells already, others after `indent`."""
    if not width or taken + len(words) <= width:
        return [words]
    if taken > width - 20:  # a long path: the words begin below it
        return ["", *textwrap.wrap(words, width - indent, break_long_words=False, break_on_hyphens=False)]
    filler = "\0" * max(0, taken - indent)
    found = textwrap.wrap(filler + words, width - indent, break_long_words=False, break_on_hyphens=False)
    return [found[0][len(filler) :], *found[1:]]


def _heat(heat: Heat) -> tuple[str, str]:
    label = "hot" if heat.hot else "heat"
    rare = [f"but {heat.amortised}"] if heat.amortised else []
    rare += [f"but {heat.cold}"] if heat.cold else []
    return label, ", ".join([heat.why or heat.level.words, *rare])


def _note(label: str, words: str, option: str = "", width: int = 0) -> list[Row]:
    first, *more = lines_of(words)
    first, *rest = _wrapped(first, width, len(f"   = {label}: "), indent=5)
    more = [*rest, *(line for one in more for line in _wrapped(one, width, 5, indent=5))]
    rows: list[Row] = [[("dim", "   = "), ("label", label), ("", f": {first}")]]
    rows += [[("", f"     {line}")] for line in more]
    if option:
        mark = f"   [fix: {option}]"
        if width and sum(len(text) for _, text in rows[-1]) + len(mark) > width:
            rows.append([("", "  "), ("option", mark)])
        else:
            rows[-1].append(("option", mark))
    return rows
