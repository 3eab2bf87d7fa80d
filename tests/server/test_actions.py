"""What can be done about findings, and what is shown of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from editing import TRAIN, Editor, checked
from transferlint import links

# A safe fix in each of two functions, one of them behind what is wide in UTF-16.
SAFE = """import torch


def make(n: int) -> torch.Tensor:
    return torch.zeros(n).cuda()


def other(n: int) -> tuple[str, torch.Tensor]:
    return "😀", torch.ones(n).cuda()
"""
QUICK, FIX_ALL = "quickfix", "source.fixAll.transferlint"


def fixed_by_check(folder: Path, name: str, text: str) -> str:
    """What `check --fix` makes of a text."""
    command = [sys.executable, "-m", "transferlint", "check", "-", "--stdin-filename", name, "--fix", "--no-cache"]
    made = subprocess.run(command, cwd=folder, input=text.encode(), capture_output=True, check=False)
    return made.stdout.decode()


@pytest.mark.parametrize("resolve", [True, False])
def test_a_safe_fix_is_preferred_and_changes_only_its_words(edit: Any, resolve: bool) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("make.py", SAFE)
        found = await editor.diagnostics(uri)
        assert [one.code for one in found] == ["TL401", "TL401"]
        (fix,) = [one for one in await editor.actions(uri, 8, only=[QUICK]) if one.is_preferred]
        assert fix.title.startswith("transferlint (TL401): ")
        assert (fix.edit is None) is resolve
        (diagnostic,) = fix.diagnostics or ()
        assert diagnostic == found[1]
        made = await editor.applied(fix, uri)
        assert made == SAFE.replace("torch.ones(n).cuda()", "torch.ones(n, device='cuda')") or (
            made == SAFE.replace("torch.ones(n).cuda()", 'torch.ones(n, device="cuda")')
        )
        edits = (await editor.edited(fix)).document_changes
        assert edits is not None
        (change,) = edits
        assert isinstance(change, types.TextDocumentEdit)
        assert all(one.range.start.line == one.range.end.line == 8 for one in change.edits)

    edit(body, resolve=resolve)


def test_all_safe_fixes_at_once_are_those_of_check(edit: Any, project: Path) -> None:
    text = SAFE + TRAIN

    async def body(editor: Editor) -> None:
        uri = editor.open("make.py", text)
        await editor.diagnostics(uri)
        for only in ([FIX_ALL], ["source.fixAll"], ["source"]):
            (every,) = await editor.actions(uri, only=only)
            assert every.kind == FIX_ALL
        made = await editor.applied(every, uri)
        assert made == fixed_by_check(project, "make.py", text) != text
        assert "loss.item()" in made  # what is not safe is left
        assert FIX_ALL in [one.kind for one in await editor.actions(uri)]
        assert await editor.actions(uri, only=["refactor"]) == []
        editor.type(uri, TRAIN)
        await editor.diagnostics(uri)
        assert await editor.actions(uri, only=[FIX_ALL]) == []

    edit(body)


def test_a_fix_that_is_not_safe_says_so(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        await editor.diagnostics(uri)
        fixes = [one for one in await editor.actions(uri, 11) if "ignore" not in one.title]
        (fix,) = fixes
        assert fix.title.endswith(("(unsafe: review it)", "(not proven: review it)"))
        assert not fix.is_preferred
        made = await editor.applied(fix, uri)
        assert "total += loss.detach()" in made
        assert "total = float(total)" in made

    edit(body)


def test_a_finding_is_ignored_with_a_reason_to_be_written(edit: Any, project: Path) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        await editor.diagnostics(uri)
        (ignore,) = [one for one in await editor.actions(uri, 11) if "ignore" in one.title]
        assert ignore.title == "transferlint: ignore TL101 on this line, with a reason"
        made = await editor.applied(ignore, uri)
        assert made == TRAIN.replace("loss.item()", "loss.item()  # transferlint: ignore[TL101] TODO: say why")
        editor.type(uri, made)
        assert await editor.diagnostics(uri) == []
        (project / "train.py").write_text(made)
        assert checked(project, "train.py", "--extend-select", "TL003") == []

    edit(body)


def test_edits_are_for_the_text_that_they_were_offered_for(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        await editor.diagnostics(uri)
        (ignore,) = [one for one in await editor.actions(uri, 11) if "ignore" in one.title]
        editor.type(uri, "x = 1\n" + TRAIN)
        late = await editor.client.code_action_resolve_async(ignore)
        assert late.edit is None
        assert await editor.actions(uri, 0) == []

    edit(body)


def test_a_client_without_versions_gets_plain_changes(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("make.py", SAFE)
        await editor.diagnostics(uri)
        (every,) = await editor.actions(uri, only=[FIX_ALL])
        made = await editor.edited(every)
        assert made.document_changes is None
        assert list(made.changes or ()) == [uri]

    edit(body, versions=False)


def test_a_finding_under_the_cursor_is_explained(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        await editor.diagnostics(uri)
        shown = await editor.hover(uri, 11, 20)
        assert shown is not None
        assert isinstance(shown.contents, types.MarkupContent)
        text = shown.contents.value
        assert shown.contents.kind == types.MarkupKind.Markdown
        assert text.startswith("**TL101** scalar-read-in-hot-code")
        assert "- runs (seen in the source): per step, in the loop over `loader` at line 7" in text
        (first, *_) = checked(editor.folder, "train.py")[0]["evidence"]
        assert f"- because: [train.py:{first['line']}]({uri}#L{first['line']}): {first['message']}" in text
        assert "- confidence: " in text
        assert "- use instead: " in text
        assert f"[TL101 explained]({links.rule_page('TL101')})" in text
        assert shown.range is not None
        assert shown.range.start == types.Position(11, 17)
        assert await editor.hover(uri, 0, 0) is None

    edit(body)


def test_a_client_without_markdown_gets_plain_text(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        shown = await editor.hover(uri, 11, 20)
        assert shown is not None
        assert isinstance(shown.contents, types.MarkupContent)
        assert shown.contents.kind == types.MarkupKind.PlainText
        assert "**" not in shown.contents.value
        (first, *_) = checked(editor.folder, "train.py")[0]["evidence"]
        assert f"because: train.py:{first['line']}: {first['message']}" in shown.contents.value

    edit(body, markdown=False)
