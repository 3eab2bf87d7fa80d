"""One client: what it can do, what it has open, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from transferlint import escaping
from transferlint.server import actions, edits, hover
from transferlint.server.checking import Analysis, Checker
from transferlint.server.diagnostics import diagnostic, protocol_range
from transferlint.server.documents import Document, Documents, path_of
from transferlint.server.found import Found, around, evidence, found
from transferlint.server.positions import UTF16, Position, Range
from transferlint.server.projects import Projects, ScopesFor


class Session:
    """What goes on between one client and the server. `scopes_for` and `cache` are those of `Projects`, `page` gives
    the address of a rule's page by its code, `notes` are lines to log once the client listens."""

    def __init__(
        self,
        server: LanguageServer,
        scopes_for: ScopesFor,
        cache: str,
        page: Callable[[str], str],
        notes: Sequence[str] = (),
    ) -> None:
        self.documents = Documents(UTF16)
        self.projects = Projects(scopes_for, cache)
        self.checker = Checker(self.documents, self.projects, self._publish, self._failed)
        self.server = server
        self.pulls = False
        self.can: dict[str, bool] = {}
        self._page = page
        self._notes = list(notes)
        self._said: set[str] = set()

    def begin(self, capabilities: types.ClientCapabilities, encoding: str) -> None:
        """Take note of what the client can do, and of how it counts positions."""
        self.documents.encoding = encoding
        text = capabilities.text_document
        space = capabilities.workspace
        edit = space.workspace_edit if space is not None else None
        watching = space.did_change_watched_files if space is not None else None
        pulling = space.diagnostics if space is not None else None
        published = text.publish_diagnostics if text is not None else None
        action = text.code_action if text is not None else None
        resolving = action.resolve_support if action is not None else None
        hovering = text.hover.content_format if text is not None and text.hover is not None else None
        self.pulls = text is not None and text.diagnostic is not None
        self.can = {
            "watch": bool(watching is not None and watching.dynamic_registration),
            "refresh": bool(pulling is not None and pulling.refresh_support),
            "related": self.pulls or bool(published is not None and published.related_information),
            "versions": bool(edit is not None and edit.document_changes),
            "resolve": bool(resolving is not None and "edit" in resolving.properties),
            "markdown": hovering is None or types.MarkupKind.Markdown in hovering,
        }

    def log(self, line: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """A line for the client's log, unless it stands there already."""
        line = escaping.escaped(" ".join(line.split()))
        if line not in self._said:
            self._said.add(line)
            self.server.window_log_message(types.LogMessageParams(kind, f"transferlint: {line}"))

    def started(self) -> None:
        """The client listens."""
        for note in self._notes:
            self.log(note, types.MessageType.Warning)

    def changed_context(self, note: Callable[[], None]) -> None:
        """Files, settings or folders changed, as `note` tells the projects; what was logged of them counts anew."""
        self._said.clear()
        self.checker.context_changed(note)
        if self.pulls and self.can["refresh"]:
            self.server.workspace_diagnostic_refresh(None)

    def closed(self, document: Document) -> None:
        """A document is open no more: what was said of it is taken back."""
        self.checker.closed(document.uri)
        if not self.pulls:
            for uri in [document.uri, *(cell.uri for cell in document.cells)]:
                self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _failed(self, document: Document, error: Exception) -> None:
        words = " ".join(str(error).split())[:300]
        name = type(error).__name__
        told = words if name == "SettingsError" else f"{path_of(document.uri) or document.uri}: {name}: {words}"
        self.log(told)

    def _publish(self, analysis: Analysis) -> None:
        checked = analysis.checked
        if checked is None:
            return  # what was found before stands, and the log says why
        for line in analysis.notes:
            self.log(line, types.MessageType.Warning)
        for trouble in checked.outcome.troubles:
            self.log(str(trouble))
        for note in checked.outcome.notes:
            self.log(note, types.MessageType.Warning)
        if self.pulls and not analysis.document.notebook:
            return
        document = analysis.document
        parts = [(cell.uri, cell.version) for cell in document.cells] or [(document.uri, document.version)]
        by_part = self.diagnostics(analysis)
        for uri, version in parts:
            given = types.PublishDiagnosticsParams(uri, by_part.get(uri, []), version)
            self.server.text_document_publish_diagnostics(given)

    def diagnostics(self, analysis: Analysis) -> dict[str, list[types.Diagnostic]]:
        """What was found, by document or cell."""
        made: dict[str, list[types.Diagnostic]] = {}
        for one in found(analysis, self.documents):
            made.setdefault(one.uri, []).append(self._diagnostic(one, analysis))
        return made

    def _diagnostic(self, one: Found, analysis: Analysis) -> types.Diagnostic:
        links = evidence(one, analysis, self.documents) if self.can["related"] else []
        return diagnostic(one, links, self._page)

    async def pulled(self, uri: str) -> list[types.Diagnostic]:
        """What is found in the newest text of a document."""
        analysis = await self.checker.analysis(uri)
        return self.diagnostics(analysis).get(uri, []) if analysis is not None else []

    async def hovered(self, uri: str, at: Position) -> types.Hover | None:
        """What there is to say of the findings at a position, the innermost first."""
        analysis = await self.checker.analysis(uri)
        here = [one for one in self._found(analysis) if one.uri == uri and around(one.range, at)]
        if analysis is None or not here:
            return None
        here.sort(key=lambda one: (one.range.start, one.range.end), reverse=True)
        shown = hover.markdown if self.can["markdown"] else hover.plain
        parts = [shown(one, evidence(one, analysis, self.documents), self._page(one.told.code)) for one in here]
        kind = types.MarkupKind.Markdown if self.can["markdown"] else types.MarkupKind.PlainText
        joined = ("\n\n---\n\n" if self.can["markdown"] else "\n\n").join(parts)
        return types.Hover(types.MarkupContent(kind, joined), protocol_range(here[0].range))

    def _found(self, analysis: Analysis | None) -> list[Found]:
        return found(analysis, self.documents) if analysis is not None else []

    async def offered(self, uri: str, wanted: Range, only: Sequence[str] | None) -> list[types.CodeAction]:
        """What can be done about a range of a document."""
        analysis = await self.checker.analysis(uri)
        if analysis is None:
            return []
        made = []
        for offer in actions.offers(self._found(analysis), uri, wanted, only):
            action = types.CodeAction(
                title=offer.title,
                kind=offer.kind,
                diagnostics=[self._diagnostic(offer.one, analysis)] if offer.one is not None else None,
                is_preferred=True if offer.preferred else None,
                data=offer.data(analysis.document),
            )
            if not self.can["resolve"]:
                action.edit = await self._edit(analysis, offer.what, offer.one)
                if action.edit is None:
                    continue
            made.append(action)
        return made

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """The action with its edits, where the document is what it was when the action was offered."""
        asked: Any = action.data if isinstance(action.data, dict) else {}
        analysis = await self.checker.analysis(str(asked.get("uri")))
        if analysis is None or analysis.document.version != asked.get("version"):
            return action
        number = asked.get("number")
        one = next((one for one in self._found(analysis) if one.number == number), None)
        action.edit = await self._edit(analysis, str(asked.get("what")), one)
        if action.edit is None:
            self.log(f"{action.title}: nothing is changed, as the result would be no valid Python")
        return action

    async def _edit(self, analysis: Analysis, what: str, one: Found | None) -> types.WorkspaceEdit | None:
        """The change that an offer makes, None where it makes none."""
        checked, document = analysis.checked, analysis.document
        if checked is None or checked.source is None or (one is None and what != "all"):
            return None
        source, texts = checked.source, self.documents.texts()

        def make() -> Sequence[Any]:
            if what == "all" or one is None:
                fixed = self.projects.fixed(document, texts, lambda: False)
                return edits.differences(source.text, fixed)
            return edits.fix_of(checked, one.whole) if what == "fix" else edits.ignored(checked, one.whole)

        try:
            made = await self.checker.work(make)
        except Exception as error:
            self._failed(document, error)
            return None
        if not made or self.documents.get(document.uri) is not document:
            return None
        change = actions.changes(document, made, self.documents, source.text)
        return change if self.can["versions"] else actions.as_plain(change)
