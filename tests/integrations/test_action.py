"""The GitHub action: its steps are run in order, with what the runner would give them."""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import runpy
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acting import BUG, ROOT, Action

EVENT = {"pull_request": {"number": 7}}


@pytest.fixture
def action(tmp_path: Path) -> Action:
    made = Action(tmp_path)
    (made.work / "train.py").write_text(BUG)
    return made


class GitHub:
    """The part of GitHub's API that is about comments on issue 7, over HTTP; `asked` is what was asked of it."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.refuse = 0
        self.me = ""  # whom a token of a person belongs to; a job's own may not ask
        answer = self._answer

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def _any(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else {}
                code, said = answer(self.command, self.path, body, self.headers["Authorization"])
                data = json.dumps(said).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = _any

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, login: str, body: str) -> int:
        self.comments.append({"id": len(self.comments) + 1, "user": {"login": login}, "body": body})
        return len(self.comments)

    def _answer(self, method: str, path: str, body: dict[str, str], token: str) -> tuple[int, Any]:
        place, _, query = path.partition("?")
        self.asked.append(f"{method} {place}")
        assert token == "Bearer token"
        if place == "/user":
            return (200, {"login": self.me}) if self.me else (403, {})
        if method == "GET" and place == "/repos/a/b/issues/7/comments":
            page = int(dict(one.split("=") for one in query.split("&"))["page"])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if self.refuse:
            return self.refuse, {}
        if method == "POST" and place == "/repos/a/b/issues/7/comments":
            self.add(self.me or "github-actions[bot]", body["body"])
            return 201, self.comments[-1]
        number = int(place.rpartition("/")[2])
        assert (method, place) == ("PATCH", f"/repos/a/b/issues/comments/{number}")
        self.comments[number - 1]["body"] = body["body"]
        return 200, self.comments[number - 1]


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    server = GitHub()
    yield server
    server.close()


def environment(github: GitHub, tmp_path: Path) -> dict[str, str]:
    event = tmp_path / "event.json"
    event.write_text(json.dumps(EVENT))
    return {"GITHUB_API_URL": github.address, "GITHUB_REPOSITORY": "a/b", "GITHUB_EVENT_PATH": str(event)}


def test_findings_are_annotations_and_fail_the_job(action: Action) -> None:
    ran = action.run({})
    assert ran.code == 1
    assert "::error title=transferlint TL101" in ran.said
    assert "file=train.py,line=9" in ran.said
    assert ran.outputs == {"exit-code": "1"}
    assert ran.used == ["actions/cache"]
    assert ran.installed.split()[-1] == str(ROOT)
    cache = action.temp / "transferlint" / "cache"
    assert any(cache.iterdir())
    assert not cache.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_a_version_comes_from_pypi_and_findings_need_not_fail(action: Action) -> None:
    options = {"version": "0.1.0", "fail": "false", "annotations": "false", "cache": "false", "paths": "train.py\n"}
    ran = action.run(options | {"args": "--select TL101\n--output-format concise"})
    assert ran.code == 0
    assert ran.installed.split()[-1] == "transferlint==0.1.0"
    assert "train.py:9:18" in ran.said
    assert "::error" not in ran.said
    assert ran.used == []


def test_nothing_found_passes_and_what_cannot_be_checked_fails_always(action: Action) -> None:
    assert action.run({"paths": "no such file.py", "fail": "false"}).code != 0
    (action.work / "train.py").write_text("import torch\n")
    ran = action.run({})
    assert (ran.code, ran.outputs) == (0, {"exit-code": "0"})


def test_everything_at_once(action: Action, github: GitHub, tmp_path: Path) -> None:
    ran = action.run({"sarif": "true", "comment": "true"}, EVENT, **environment(github, tmp_path))
    assert ran.code == 1
    assert ran.used == ["actions/cache", "github/codeql-action/upload-sarif"]
    sarif = json.loads(Path(ran.outputs["sarif-file"]).read_text())
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["TL101"]
    assert "comment: written" in ran.said
    (body,) = (one["body"] for one in github.comments)
    assert body.startswith("<!-- transferlint -->")
    assert "TL101" in body
    assert ran.summary == body


@pytest.fixture
def comment(github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The script of the comment alone, with a report; gives what it prints for an exit code of the check."""
    (tmp_path / "transferlint").mkdir()
    (tmp_path / "transferlint" / "comment.md").write_text("<!-- transferlint -->\nTL101")
    given = {**environment(github, tmp_path), "GITHUB_TOKEN": "token", "RUNNER_TEMP": str(tmp_path)}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    main = runpy.run_path(str(ROOT / ".github" / "action" / "comment.py"))["main"]

    def run(code: str) -> str:
        monkeypatch.setenv("CHECK_CODE", code)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main() == 0
        return said.getvalue()

    return run


def test_no_comment_is_begun_where_nothing_was_found(comment: Callable[[str], str], github: GitHub) -> None:
    assert comment("0") == "comment: not needed\n"
    assert github.comments == []


def test_a_comment_is_updated_by_the_next_run_wherever_it_stands(comment: Callable[[str], str], github: GitHub) -> None:
    for _ in range(100):
        github.add("somebody", "some words")
    foreign = github.add("somebody", "<!-- transferlint -->\nnot ours")
    assert comment("1") == "comment: written\n"
    github.comments[-1]["body"] = "<!-- transferlint -->\nof an earlier run"
    assert comment("0") == "comment: updated\n"
    assert len(github.comments) == 102
    assert github.comments[-1]["body"].endswith("TL101")
    assert github.comments[foreign - 1]["body"].endswith("not ours")


@pytest.mark.parametrize(("refused", "hint"), [(403, "forks"), (500, "")])
def test_a_comment_that_is_refused_is_a_warning(
    refused: int, hint: str, comment: Callable[[str], str], github: GitHub
) -> None:
    github.refuse = refused
    said = comment("1")
    assert said.startswith(f"::warning title=transferlint::the comment was not written: {refused}")
    assert said.count("\n") == 1
    assert hint in said


def test_what_answers_nothing_is_a_warning(
    comment: Callable[[str], str], github: GitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "none.json"))
    assert comment("1").startswith("::warning title=transferlint::the comment was not written: FileNotFoundError")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    github.close()
    assert comment("1").startswith("::warning title=transferlint::the comment was not written: URLError")


def test_a_persons_token_updates_that_persons_comment(comment: Callable[[str], str], github: GitHub) -> None:
    github.me = "person"
    theirs = github.add("github-actions[bot]", "<!-- transferlint -->\nof another job")
    own = github.add("person", "<!-- transferlint -->\nof an earlier run")
    assert comment("1") == "comment: updated\n"
    assert "TL101" in github.comments[own - 1]["body"]
    assert github.comments[theirs - 1]["body"].endswith("of another job")
    assert len(github.comments) == 2
