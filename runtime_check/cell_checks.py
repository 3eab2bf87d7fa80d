"""What `check` says of a notebook's cells, held against what one of them moved."""

from __future__ import annotations

import ast
import dataclasses
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime_check import checking, verdicts
from runtime_check.records import Header, Run, SiteRecord
from runtime_check.verdicts import Verdict, VerdictKind
from transferlint.model import Site


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A cell as plain Python: `name` is the file name that its code was compiled with, and its lines are numbered as
    they stand in the cell."""

    name: str
    text: str


def said(
    cells: Sequence[Cell], records: Sequence[SiteRecord], time_source: str
) -> tuple[Mapping[tuple[str, int], Sequence[str]], Sequence[str]]:
    """What to say of lines, by the cell's name and line, and what of lines of the last cell at which nothing crossed.

    The cells are checked as one program, in their order, in a process of its own; those that are no Python are left
    out. Raises CheckError.
    """
    program = _Program(cells)
    with tempfile.TemporaryDirectory(prefix="transferlint-") as folder:
        path = Path(folder).resolve() / "notebook.py"
        path.write_text(program.text, encoding="utf-8")
        checked = checking.check(path.parent, [path])
        header = Header((), "", "", "", "", platform.python_version(), "guard", time_source)
        moved = tuple(program.moved(record, str(path)) for record in records)
        judged = verdicts.judge(checked.findings, Run(header, moved), root=str(path.parent), quiet=checked.quiet)
    crossed: dict[tuple[str, int], list[str]] = {}
    still = []
    for verdict in judged.verdicts:
        name, line = program.cell(verdict.finding.site.line)
        if verdict.records:
            crossed.setdefault((name, line), []).append(_words(verdict))
        elif name == cells[-1].name and verdict.kind is not VerdictKind.CONFIRMED:
            still.append(f"line {line}: {verdict.finding.code} {verdict.finding.message}; nothing crossed there")
    return crossed, still


class _Program:
    """Cells, one below the other."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._starts: dict[str, int] = {}
        lines: list[str] = []
        for cell in cells:
            if _is_python(cell.text):
                self._starts[cell.name] = len(lines)
                lines += cell.text.split("\n")
        self.text = "\n".join((*lines, ""))

    def moved(self, record: SiteRecord, path: str) -> SiteRecord:
        """The record as if the program had run as one file."""
        chain = tuple(self._site(site, path) for site in record.chain)
        user = None if record.user is None else self._site(record.user, path)
        return dataclasses.replace(record, site=self._site(record.site, path), user=user, chain=chain)

    def cell(self, line: int) -> tuple[str, int]:
        """The name of the cell that a line of the program is of, and its number there."""
        name, start = [one for one in self._starts.items() if one[1] < line][-1]
        return name, line - start

    def _site(self, site: Site, path: str) -> Site:
        start = self._starts.get(site.path)
        if start is None:
            return site
        return Site(path, site.line + start, site.column, site.end_line + start, site.end_column)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _words(verdict: Verdict) -> str:
    told = f"{verdict.kind.value}: {verdict.finding.code} {verdict.finding.message}"
    return f"{told} → {verdict.act}" if verdict.act else told
