"""What was found in a notebook's text, told by its cells: `notebook.ipynb:cell 3`, line 12."""

from __future__ import annotations

import re

from transferlint import late
from transferlint.engine.plan import Outcome
from transferlint.model import Edit, Evidence, Finding, Fix, QuietSite, Site
from transferlint.syntax import notebooks
from transferlint.syntax.notebooks import SUFFIX


def by_cells(outcome: Outcome) -> tuple[Outcome, dict[str, str]]:
    """An outcome whose findings of a notebook stand in cells, and the texts that their lines refer to; that of any
    other file as it is."""
    if not outcome.path.endswith(SUFFIX) or not outcome.text:
        return outcome, {outcome.path: outcome.text} if outcome.findings else {}
    text = outcome.text
    texts = {_name(outcome.path, number): cell for number, cell in notebooks.split(text)}
    told = late.replace(
        outcome,
        findings=tuple(_finding(one, text, texts) for one in outcome.findings),
        quiet=tuple(_quiet(one, text) for one in outcome.quiet),
    )
    return told, texts


def _name(path: str, cell: int) -> str:
    return f"{path}:cell {cell}"


def _link(link: Evidence, text: str) -> Evidence:
    return late.replace(link, site=_site(link.site, text), message=_words(link.message, text))


def _finding(finding: Finding, text: str, texts: dict[str, str]) -> Finding:
    path = finding.site.path
    site = _site(finding.site, text)
    links = [_link(link, text) if link.site.path == path else link for link in finding.evidence]
    heat = finding.heat and late.replace(finding.heat, why=_words(finding.heat.why, text))
    fix = _fix(finding.fix, text, site.path, texts.get(site.path, "")) if finding.fix else None
    return late.replace(
        finding,
        site=site,
        message=_words(finding.message, text),
        help=_words(finding.help, text),
        evidence=tuple(links),
        heat=heat,
        fix=fix,
    )


def _words(words: str, text: str) -> str:
    """What is said of a finding, with the lines that it names by cell; code in it stays as it is."""

    def by_cell(found: re.Match[str]) -> str:
        at = notebooks.place(text, int(found[1]))
        return f"at cell {at.cell}:{at.line}"

    pieces = re.split(r"(`[^`]*`)", words)
    return "".join(one if at % 2 else re.sub(r"\bat line (\d+)", by_cell, one) for at, one in enumerate(pieces))


def _quiet(one: QuietSite, text: str) -> QuietSite:
    return late.replace(one, site=_site(one.site, text))


def _site(site: Site, text: str) -> Site:
    start, end = notebooks.place(text, site.line), notebooks.place(text, site.end_line)
    if end.cell != start.cell:
        end = start
    return Site(_name(site.path, start.cell), start.line, site.column, end.line, site.end_column)


def _fix(fix: Fix, text: str, path: str, cell: str) -> Fix:
    """The fix with offsets into its cell; without edits where it reaches beyond it."""
    name = path.rpartition(":")[0]
    edits = []
    for edit in fix.edits:
        ends = [_offset(text, offset, name, path, cell) for offset in (edit.start, edit.end)]
        if ends[0] is None or ends[1] is None:
            return late.replace(fix, edits=())
        edits.append(Edit(ends[0], ends[1], edit.text))
    return late.replace(fix, edits=tuple(edits))


def _offset(text: str, offset: int, name: str, path: str, cell: str) -> int | None:
    """An offset into the notebook's text as one into the text of a cell, None where it stands in another."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1)
    place = notebooks.place(text, line)
    if _name(name, place.cell) != path:
        return None
    starts = [0, *(at + 1 for at, character in enumerate(cell) if character == "\n")]
    return min(starts[place.line - 1] + column, len(cell)) if place.line <= len(starts) else None
