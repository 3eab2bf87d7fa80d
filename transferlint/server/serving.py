"""The protocol: which message means what to a session (pygls.readthedocs.io)."""

from __future__ import annotations

import functools
import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from transferlint.server import actions
from transferlint.server.documents import Cell, path_of
from transferlint.server.positions import Position, Range
from transferlint.server.projects import ScopesFor
from transferlint.server.session import Session

_SETTINGS = ("pyproject.toml", "transferlint.toml", ".gitignore")
_WATCHED = ("**/*.py", *(f"**/{name}" for name in _SETTINGS))
_CODE = types.NotebookCellKind.Code


class _Server(LanguageServer):
    """pygls' server; what goes wrong in it is one line of the client's log."""

    session: Session

    def report_server_error(self, error: Exception, source: Any) -> None:
        self.session.log(f"{type(error).__name__}: {error}"[:300])


def serve(
    version: str, scopes_for: ScopesFor, cache: str, page: Callable[[str], str], notes: Sequence[str] = ()
) -> int:
    """Serve one client on standard input and output until it ends the session. The exit code: 0 where it asked for
    that, 1 where it only went away (LSP 3.17, "Exit Notification"). The arguments are those of `Session`."""
    logging.getLogger("pygls").addHandler(logging.NullHandler())
    logging.getLogger("pygls").propagate = False
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    gc.disable()  # `checking.tidy` searches for garbage when nobody waits
    sys.stdout = sys.stderr  # whatever a rule prints must not get among the messages
    return _Service(version, scopes_for, cache, page, notes).run(stdin, stdout)


class _Service:
    """The handlers of all messages."""

    def __init__(
        self, version: str, scopes_for: ScopesFor, cache: str, page: Callable[[str], str], notes: Sequence[str]
    ) -> None:
        selector = types.NotebookDocumentFilterWithCells(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage("python")]
        )
        sync = types.NotebookDocumentSyncOptions([selector], save=True)
        self._server = _Server("transferlint", version, notebook_document_sync=sync)
        self._server.session = self._session = Session(self._server, scopes_for, cache, page, notes)
        self._asked_to_end = False
        for name, handler, options in self._handlers():
            self._server.feature(name, options)(functools.partial(handler))

    def run(self, stdin: BinaryIO, stdout: BinaryIO) -> int:
        """Serve until the end."""
        self._server.start_io(stdin, stdout)
        self._session.checker.stop()
        return 0 if self._asked_to_end else 1

    def _handlers(self) -> list[tuple[str, Callable[..., Any], Any]]:
        kinds = types.CodeActionOptions(code_action_kinds=list(actions.KINDS), resolve_provider=True)
        pulling = types.DiagnosticOptions(
            inter_file_dependencies=True, workspace_diagnostics=False, identifier="transferlint"
        )
        return [
            (types.INITIALIZE, self._begin, None),
            (types.INITIALIZED, self._begun, None),
            (types.SHUTDOWN, self._end, None),
            (types.TEXT_DOCUMENT_DID_OPEN, self._opened, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._changed, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self._saved, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._closed, None),
            (types.NOTEBOOK_DOCUMENT_DID_OPEN, self._opened_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_CHANGE, self._changed_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_SAVE, self._saved_notebook, None),
            (types.NOTEBOOK_DOCUMENT_DID_CLOSE, self._closed_notebook, None),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._files_changed, None),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._folders_changed, None),
            (types.WORKSPACE_DID_CHANGE_CONFIGURATION, self._configured, None),
            (types.TEXT_DOCUMENT_DIAGNOSTIC, self._pull, pulling),
            (types.TEXT_DOCUMENT_CODE_ACTION, self._actions, kinds),
            (types.CODE_ACTION_RESOLVE, self._resolve, None),
            (types.TEXT_DOCUMENT_HOVER, self._hover, None),
        ]

    def _begin(self, params: types.InitializeParams) -> None:
        encoding = self._server.workspace.position_encoding
        self._session.begin(params.capabilities, str(getattr(encoding, "value", encoding)))
        self._take_folders()

    def _take_folders(self) -> None:
        space = self._server.workspace
        uris = [folder.uri for folder in space.folders.values()] or [space.root_uri or ""]
        found = [os.path.realpath(path) if not os.path.isdir(path) else path for path in map(path_of, uris) if path]
        self._session.projects.folders = tuple(found)

    def _begun(self, _: types.InitializedParams) -> None:
        self._session.started()
        if self._session.can["watch"]:
            watchers = [types.FileSystemWatcher(glob_pattern=one) for one in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("transferlint-files", method, options)
            self._server.client_register_capability(types.RegistrationParams([registration]))

    def _end(self, _: None) -> None:
        self._asked_to_end = True
        self._session.checker.stop()

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        given = params.text_document
        document = self._session.documents.open(given.uri, given.version, given.text, given.language_id)
        if document is not None:
            self._session.checker.edited(document)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        given = params.text_document
        document = self._session.documents.change(given.uri, given.version, map(_change, params.content_changes))
        if document is not None:
            self._session.checker.edited(document)

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        self._written([path_of(params.text_document.uri)], came_or_went=not self._session.can["watch"])

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        self._let_go(params.text_document.uri)

    def _let_go(self, uri: str) -> None:
        document = self._session.documents.close(uri)
        if document is not None:
            self._session.closed(document)

    def _opened_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        texts = {one.uri: one for one in params.cell_text_documents}
        given = params.notebook_document
        cells = [_cell(texts.get(cell.document), cell) for cell in given.cells]
        self._session.checker.edited(self._session.documents.open_notebook(given.uri, given.version, cells))

    def _changed_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        given, documents = params.notebook_document, self._session.documents
        changes = params.change.cells
        structure = changes.structure if changes is not None else None
        if structure is not None:
            array = structure.array
            texts = {one.uri: one for one in structure.did_open or ()}
            new = [cell for cell in array.cells or () if cell.document in texts]
            documents.add_cells(given.uri, [_cell(texts[cell.document], cell) for cell in new])
            order = [cell.document for cell in array.cells or ()]
            documents.arrange(given.uri, given.version, array.start, array.delete_count, order)
        for one in (changes.text_content if changes is not None else None) or ():
            documents.change(one.document.uri, one.document.version, map(_change, one.changes))
        document = documents.get(given.uri)
        if document is not None:
            self._session.checker.edited(document)

    def _saved_notebook(self, params: types.DidSaveNotebookDocumentParams) -> None:
        self._written([path_of(params.notebook_document.uri)], came_or_went=False)

    def _closed_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._let_go(params.notebook_document.uri)

    def _files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        moved = any(one.type is not types.FileChangeType.Changed for one in params.changes)
        self._written([path_of(one.uri) for one in params.changes], came_or_went=moved)

    def _written(self, paths: list[str], came_or_went: bool) -> None:
        """Files were written, and some may have come or gone."""
        projects = self._session.projects
        if any(os.path.basename(path) in _SETTINGS for path in paths):
            self._session.changed_context(projects.forget)
        elif came_or_went:
            self._session.changed_context(projects.look_again)
        else:
            self._session.changed_context(lambda: projects.renew(paths))

    def _folders_changed(self, _: types.DidChangeWorkspaceFoldersParams) -> None:
        self._take_folders()
        self._session.changed_context(self._session.projects.forget)

    def _configured(self, _: types.DidChangeConfigurationParams) -> None:
        """Nothing is configured that way: settings are in files, and in the options of the command."""

    async def _pull(self, params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        return types.RelatedFullDocumentDiagnosticReport(await self._session.pulled(params.text_document.uri))

    async def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        only = None if params.context.only is None else [str(getattr(one, "value", one)) for one in params.context.only]
        return await self._session.offered(params.text_document.uri, _range(params.range), only)

    async def _resolve(self, params: types.CodeAction) -> types.CodeAction:
        return await self._session.resolved(params)

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        at = Position(params.position.line, params.position.character)
        return await self._session.hovered(params.text_document.uri, at)


def _change(one: types.TextDocumentContentChangeEvent) -> tuple[Range | None, str]:
    return (_range(one.range) if isinstance(one, types.TextDocumentContentChangePartial) else None), one.text


def _range(one: types.Range) -> Range:
    start, end = one.start, one.end
    return Range(Position(start.line, start.character), Position(end.line, end.character))


def _cell(text: types.TextDocumentItem | None, cell: types.NotebookCell) -> Cell:
    if text is None:  # not Python, so that its text does not come here
        return Cell(cell.document, "", 0, code=False)
    return Cell(cell.document, text.text, text.version, cell.kind == _CODE)
