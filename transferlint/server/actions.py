"""What can be done about findings: fixes, suppressions, and all safe fixes at once (LSP 3.17, "Code Action")."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lsprotocol import types

from transferlint import late
from transferlint.model import Edit, Safety
from transferlint.server.diagnostics import SOURCE, protocol_range
from transferlint.server.documents import Document, Documents
from transferlint.server.edits import changed, differences
from transferlint.server.found import Found, touches
from transferlint.server.positions import Range
from transferlint.syntax import notebooks

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"
KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL)
_MARKS = {Safety.SAFE: "", Safety.UNSAFE: " (unsafe: review it)", Safety.DISPLAY: " (not proven: review it)"}
_OWN = "TL0"  # the rules about the linter's own comments and files: what they find is mended, not silenced


@dataclasses.dataclass(frozen=True)
class Offer:
    """Something that can be done: `what` is "fix", "ignore" or "all", about the finding `one` (None for all)."""

    title: str
    kind: str
    what: str
    one: Found | None = None
    preferred: bool = False

    def data(self, document: Document) -> dict[str, Any]:
        """What the client hands back when the edits are asked for."""
        number = self.one.number if self.one is not None else -1
        return {"uri": document.uri, "version": document.version, "what": self.what, "number": number}


def offers(found: Sequence[Found], uri: str, wanted: Range, only: Sequence[str] | None) -> Iterator[Offer]:
    """What can be done about the findings that touch a range of a document or cell, of the kinds that are asked for
    (None: of all)."""
    if _asked(types.CodeActionKind.QuickFix.value, only):
        here = [one for one in found if one.uri == uri and touches(one.range, wanted)]
        for one in here:
            fix = one.whole.fix
            if fix is not None and fix.edits:
                title = f"{SOURCE} ({one.told.code}): {fix.title}{_MARKS[fix.safety]}"
                yield Offer(title, types.CodeActionKind.QuickFix.value, "fix", one, fix.safety is Safety.SAFE)
        for one in here:
            if not one.told.code.startswith(_OWN):
                title = f"{SOURCE}: ignore {one.told.code} on this line, with a reason"
                yield Offer(title, types.CodeActionKind.QuickFix.value, "ignore", one)
    if _asked(FIX_ALL, only) and any(one.whole.fix and one.whole.fix.safety is Safety.SAFE for one in found):
        yield Offer(f"{SOURCE}: apply all safe fixes", FIX_ALL, "all")


def _asked(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind, or one that it is a part of, is asked for: "source.fixAll" asks for all parts of it."""
    return only is None or any(kind == one or kind.startswith(f"{one}.") or not one for one in only)


def changes(document: Document, edits: Iterable[Edit], documents: Documents, text: str) -> types.WorkspaceEdit:
    """Edits of a document's source `text` as a change of the workspace; those of a notebook, cell by cell."""
    parts = _by_cell(document, edits, text) if document.notebook else [_of_module(document, edits)]
    made = []
    for uri, version, own, new in parts:
        lines = documents.lines(own)
        made.append(
            types.TextDocumentEdit(
                text_document=types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version),
                edits=[types.TextEdit(protocol_range(lines.range(one.start, one.end)), one.text) for one in new],
            )
        )
    return types.WorkspaceEdit(document_changes=made)


# The URI, version and text of a document or cell, and its edits.
_Part = tuple[str, int | None, str, list[Edit]]


def _of_module(document: Document, edits: Iterable[Edit]) -> _Part:
    """The edits in order, with offsets into the document's text: a byte order mark is no part of its source."""
    by = int(document.text.startswith("\ufeff"))
    ordered = sorted(edits, key=lambda one: (one.start, one.end))
    shifted = [late.replace(one, start=one.start + by, end=one.end + by) for one in ordered]
    return document.uri, document.version, document.text, shifted


def _by_cell(document: Document, edits: Iterable[Edit], text: str) -> list[_Part]:
    before, after = dict(notebooks.split(text)), dict(notebooks.split(changed(text, list(edits))))
    found = []
    for number, cell in before.items():
        if after.get(number, cell) != cell:
            uri, own, version = document.part(number)
            found.append((uri, version, own, differences(own, after[number])))
    return found


def as_plain(edit: types.WorkspaceEdit) -> types.WorkspaceEdit:
    """The change for a client that knows no versions of documents."""
    made: dict[str, list[types.TextEdit]] = {}
    for one in edit.document_changes or ():
        if isinstance(one, types.TextDocumentEdit):
            made[one.text_document.uri] = [each for each in one.edits if isinstance(each, types.TextEdit)]
    return types.WorkspaceEdit(changes=made)
