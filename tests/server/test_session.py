"""Whole sessions, as editors have them: what is told of a document as it is typed, saved and closed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from editing import PATIENCE, TRAIN, Editor, checked
from transferlint import links
from transferlint.server.documents import uri_of

DISTANT = "import torch\n\n\ndef value(x):\n    return x.item()\n"
LOOP = """import torch
from reading import value


def run(model: torch.nn.Module, loader) -> None:
    model.cuda()
    for batch in loader:
        print(value(model(batch.cuda())))
"""


def codes(found: list[types.Diagnostic]) -> list[tuple[str, int]]:
    return [(str(one.code), one.range.start.line) for one in found]


def told(found: list[types.Diagnostic]) -> list[tuple[Any, ...]]:
    """Diagnostics of ASCII text as `check` would tell them: code, place, message and evidence."""
    return [
        (
            one.code,
            one.range.start.line + 1,
            one.range.start.character + 1,
            one.message.split("\n")[0],
            *(link.message for link in one.related_information or ()),
        )
        for one in found
    ]


async def settled(editor: Editor, uri: str, holds: Callable[[list[tuple[Any, ...]]], bool]) -> None:
    """Wait until what was published of the newest text is so."""

    def newest() -> bool:
        of_it = [one for one in editor.published if one.uri == uri and one.version == editor.versions[uri]]
        return bool(of_it) and holds(sorted(told(list(of_it[-1].diagnostics))))

    await editor.until(newest)


def told_by_check(folder: Path, name: str, *options: str) -> list[tuple[Any, ...]]:
    return sorted(
        (one["code"], one["line"], one["column"], one["message"], *(link["message"] for link in one["evidence"]))
        for one in checked(folder, name, *options)
    )


def test_findings_come_and_go_as_one_types(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        (first,) = await editor.diagnostics(uri)
        assert codes([first]) == [("TL101", 11)]
        assert first.code_description is not None
        assert first.code_description.href == links.rule_page("TL101")
        assert (first.source, first.severity) == ("transferlint", types.DiagnosticSeverity.Warning)
        assert first.related_information
        assert all(one.location.uri == uri for one in first.related_information)
        editor.replace(uri, "loss.item()", "loss.detach()")
        assert await editor.diagnostics(uri) == []
        for length in range(1, len("  # typed") + 1):  # one keystroke after the other, none of them waited for
            editor.type(uri, TRAIN.rstrip("\n") + "  # typed"[:length] + "\n")
        assert codes(await editor.diagnostics(uri)) == [("TL101", 11)]
        versions = [one.version for one in editor.published if one.uri == uri]
        assert versions == sorted(versions)
        editor.close(uri)
        gone = await editor.until(lambda: [one for one in editor.published if one.uri == uri and one.version is None])
        assert list(gone[-1].diagnostics) == []

    edit(body)


def test_what_is_told_is_what_check_finds(edit: Any, project: Path) -> None:
    """In a project of several files that are edited and saved in turn."""
    (project / "reading.py").write_text(DISTANT)
    (project / "loop.py").write_text(LOOP)
    before = told_by_check(project, "loop.py")
    assert before

    async def body(editor: Editor) -> None:
        loop, reading = editor.open("loop.py"), editor.open("reading.py")
        assert sorted(told(await editor.diagnostics(loop))) == before
        assert sorted(told(await editor.diagnostics(reading))) == told_by_check(project, "reading.py")
        editor.replace(reading, "x.item()", "x + 1")  # not saved, and all the same the other file's context
        assert await editor.diagnostics(reading) == []
        await settled(editor, loop, lambda found: found != before)
        editor.save(reading)
        after = told_by_check(project, "loop.py")
        assert after != before
        await settled(editor, loop, lambda found: found == after)
        editor.replace(loop, "print(value", "print(2 * value")
        editor.save(loop)
        last = told_by_check(project, "loop.py")
        await settled(editor, loop, lambda found: found == last)
        editor.replace(reading, "x + 1", "x.item()")
        await settled(editor, loop, lambda found: found != last)
        editor.close(reading)  # its text on disk is the one that was saved
        await settled(editor, loop, lambda found: found == last)

    edit(body)


def test_files_that_others_write_count_once_they_are_told(edit: Any, project: Path) -> None:
    (project / "reading.py").write_text(DISTANT)
    (project / "loop.py").write_text(LOOP)

    async def body(editor: Editor) -> None:
        await editor.until(lambda: editor.registered)
        options = editor.registered[0].register_options
        assert "**/*.py" in json.dumps(options, default=str)
        uri = editor.open("loop.py")
        before = await editor.diagnostics(uri)
        (project / "reading.py").write_text(DISTANT.replace("x.item()", "x + 1"))
        editor.written("reading.py")
        changed = told_by_check(project, "loop.py")
        assert changed != sorted(told(before))
        await settled(editor, uri, lambda found: found == changed)
        (project / "reading.py").unlink()
        editor.written("reading.py", kind=types.FileChangeType.Deleted)
        without = told_by_check(project, "loop.py")
        await settled(editor, uri, lambda found: found == without)
        (project / "pyproject.toml").write_text('[tool.transferlint]\nignore = ["ALL"]\n')
        editor.written("pyproject.toml")
        await settled(editor, uri, lambda found: found == [])

    edit(body)


def test_each_folder_of_the_workspace_has_its_own_settings(edit: Any, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.py").write_text(TRAIN)
    (other / "transferlint.toml").write_text('ignore = ["TL101"]\n')
    alone = tmp_path / "alone.py"
    alone.write_text(TRAIN)

    async def body(editor: Editor) -> None:
        first, second = editor.open("train.py"), editor.open(uri_of(str(other / "train.py")), TRAIN)
        outside = editor.open(uri_of(str(alone)), TRAIN)
        assert codes(await editor.diagnostics(first)) == [("TL101", 11)]
        assert await editor.diagnostics(second) == []
        assert codes(await editor.diagnostics(outside)) == [("TL101", 11)]
        untitled = editor.open("untitled:Untitled-1", TRAIN)
        assert codes(await editor.diagnostics(untitled)) == [("TL101", 11)]
        unsaved = editor.open(uri_of(str(project / "new" / "module.py")), TRAIN)  # whose folder is still to be made
        assert codes(await editor.diagnostics(unsaved)) == [("TL101", 11)]

    edit(body, folders=(project, other))


@pytest.mark.parametrize("folder", ["build", "tests"])
def test_what_is_excluded_or_no_python_is_not_checked(edit: Any, project: Path, folder: str) -> None:
    (project / folder).mkdir()
    (project / folder / "train.py").write_text(TRAIN)

    async def body(editor: Editor) -> None:
        excluded = editor.open(f"{folder}/train.py")
        assert await editor.diagnostics(excluded) == []
        stub = editor.open("train.pyi", TRAIN)
        text = editor.open("train.txt", TRAIN, language="plaintext")
        last = editor.open("train.py")
        assert len(await editor.diagnostics(last)) == 1
        assert {one.uri for one in editor.published} == {excluded, last}
        assert stub != text

    edit(body)


def test_a_syntax_error_is_told_while_it_is_there(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py", TRAIN.replace("optimizer.step()", "optimizer.step("))
        (error,) = await editor.diagnostics(uri)
        assert (error.code, error.severity) == ("TL001", types.DiagnosticSeverity.Error)
        assert error.range.start != error.range.end
        editor.replace(uri, "optimizer.step(", "optimizer.step()")
        assert codes(await editor.diagnostics(uri)) == [("TL101", 11)]

    edit(body)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_are_counted_as_agreed(edit: Any, encoding: str) -> None:
    line = "        total += len('😀é') + loss.item()"

    async def body(editor: Editor) -> None:
        assert editor.server is not None
        assert editor.server.capabilities.position_encoding == encoding
        uri = editor.open("train.py", TRAIN.replace("        total += loss.item()", line))
        (found,) = await editor.diagnostics(uri)
        start = editor.units(line[: line.index("loss.item()")])
        assert (found.range.start.character, found.range.end.character) == (start, start + len("loss.item()"))
        editor.replace(uri, "loss.item()", "0 + loss.item()")  # a range behind what is wide
        (moved,) = await editor.diagnostics(uri)
        assert moved.range.start.character == start + 4
        assert await editor.hover(uri, moved.range.start.line, start + 5) is not None

    edit(body, encodings=(encoding,))


def test_a_form_feed_and_old_line_ends(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py", TRAIN.replace("\n\n\n", "\n\f\n\n").replace("\n", "\r\n"))
        assert codes(await editor.diagnostics(uri)) == [("TL101", 11)]

    edit(body)


def test_diagnostics_are_given_to_who_asks_for_them(edit: Any, project: Path) -> None:
    async def body(editor: Editor) -> None:
        assert editor.server is not None
        assert editor.server.capabilities.diagnostic_provider is not None
        uri = editor.open("train.py")

        async def ask() -> list[tuple[str, int]]:
            given = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
            answer = await asyncio.wait_for(editor.client.text_document_diagnostic_async(given), PATIENCE)
            assert isinstance(answer, types.RelatedFullDocumentDiagnosticReport)
            return codes(list(answer.items))

        assert await ask() == [("TL101", 11)]
        editor.type(uri, "x = 1\n" + TRAIN)
        assert await ask() == [("TL101", 12)]
        (project / "pyproject.toml").write_text('[tool.transferlint]\nignore = ["TL101"]\n')
        editor.written("pyproject.toml")
        await editor.until(lambda: editor.refreshed)
        assert await ask() == []
        assert editor.published == []

    edit(body, pull=True)


def test_suppressions_and_settings_hold_as_for_check(edit: Any, project: Path) -> None:
    (project / "transferlint.toml").write_text('extend-select = ["TL003"]\n')
    text = TRAIN.replace("loss.item()", "loss.item()  # transferlint: ignore[TL101]")
    (project / "train.py").write_text(text)

    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        found = await editor.diagnostics(uri)
        assert sorted(told(found)) == told_by_check(project, "train.py")
        assert codes(found) == [("TL003", 11)]
        editor.replace(uri, "total += loss.item()", "total += 1")
        (unused,) = [one for one in await editor.diagnostics(uri) if one.code == "TL002"]
        assert list(unused.tags or ()) == [types.DiagnosticTag.Unnecessary]

    edit(body)


def test_what_breaks_is_one_line_of_the_log(edit: Any, project: Path) -> None:
    """A rule of the user's own that raises, settings that are no TOML, and rules that a project names itself."""
    broken = project.parent / "broken.py"
    own = Path(__file__).parent / "broken_rule.txt"
    broken.write_text(own.read_text())
    (project / "transferlint.toml").write_text('rules = ["own.py"]\n')
    (project / "own.py").write_text("raise SystemExit('this must not run')\n")

    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        assert codes(await editor.diagnostics(uri)) == [("TL101", 11)]
        await editor.until(lambda: len(editor.logged) >= 2)
        assert any("ZeroDivisionError: no luck" in line for line in editor.logged)
        assert any("`rules` is code, which runs only if you name it" in line for line in editor.logged)
        assert all("\n" not in line and "Traceback" not in line for line in editor.logged)
        known = len(editor.logged)
        editor.type(uri, TRAIN + "\n")
        await editor.diagnostics(uri)
        assert len(editor.logged) == known  # said once
        (project / "transferlint.toml").write_text("select = [\n")
        editor.written("transferlint.toml")
        await editor.until(lambda: any("not valid TOML" in line for line in editor.logged))
        since = len(editor.published)
        (project / "transferlint.toml").write_text("")
        editor.written("transferlint.toml")
        assert codes(await editor.diagnostics(uri, since)) == [("TL101", 11)]
        assert editor.shown == []

    edit(body, "--rules", str(broken))


def test_a_request_can_be_cancelled_and_the_server_lives(edit: Any) -> None:
    async def body(editor: Editor) -> None:
        uri = editor.open("train.py")
        given = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(11, 20))
        asked = [editor.client.text_document_hover_async(given) for _ in range(3)]
        tasks = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0)
        for number in list(editor.client.protocol._request_futures):
            editor.client.cancel_request(types.CancelParams(number))
        await asyncio.wait(tasks, timeout=PATIENCE)
        for task in tasks:
            task.cancel()
        assert await editor.hover(uri, 11, 20) is not None

    edit(body)


def test_who_goes_away_without_a_word_ends_the_server_with_1(edit: Any) -> None:
    async def body(editor: Editor) -> int | None:
        uri = editor.open("train.py")
        await editor.diagnostics(uri)
        editor.client.exit(None)
        return await editor.ended()

    assert edit(body, ends=False) == 1


def test_a_closed_input_ends_the_server(project: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "transferlint", "server"],
        cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stdout, made.stderr) == (1, "", "")


def test_without_pygls_one_line_says_what_to_install(project: Path) -> None:
    code = (
        "import sys; sys.modules['pygls'] = None; sys.modules['pygls.lsp'] = None\n"
        "from transferlint.cli import main; sys.exit(main(['server']))"
    )
    made = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert made.stderr == "Error: the server needs the package pygls: pip install 'transferlint[server]'\n"


def test_check_and_version_do_without_the_server(project: Path) -> None:
    for arguments in (["--version"], ["check", "train.py", "--no-cache"]):
        code = (
            "import sys; from transferlint.cli import main\n"
            f"main({arguments!r})\n"
            "print([m for m in sys.modules if m.startswith(('pygls', 'lsprotocol', 'transferlint.server'))])"
        )
        made = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
        assert made.stdout.splitlines()[-1] == "[]"


def test_the_options_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    from transferlint.cli import main

    assert main(["server", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("--config", "--isolated", "--rules", "pip install 'transferlint[server]'"))
