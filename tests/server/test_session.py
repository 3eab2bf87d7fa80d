"""A whole session, as an editor has it."""

from __future__ import annotations

from typing import Any


def test_a_finding_comes_and_goes_as_one_types(edit: Any) -> None:
    async def body(editor: Any) -> None:
        uri = editor.open("train.py")
        (first,) = await editor.diagnostics(uri)
        assert (first.code, first.range.start.line) == ("TL101", 11)
        editor.replace(uri, "loss.item()", "loss.detach()")
        assert await editor.diagnostics(uri) == []

    edit(body)
