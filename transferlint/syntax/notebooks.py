"""Jupyter notebooks as one text of Python, and back (nbformat.readthedocs.io, "The Notebook file format", version 4).

Each code cell stands below a comment that names it (`# %% cell 3`; cells are counted from 1, those without code too)
and a blank line, so that the comment is about no statement.
What IPython reads and Python does not (ipython.readthedocs.io, "Built-in magic commands"; `!` and `?`) is put behind a
comment on its own line, after an expression of which nothing is known, so that no line moves and all of it comes back.
When a text has changed, only the `source` of cells that differ is written anew into the file's own bytes: outputs,
metadata, the order of keys and the indentation stay as they are.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from transferlint import late

SUFFIX = ".ipynb"
MAX_BYTES = 100_000_000  # pictures in outputs make notebooks large, and they are only passed over

_MARK = late.pattern(r"^# %% cell (\d+)\n\n", re.MULTILINE)
_UNKNOWN = "get_ipython()  #|"
_COVER = "#|"
_REST = "get_ipython()  #||"  # the whole line is behind it, its indentation too
_LINE = late.pattern(r"(\s*)([%!?].*|[\w.%*]+\?{1,2}\s*)$")
_ASSIGNED = late.pattern(r"(\s*[\w.,\[\]'\" ]+=\s*)([%!].*)$")
_COVERED = late.pattern(r"^[ \t]*get_ipython\(\)  #\|\||get_ipython\(\)  #\||^#\|", re.MULTILINE)
# Cell magics whose cell is Python in this process (`%%time`); the cells of all others are another language, or a file.
_PYTHON_CELLS = ("time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "script-python", "python")
_BLANK = late.pattern(r"[ \t\r\n]*")
_NOTHING = late.pattern(r"(?:\s|#[^\n]*)*")


class NotebookError(Exception):
    """A notebook that cannot be read or written: `cell` 1-based or None, a 1-based `line` within it, one line of
    text."""

    def __init__(self, cell: int | None, line: int, message: str) -> None:
        self.cell, self.line, self.message = cell, line, message
        super().__init__(message)


@late.dataclass(frozen=True, slots=True)
class Place:
    """A line of the text as a person finds it: the cell and the line within it, both 1-based."""

    cell: int
    line: int


@late.dataclass(frozen=True, slots=True)
class _Cell:
    """A code cell: its number, its text, and where its `source` stands in the notebook."""

    number: int
    text: str
    start: int
    end: int


def to_text(notebook: str) -> str:
    """The text of a notebook's code. Raises NotebookError."""
    parts = []
    for cell in _cells(notebook):
        parts.append(f"# %% cell {cell.number}\n\n{_covered(cell)}\n")
    return "".join(parts)


def to_notebook(notebook: str, text: str) -> str:
    """The notebook with what its cells are in a text that was changed. Raises NotebookError where a change goes across
    cells."""
    new = dict(split(text))
    cells = list(_cells(notebook))
    if list(new) != [cell.number for cell in cells] or not text.startswith("# %%" if cells else ""):
        raise NotebookError(None, 1, "a change goes across cells")
    plain = notebook.isascii()
    for cell in reversed(cells):
        if new[cell.number] != cell.text:
            made = _as_source(notebook[cell.start : cell.end], new[cell.number], ensure_ascii=plain)
            notebook = notebook[: cell.start] + made + notebook[cell.end :]
    return notebook


def split(text: str) -> list[tuple[int, str]]:
    """The number and the original text of each cell of a text."""
    marks = list(_MARK.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    return [(int(mark[1]), uncovered(text[mark.end() : end - 1])) for mark, end in zip(marks, ends, strict=True)]


def place(text: str, line: int) -> Place:
    """Where a 1-based line of the text stands; that of a cell's mark counts as the cell's first."""
    number, first = 1, 0
    for mark in _MARK.finditer(text):
        at = text.count("\n", 0, mark.start()) + 1
        if at > line:
            break
        number, first = int(mark[1]), at + 1
    return Place(number, max(1, line - first))


def displayed(text: str, start: int, end: int) -> bool:
    """Whether a notebook shows the value of the expression between two offsets of its text: the last statement of a
    cell, at its top level, without a semicolon behind it (IPython's `ast_node_interactivity`, "last_expr")."""
    if start and text[start - 1] != "\n":
        return False
    following = _MARK.search(text, end)
    return _NOTHING.fullmatch(text, end, following.start() if following else len(text)) is not None


def uncovered(text: str) -> str:
    """A text of Python with what was put behind comments as it was."""
    return _COVERED.sub("", text)


def _cells(notebook: str) -> Iterator[_Cell]:
    """The code cells that are Python. Raises NotebookError."""
    import json  # which files of Python do without

    try:
        whole = json.loads(notebook)
    except (ValueError, RecursionError) as error:
        raise NotebookError(None, getattr(error, "lineno", 1), f"is no notebook: not JSON: {error}") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
        old = isinstance(whole, dict) and "worksheets" in whole
        hint = (
            "of a format before 4; `jupyter nbconvert --to notebook` brings it up to date" if old else "without cells"
        )
        raise NotebookError(None, 1, f"is a notebook {hint}")
    language = _language(whole)
    if language not in ("python", ""):
        return
    start = dict(_members(notebook, _skip(notebook, 0)))["cells"]
    for number, at in enumerate(_items(notebook, start), start=1):
        cell = whole["cells"][number - 1]
        if not isinstance(cell, dict) or cell.get("cell_type") != "code" or "source" not in cell:
            continue
        source = cell["source"]
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise NotebookError(number, 1, "its source is no text")
        begin = dict(_members(notebook, at))["source"]
        yield _Cell(number, source, begin, _end(notebook, begin))


def _language(whole: dict[str, Any]) -> str:
    """The language of a notebook's kernel in lower case, "" where it says none."""
    metadata = whole.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(part, dict) and isinstance(part.get(name), str):
            return str(part[name]).lower()
    return ""


def _covered(cell: _Cell) -> str:
    """A cell's text as Python. Raises NotebookError where it is not, whatever is made of its magics."""
    lines = cell.text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        name = lines[first][2:].split(" ")[0].split("(")[0].strip()
        if name not in _PYTHON_CELLS:
            return "\n".join(_COVER + line for line in lines)
        lines[first] = _REST + lines[first]
    while True:
        text = "\n".join(lines)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        except SyntaxError as error:
            if not _cover_one(lines, error.lineno or 1):
                line = min(max(error.lineno or 1, 1), len(lines))
                raise NotebookError(cell.number, line, f"syntax error: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise NotebookError(cell.number, 1, f"cannot be read: {error}") from None
        else:
            return text


def _cover_one(lines: list[str], number: int) -> bool:
    """Cover the line on which the parser stopped, or the nearest one before, that only IPython reads; False for none.
    What a backslash joins to it belongs to it."""
    for at in range(min(number, len(lines)) - 1, -1, -1):
        line = lines[at]
        found = _LINE.match(line) or _ASSIGNED.match(line)
        if found is None or _UNKNOWN in line:
            continue
        lines[at] = found[1] + _UNKNOWN + found[2]
        while lines[at].endswith("\\") and at + 1 < len(lines):
            at += 1
            lines[at] = line[: len(line) - len(line.lstrip())] + _REST + lines[at]
        return True
    return False


def _as_source(before: str, text: str, ensure_ascii: bool) -> str:
    """A cell's source as JSON, in the form that it had: one string, or a list of lines."""
    import json

    if before.startswith('"'):
        return json.dumps(text, ensure_ascii=ensure_ascii)
    inner = before[1:-1]
    stripped = inner.strip()
    gap = inner[: len(inner) - len(inner.lstrip())] if stripped else "\n    "
    end = inner[len(inner.rstrip()) :] if stripped else "\n   "
    lines = [json.dumps(line, ensure_ascii=ensure_ascii) for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    return f"[{gap}{(',' + (gap or ' ')).join(lines)}{end}]" if lines else "[]"


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    """The end of the JSON value that begins here."""
    import json

    return json.JSONDecoder(strict=False).raw_decode(text, at)[1]


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The keys of the JSON object that begins here, each with where its value begins. The text is sound JSON."""
    from json.decoder import scanstring  # type: ignore[attr-defined]

    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1, False)
        at = _skip(text, _skip(text, at) + 1)
        yield key, at
        at = _skip(text, _end(text, at))
        at = _skip(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[int]:
    """Where the items of the JSON array that begins here begin."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        at = _skip(text, _end(text, at))
        at = _skip(text, at + 1) if text[at] == "," else at
