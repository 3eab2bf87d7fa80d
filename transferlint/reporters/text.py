"""For people: each finding with its source, the evidence, how hot it is, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from transferlint.model import Finding, Heat
from transferlint.reporters import excerpt, preview
from transferlint.reporters.excerpt import Row
from transferlint.reporters.report import Report, fixable, lines_of, summary, tallies

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
    return _coloured(rows) if color else "".join("".join(text for _, text in row).rstrip() + "\n" for row in rows)


def _finding(finding: Finding, lines: Sequence[str], unsafe: bool) -> Iterator[Row]:
    site = finding.site
    message = " ".join(finding.message.split())
    place = f"{site.path}:{site.line}:{site.column}"
    yield [("path", place), ("", " "), ("code", finding.code), ("", f" {message}")]
    if lines != [""]:
        yield from excerpt.rows(finding, lines)
    for words in excerpt.links(finding, lines):
        yield _note("note", words)
    if finding.heat:
        yield _note(*_heat(finding.heat))
    option = fixable(finding, unsafe)
    if finding.help:
        yield _note("use instead", finding.help, option)
    elif finding.fix:
        yield _note("fix", finding.fix.title, option)


def _heat(heat: Heat) -> tuple[str, str]:
    label = "hot" if heat.hot else "heat"
    if not heat.seen and "assumed" not in heat.why:
        label += " (assumed)"
    rare = [f"but {heat.amortised}"] if heat.amortised else []
    rare += [f"but {heat.cold}"] if heat.cold else []
    return label, ", ".join([heat.why or heat.level.words, *rare])


def _note(label: str, words: str, option: str = "") -> Row:
    row: Row = [("dim", "   = "), ("label", label), ("", ": " + words.replace("\n", "\n     "))]
    if option:
        row.append(("option", f"   [fix: {option}]"))
    return row


def _coloured(rows: Iterable[Row]) -> str:
    import io

    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", no_color=False, highlight=False)
    for row in rows:
        text = Text()
        for style, piece in row:
            text.append(piece, _STYLES.get(style, ""))
        text.rstrip()
        console.print(text, soft_wrap=True)
    return out.getvalue()
