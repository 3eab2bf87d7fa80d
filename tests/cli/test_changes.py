"""Only what changed: `--diff-base`, `--watch`, and what is said of fixes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interrupts import interruptible

from transferlint.cli import watching

ROOT = Path(__file__).parents[2]


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.email=a@b.example", "-c", "user.name=n", "-c", "init.defaultBranch=main")
    made = subprocess.run(["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return made.stdout


@pytest.fixture
def repository(folder: Path, write) -> Path:
    """A repository with a finding on line 2 of `a.py` and of `old.py`, on a branch of its own."""
    write("a.py", "x = bad\ny = 1\n")
    write("old.py", "x = bad\n" + "# padding\n" * 20)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "checkout", "-qb", "topic")
    return folder


def places(ran) -> list[str]:
    return [line.split()[0] for line in ran.out.splitlines() if " TST" in line or " TL0" in line]


def changed(run, *arguments: str) -> list[str]:
    ran = run("check", "-f", "concise", "--diff-base", "main", *arguments)
    assert ran.err == ""
    return places(ran)


def test_what_did_not_change_is_not_reported(run, write, repository):
    assert changed(run) == []
    write("a.py", "x = bad\ny = bad\n")
    assert changed(run) == ["a.py:3:5"]
    assert places(run("check", "-f", "concise")) == ["a.py:2:5", "a.py:3:5", "old.py:2:5"]


def test_moved_lines_have_not_changed(run, write, repository):
    write("a.py", "\n\n\nx = bad\ny = bad\n")
    assert changed(run) == ["a.py:6:5"]


def test_new_files_count_whole_and_renamed_ones_only_where_they_changed(run, write, repository):
    write("new/b.py", "x = bad\n")
    write("ignored/c.py", "x = bad\n")
    (repository / ".gitignore").write_text("ignored/\n")
    git(repository, "mv", "old.py", "renamed.py")
    with (repository / "renamed.py").open("a") as file:
        file.write("z = bad\n")
    assert sorted(changed(run)) == ["new/b.py:2:5", "renamed.py:23:5"]
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    assert sorted(changed(run)) == ["new/b.py:2:5", "renamed.py:23:5"], "committed or not"


def test_what_the_other_branch_changed_since_is_not_ours(run, write, repository):
    git(repository, "checkout", "-q", "main")
    write("a.py", "x = 2\ny = 1\n")
    git(repository, "commit", "-qam", "theirs")
    git(repository, "checkout", "-q", "topic")
    assert changed(run) == []


def test_only_changed_lines_are_fixed_and_suppressed(run, write, repository):
    path = write("a.py", "x = bad\ny = bad\nz = worse\n")
    ran = run("check", "--diff-base", "main", "--fix", "--show-fixes", "-f", "concise")
    assert (ran.code, places(ran)) == (1, ["a.py:4:5"])
    assert ran.err == "Fixed 1 finding:\n- a.py:\n    1 of TST101 (bad-word)\n"
    assert path.read_text() == "import torch\nx = bad\ny = fine\nz = worse\n"
    run("check", "--diff-base", "main", "--add-ignore", "--reason", "why")
    assert path.read_text() == ("import torch\nx = bad\ny = fine\nz = worse  # transferlint: ignore[TST102] why\n")


def test_a_file_that_cannot_be_read_counts_where_it_changed(run, write, repository):
    write("old.py", "x = (\n")
    assert changed(run) == ["old.py:2:1"]
    git(repository, "commit", "-qam", "broken")
    assert changed(run) == ["old.py:2:1"]
    git(repository, "branch", "-qf", "main")
    write("a.py", "y = bad\n")
    assert changed(run) == ["a.py:2:5"]


def test_standard_input_is_compared_too(run, write, repository, monkeypatch):
    import io
    from types import SimpleNamespace

    text = b"import torch\nx = bad\ny = bad\n"
    write("a.py", "x = bad\ny = 2\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    ran = run("check", "-", "--stdin-filename", "a.py", "--diff-base", "main", "-f", "concise")
    assert places(ran) == ["a.py:3:5"]


def test_a_baseline_is_not_stale_for_what_was_not_looked_at(run, write, repository):
    run("check", "--baseline", "known.json", "--write-baseline")
    write("a.py", "x = bad\ny = bad\n")
    ran = run("check", "--baseline", "known.json", "--diff-base", "main", "-f", "concise")
    assert places(ran) == ["a.py:3:5"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--diff-base", "nope"], "has no revision nope; a shallow clone may lack it"),
        (["--diff-base", "--output=x"], "is no revision"),
        (["--diff-base", "main", "--write-baseline"], "exclude each other"),
        (["--watch", "-"], "--watch goes with neither"),
        (["--quiet", "--verbose"], "--quiet and --verbose exclude each other"),
    ],
)
def test_what_cannot_be_done_is_one_line(run, repository, arguments, words):
    ran = run("check", *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_outside_of_a_repository_and_without_git(run, write, folder, monkeypatch):
    write("a.py", "x = bad\n")
    ran = run("check", "--diff-base", "main")
    assert (ran.code, ran.err) == (2, "transferlint: --diff-base: . is in no git repository\n")
    git(folder, "init", "-q")
    monkeypatch.setenv("PATH", str(folder))
    ran = run("check", "--diff-base", "main")
    assert (ran.code, ran.err) == (2, "transferlint: --diff-base: git cannot be run: No such file or directory\n")


def test_a_repository_starts_no_program(run, write, repository):
    mark = repository / "ran"
    for key in ("core.fsmonitor", "diff.external", "diff.odd.textconv", "core.hooksPath"):
        git(repository, "config", key, f"touch {mark};")
    (repository / ".gitattributes").write_text("*.py diff=odd\n")
    write("a.py", "x = bad\ny = bad\n")
    assert changed(run) == ["a.py:3:5"]
    assert not mark.exists()


def test_exit_non_zero_on_fix(run, write):
    write("a.py", "x = bad\n")
    assert run("check", "--fix", "--exit-non-zero-on-fix").code == 1
    assert run("check", "--fix", "--exit-non-zero-on-fix").code == 0
    write("a.py", "x = bad\n")
    assert run("check", "--fix-only", "--exit-non-zero-on-fix").code == 1


def test_options_come_from_the_environment_too(run, write, monkeypatch):
    write("a.py", "x = bad\ny = quiet\n")
    monkeypatch.setenv("TRANSFERLINT_OUTPUT_FORMAT", "concise")
    monkeypatch.setenv("TRANSFERLINT_QUIET", "1")
    monkeypatch.setenv("TRANSFERLINT_SELECT", "TST2,TST1")
    assert run("check").out == "a.py:2:5 TST101 bad is slow [fix: --fix]\na.py:3:5 TST201 quiet is slow [fix: --fix]\n"
    assert len(run("check", "--select", "TST2").out.splitlines()) == 1, "the command line wins"
    monkeypatch.setenv("TRANSFERLINT_OUTPUT_FORMAT", "odd")
    ran = run("check")
    assert ran.code == 2
    assert ran.err.rstrip().endswith("(from TRANSFERLINT_OUTPUT_FORMAT)")
    monkeypatch.setenv("TRANSFERLINT_RULES_OUTPUT_FORMAT", "json")
    assert run("rules").out.startswith("[")


def test_verbose_says_what_the_run_rests_on(run, write, folder):
    write("a.py", "x = bad\n")
    (folder / "transferlint.toml").write_text("select = ['TST1']\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "transferlint.toml").write_text("ignore = ['TST101']\n")
    write("sub/b.py", "x = bad\n")
    ran = run("check", "-v", "--no-cache", "-f", "concise")
    assert "transferlint: settings: " in ran.err
    assert f"settings: {folder / 'sub' / 'transferlint.toml'}, for what is below it" in ran.err
    assert "rules: 3 of 7 run" in ran.err
    assert "cache: none" in ran.err
    assert "checked: 2 files in " in ran.err
    assert len(ran.out.splitlines()) == 2


def test_watching_checks_again_when_a_file_changes(folder, write):
    pytest.importorskip("watchfiles")
    path, said = write("a.py", "x = (\n"), folder / "said.txt"
    command = [sys.executable, "-m", "transferlint", "check", "--watch", "-f", "concise", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def heard(words: str) -> bool:
        assert process.poll() is None, said.read_text()
        time.sleep(0.05)
        return words in said.read_text()

    with said.open("wb") as out:
        process = subprocess.Popen(interruptible(command), cwd=folder, env=environment, stdout=out, stderr=out)
    try:
        while not heard("watching for changes"):
            pass
        assert "TL001" in said.read_text()
        turn = 0
        while not heard("Nothing found in 1 file"):  # the watcher may begin after it is said that it does
            turn += 1
            if turn % 20 == 1:
                path.write_text(f"import torch\nx = {turn}\n")
        process.send_signal(signal.SIGINT)
        assert process.wait() in (0, 130), "130 where it is just checking"
    finally:
        process.kill()
        process.wait()


def test_watching_without_its_package_is_one_line(run, write, monkeypatch):
    write("a.py", "x = bad\n")
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ran = run("check", "--watch")
    assert ran.code == 2
    assert "pip install 'transferlint[watch]'" in ran.err


def test_what_is_watched(monkeypatch):
    watchfiles = pytest.importorskip("watchfiles")
    asked = []

    def watch(*paths: str, watch_filter, raise_interrupt: bool):
        asked.append((paths, raise_interrupt))
        change = watchfiles.Change.modified
        names = ("/p/a.py", "/p/n.ipynb", "/p/pyproject.toml", "/p/a.txt", "/p/.venv/a.py", "/p/.git/a.py")
        yield {name for name in names if watch_filter(change, name)}

    monkeypatch.setattr(watchfiles, "watch", watch)
    codes = iter([1, 0])
    assert watching.watch(["src"], lambda: next(codes)) == 0
    assert asked == [(("src",), False)]
