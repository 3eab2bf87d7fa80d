"""What is open in the editor: texts under URIs, and the cells of notebooks."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit

from transferlint import late
from transferlint.server.positions import Lines, Range, edited
from transferlint.syntax import notebooks
from transferlint.syntax.source import Source, SourceError, decode, of_text

_DRIVE = late.pattern(r"/[A-Za-z]:")
_PYTHON = ("python", "")


@dataclasses.dataclass(frozen=True)
class Document:
    """An open document. `path` is its absolute path, "" where it is no file (`untitled:`); `cells` are those of a
    notebook, whose own text is empty."""

    uri: str
    path: str
    version: int
    text: str
    cells: tuple[Cell, ...] = ()
    notebook: bool = False

    def source(self, name: str) -> Source:
        """Its text as a file called `name` would have it. Raises SourceError, of a notebook with the number of the cell
        before the message ("cell 3, line 1: ...")."""
        if not self.notebook:
            return of_text(name, self.text)
        whole = self.whole()
        try:
            return Source(name, notebooks.to_text(whole), "utf-8", False, whole)
        except notebooks.NotebookError as error:
            where = f"cell {error.cell}, line {error.line}: " if error.cell is not None else ""
            raise SourceError(name, error.line, where + error.message) from None

    def is_saved(self) -> bool:
        """Whether its file has the same text; of a notebook that is not looked at."""
        try:
            with open(self.path, "rb") as file:
                return decode(self.path, file.read()).text == self.text
        except (OSError, ValueError, SourceError):
            return False

    def with_source(self, text: str) -> Document:
        """The document with another source."""
        if not self.notebook:
            return late.replace(self, text=text)
        new = dict(notebooks.split(text))
        cells = (late.replace(cell, text=new.get(at, cell.text)) for at, cell in enumerate(self.cells, start=1))
        return late.replace(self, cells=tuple(cells))

    def whole(self) -> str:
        """A notebook as its file would have it, without what is no source."""
        cells = [{"cell_type": "code" if cell.code else "markdown", "source": cell.text} for cell in self.cells]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def part(self, cell: int) -> tuple[str, str, int | None]:
        """The URI, text and version of a cell by its 1-based number, of the document itself for 0; a cell that is not
        there is the first."""
        if not self.notebook:
            return self.uri, self.text, self.version
        found = self.cells[cell - 1] if 0 < cell <= len(self.cells) else self.cells[0]
        return found.uri, found.text, found.version


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell of a notebook; `code` says that it is Python."""

    uri: str
    text: str
    version: int
    code: bool = True


class Documents:
    """The open documents by URI. `encoding` is that of positions."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._open: dict[str, Document] = {}
        self._texts: dict[str, Cell] = {}  # cells by their own URIs
        self._owners: dict[str, str] = {}

    def open(self, uri: str, version: int, text: str, language: str) -> Document | None:
        """Take up a document; None, and nothing, for one that is not Python."""
        path = path_of(uri)
        if language not in _PYTHON or path.endswith(".pyi"):
            return None
        self._open[uri] = Document(uri, path, version, text)
        return self._open[uri]

    def change(self, uri: str, version: int, changes: Iterable[tuple[Range | None, str]]) -> Document | None:
        """Apply changes, one after the other, to a document or a cell; the document that changed, None where it is not
        open."""
        owner = self._owners.get(uri)
        if owner is not None:
            cell = self._texts[uri]
            self._texts[uri] = late.replace(cell, text=self._changed(cell.text, changes), version=version)
            return self._with_cells(owner, [cell.uri for cell in self._open[owner].cells])
        known = self._open.get(uri)
        if known is None:
            return None
        text = self._changed(known.text, changes)
        self._open[uri] = late.replace(known, text=text, version=version)
        return self._open[uri]

    def _changed(self, text: str, changes: Iterable[tuple[Range | None, str]]) -> str:
        for change, new in changes:
            text = edited(text, change, new, self.encoding)
        return text

    def close(self, uri: str) -> Document | None:
        """Let go of a document; None where it was not open."""
        known = self._open.pop(uri, None)
        for cell in known.cells if known is not None else ():
            self._texts.pop(cell.uri, None)
            self._owners.pop(cell.uri, None)
        return known

    def open_notebook(self, uri: str, version: int, cells: Iterable[Cell]) -> Document:
        """Take up a notebook."""
        cells = tuple(cells)
        self._open[uri] = Document(uri, path_of(uri), version, "", cells, notebook=True)
        self.add_cells(uri, cells)
        return self._with_cells(uri, [cell.uri for cell in cells], version)

    def add_cells(self, uri: str, cells: Iterable[Cell]) -> None:
        """Take up cells of a notebook, which come into it by `arrange`."""
        for cell in cells:
            self._texts[cell.uri] = cell
            self._owners[cell.uri] = uri

    def arrange(self, uri: str, version: int, start: int, deleted: int, new: Iterable[str]) -> Document | None:
        """Put cells into a notebook in the place of others, by their URIs."""
        known = self._open.get(uri)
        if known is None:
            return None
        order = [cell.uri for cell in known.cells]
        order[start : start + deleted] = new
        return self._with_cells(uri, order, version)

    def _with_cells(self, uri: str, order: Iterable[str], version: int | None = None) -> Document:
        known = self._open[uri]
        cells = tuple(self._texts[one] for one in order if one in self._texts)
        # Its own version does not change with the text of its cells.
        made = known.version + 1 if version is None else max(version, known.version + 1)
        self._open[uri] = late.replace(known, cells=cells, version=made)
        return self._open[uri]

    def get(self, uri: str) -> Document | None:
        """A document by its URI, or that which a cell belongs to."""
        return self._open.get(self._owners.get(uri, uri))

    def all(self) -> tuple[Document, ...]:
        """All that are open, in the order in which they were opened."""
        return tuple(self._open.values())

    def texts(self) -> dict[str, str]:
        """The texts of those that are modules, by absolute path."""
        return {one.path: one.text for one in self._open.values() if one.path and not one.notebook}

    def lines(self, text: str) -> Lines:
        """The lines of a text, in the encoding of positions."""
        return Lines(text, self.encoding)


def path_of(uri: str) -> str:
    """The absolute path of a `file:` URI (RFC 8089), "" for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    path = unquote(parts.path)
    if os.name == "nt":
        if parts.netloc:
            path = f"//{parts.netloc}{path}"
        elif _DRIVE.match(path):
            path = path[1:]
    return os.path.normpath(path)


def uri_of(path: str) -> str:
    """The `file:` URI of an absolute path."""
    shown = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(shown if shown.startswith("/") else "/" + shown, safe="/:" if os.name == "nt" else "/")
