"""Notebooks through the protocol: findings, fixes and changes stand in cells."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from editing import Editor

CELLS = {
    "one": "import torch\nmodel = torch.nn.Linear(2, 2).cuda()",
    "words": "# A title",
    "two": "%matplotlib inline\nfor batch in [torch.ones(2)] * 10:\n    print(model(batch.cuda()).sum().item())",
}
Kind = types.NotebookCellKind


def cell(editor: Editor, name: str) -> str:
    uri = f"vscode-notebook-cell:{editor.folder}/n.ipynb#{name}"
    editor.texts.setdefault(uri, CELLS.get(name, ""))
    editor.versions.setdefault(uri, 1)
    return uri


def test_a_notebook_is_checked_cell_by_cell(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        notebook = editor.uri("n.ipynb")
        cells = [
            types.NotebookCell(Kind.Markup if name == "words" else Kind.Code, cell(editor, name)) for name in CELLS
        ]
        texts = [
            types.TextDocumentItem(cell(editor, name), "python", 1, text)
            for name, text in CELLS.items()
            if name != "words"
        ]
        document = types.NotebookDocument(notebook, "jupyter-notebook", 1, cells)
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, texts))
        two = cell(editor, "two")
        (found,) = await editor.diagnostics(two)
        assert (found.code, found.range.start.line) == ("TL101", 2)
        shown = await editor.hover(two, 2, 20)
        assert shown is not None
        (ignore,) = [one for one in await editor.actions(two, 2) if "ignore" in one.title]
        assert (await editor.applied(ignore, two)).endswith(".item())  # transferlint: ignore[TL101] TODO: say why")

        editor.texts[two] = editor.texts[two].replace("sum().item()", "shape")
        editor.versions[two] = 2
        change = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(version=2, uri=two),
            [types.TextDocumentContentChangeWholeDocument(editor.texts[two])],
        )
        editor.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(2, notebook),
                types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[change])),
            )
        )
        assert await editor.diagnostics(two) == []

        broken = cell(editor, "three")
        editor.texts[broken] = "import torch\nx = ("
        structure = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(3, 0, [types.NotebookCell(Kind.Code, broken)]),
            did_open=[types.TextDocumentItem(broken, "python", 1, editor.texts[broken])],
        )
        editor.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(3, notebook),
                types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(structure=structure)),
            )
        )
        (error,) = await editor.diagnostics(broken)
        assert (error.code, error.range.start.line) == ("TL001", 1)
        closing = types.DidCloseNotebookDocumentParams(
            types.NotebookDocumentIdentifier(notebook), [types.TextDocumentIdentifier(two)]
        )
        editor.client.notebook_document_did_close(closing)
        await editor.until(lambda: any(one.uri == broken and not one.diagnostics for one in editor.published))

    edit(body)
