"""The progress bar: only where a person waits for it."""

from __future__ import annotations

import math
import os
import pty
import subprocess
import sys

from transferlint.cli import progress
from transferlint.cli.progress import NoProgress, TerminalProgress


def test_a_short_run_shows_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE", math.inf)
    with TerminalProgress() as bar:
        bar.begin(2)
        bar.advance(1)
        bar.advance(1)
    assert capsys.readouterr() == ("", "")


def test_a_long_run_shows_a_bar_on_stderr(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with TerminalProgress() as bar:
        bar.begin(3)
        bar.advance(1)
        bar.advance(1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "checking" in err


def test_no_bar_is_no_bar():
    with NoProgress() as bar:
        bar.begin(1)
        bar.advance(1)


def test_colour_on_a_terminal_and_none_in_a_pipe(tmp_path):
    (tmp_path / "a.py").write_text("import torch\nx = (\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "transferlint", "check", "a.py"]
    piped = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, timeout=600, check=False)
    assert b"\x1b[" not in piped.stdout
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment) as process:
        assert process.wait(600) == 1
    os.write(theirs, b"\nend")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 100_000)
    os.close(ours)
    os.close(theirs)
    assert b"\x1b[1;31mTL001" in shown
