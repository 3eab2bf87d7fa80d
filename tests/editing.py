"""A real editor's side of a session: a client that starts `transferlint server` and talks to it on its standard input
and output. It keeps the text of what is open as an editor does, and so sends versions and ranges."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from transferlint.server.documents import uri_of

PATIENCE = 120.0  # seconds, so that a server that hangs does not hang the tests

TRAIN = """import torch


def train(model: torch.nn.Module, loader, optimizer) -> float:
    model.cuda()
    total = 0.0
    for batch in loader:
        loss = model(batch.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


class Editor:
    """A client and its server. `can` are capabilities over the usual ones."""

    def __init__(self, folder: Path, **can: Any) -> None:
        self.folder = folder
        self.client = LanguageClient("editor", "1")
        self.logged: list[str] = []
        self.shown: list[str] = []
        self.refreshed = 0
        self.registered: list[types.Registration] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.told = asyncio.Event()
        self.server: types.InitializeResult | None = None
        self._can = can
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(functools.partial(self._published))
        self.client.feature(types.WINDOW_LOG_MESSAGE)(functools.partial(self._logged))
        self.client.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.shown.append(params.message))
        self.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)(functools.partial(self._refreshed))
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(functools.partial(self._registered))

    def _published(self, params: types.PublishDiagnosticsParams) -> None:
        self.published.append(params)
        self.told.set()

    def _logged(self, params: types.LogMessageParams) -> None:
        self.logged.append(params.message)
        self.told.set()

    def _refreshed(self, _: Any) -> None:
        self.refreshed += 1
        self.told.set()

    def _registered(self, params: types.RegistrationParams) -> None:
        self.registered += params.registrations
        self.told.set()

    async def start(self, options: tuple[str, ...], folders: tuple[Path, ...] | None, cwd: Path) -> None:
        environment = {**os.environ, "TRANSFERLINT_CACHE_DIR": str(cwd.parent / "cache")}
        command = ["-m", "transferlint", "server", *options]
        await self.client.start_io(sys.executable, *command, cwd=cwd, env=environment)
        spaces = [types.WorkspaceFolder(uri_of(str(one)), one.name) for one in (folders or (self.folder,))]
        given = types.InitializeParams(
            capabilities=self.capabilities(), process_id=os.getpid(), workspace_folders=spaces, root_uri=spaces[0].uri
        )
        self.server = await self.client.initialize_async(given)
        self.client.initialized(types.InitializedParams())

    def capabilities(self) -> types.ClientCapabilities:
        """What an editor of today can do; `encodings`, `pull`, `resolve`, `markdown`, `versions`, `watch` and `related`
        change it."""
        can = self._can
        encodings = [types.PositionEncodingKind(one) for one in can.get("encodings", ("utf-16",))]
        resolving = types.ClientCodeActionResolveOptions(["edit"]) if can.get("resolve", True) else None
        formats = [types.MarkupKind.Markdown] if can.get("markdown", True) else [types.MarkupKind.PlainText]
        published = types.PublishDiagnosticsClientCapabilities(related_information=can.get("related", True))
        return types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=encodings),
            text_document=types.TextDocumentClientCapabilities(
                publish_diagnostics=published,
                diagnostic=types.DiagnosticClientCapabilities() if can.get("pull") else None,
                code_action=types.CodeActionClientCapabilities(resolve_support=resolving, data_support=True),
                hover=types.HoverClientCapabilities(content_format=formats),
            ),
            workspace=types.WorkspaceClientCapabilities(
                workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=can.get("versions", True)),
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                    dynamic_registration=can.get("watch", True)
                ),
                diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
                workspace_folders=True,
            ),
            notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
        )

    async def stop(self) -> int | None:
        """End the session as an editor does; the server's exit code."""
        await asyncio.wait_for(self.client.shutdown_async(None), PATIENCE)
        self.client.exit(None)
        return await self.ended()

    async def ended(self) -> int | None:
        process = self.client._server
        assert process is not None
        await asyncio.wait_for(process.wait(), PATIENCE)
        await asyncio.wait_for(self.client.stop(), PATIENCE)
        return process.returncode

    def kill(self) -> None:
        process = self.client._server
        if process is not None and process.returncode is None:
            process.kill()

    def uri(self, name: str) -> str:
        """The URI of a file of the folder; one that has a scheme is one already."""
        return name if ":" in name else uri_of(str(self.folder / name))

    def open(self, name: str, text: str | None = None, language: str = "python") -> str:
        uri = self.uri(name)
        self.texts[uri] = (self.folder / name).read_text(encoding="utf-8") if text is None else text
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, text: str) -> None:
        """Replace the whole text."""
        self._send(uri, [types.TextDocumentContentChangeWholeDocument(text)], text)

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replace the one place where `old` stands, as a change of that range."""
        text = self.texts[uri]
        assert text.count(old) == 1, old
        at = text.index(old)
        where = types.Range(self.position(text, at), self.position(text, at + len(old)))
        self._send(uri, [types.TextDocumentContentChangePartial(where, new)], text.replace(old, new))

    def _send(self, uri: str, changes: list[Any], text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        given = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(given, changes))

    def save(self, uri: str) -> None:
        Path(self.folder / uri.rpartition("/")[2]).write_text(self.texts[uri], encoding="utf-8")
        given = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(given))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def written(self, *names: str, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
        """Tell that files of the folder were written."""
        changes = [types.FileEvent(self.uri(name), kind) for name in names]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))

    async def until(self, holds: Callable[[], Any]) -> Any:
        """What `holds` gives once that is something."""

        async def wait() -> Any:
            while not (found := holds()):
                self.told.clear()
                await self.told.wait()
            return found

        return await asyncio.wait_for(wait(), PATIENCE)

    async def diagnostics(self, uri: str, since: int = 0) -> list[types.Diagnostic]:
        """What was published of the newest text, after the first `since` messages."""

        def newest() -> types.PublishDiagnosticsParams | None:
            of_it = [one for one in self.published[since:] if one.uri == uri and one.version == self.versions[uri]]
            return of_it[-1] if of_it else None

        return list((await self.until(newest)).diagnostics)

    async def actions(self, uri: str, line: int = -1, only: list[str] | None = None) -> list[types.CodeAction]:
        """What is offered on a 0-based line, or (-1) for the whole text."""
        last = self.texts[uri].count("\n") + 1
        start, end = (0, last) if line < 0 else (line, line)
        where = types.Range(types.Position(start, 0), types.Position(end, 0 if line < 0 else 10_000))
        context = types.CodeActionContext([], only=only)  # type: ignore[arg-type]
        given = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        found = await asyncio.wait_for(self.client.text_document_code_action_async(given), PATIENCE)
        return [one for one in found or () if isinstance(one, types.CodeAction)]

    async def edited(self, action: types.CodeAction) -> types.WorkspaceEdit:
        """The edits of an action, asked for where they did not come with it."""
        if action.edit is None:
            action = await asyncio.wait_for(self.client.code_action_resolve_async(action), PATIENCE)
        assert action.edit is not None
        return action.edit

    async def applied(self, action: types.CodeAction, uri: str) -> str:
        """The text that an action makes of a document or cell."""
        edit = await self.edited(action)
        if edit.changes is not None:
            return self.changed(self.texts[uri], edit.changes[uri])
        for one in edit.document_changes or ():
            assert isinstance(one, types.TextDocumentEdit)
            if one.text_document.uri == uri:
                assert one.text_document.version == self.versions[uri]
                return self.changed(self.texts[uri], one.edits)
        return self.texts[uri]

    async def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        given = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        return await asyncio.wait_for(self.client.text_document_hover_async(given), PATIENCE)

    def units(self, text: str) -> int:
        """The code units of a text in the encoding that the server chose."""
        assert self.server is not None
        chosen = self.server.capabilities.position_encoding
        encoding = str(getattr(chosen, "value", chosen))
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        return len(text.encode({"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, encoding))) // width

    def position(self, text: str, offset: int) -> types.Position:
        """The position of an offset, worked out here and not by the server's own code. Lines end at "\\n"."""
        before = text[:offset]
        return types.Position(before.count("\n"), self.units(before[before.rfind("\n") + 1 :]))

    def changed(self, text: str, edits: Any) -> str:
        """A text after edits, which must not overlap."""
        spots = []
        for edit in edits:
            lines = text.split("\n")
            ends = []
            for at in (edit.range.start, edit.range.end):
                line = lines[at.line]
                column = next(n for n in range(len(line) + 1) if self.units(line[:n]) >= at.character)
                ends.append(sum(len(one) + 1 for one in lines[: at.line]) + column)
            spots.append((*ends, edit.new_text))
        for start, end, new in sorted(spots, key=lambda one: one[:2], reverse=True):
            text = text[:start] + new + text[end:]
        return text


def checked(folder: Path, name: str, *options: str) -> list[dict[str, Any]]:
    """What `transferlint check` finds in a file, from its folder."""
    command = [sys.executable, "-m", "transferlint", "check", name, "--output-format", "json", "--no-cache", *options]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode in (0, 1), made.stderr
    return list(json.loads(made.stdout)["findings"])
