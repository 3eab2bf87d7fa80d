"""Runs that are ended while they write, and disks that are full: every file is the old one or the new one, and another
run goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from interrupts import interruptible, uninterruptible

BAD = """\
import torch


def f(x: torch.Tensor):
    for _ in range(9):
        y = torch.zeros(3).to(x.device)
        x = x + y
    return x
"""
GOOD = BAD.replace("torch.zeros(3).to(x.device)", "torch.zeros(3, device=x.device)")
NAMES = ("a.py", "b.py", "c.py", "d.py")

# Runs the command line, and sends itself a signal when a function of `os` is called for the n-th time for our files.
DRIVER = """\
import os, signal, sys
function, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
real = getattr(os, function)
calls = []
def counted(*given, **named):
    calls.append(given)
    if len(calls) == count:
        os.kill(os.getpid(), number)
    return real(*given, **named)
setattr(os, function, counted)
sys.argv[1:] = ["check", ".", "--fix", "-q", "--no-cache", *sys.argv[4:]]
from transferlint.cli import main
sys.exit(main())
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    for name in NAMES:
        (tmp_path / name).write_text(f"# {name}\n" + BAD)
    return tmp_path


def run(
    tree: Path, *words: str, code: str = DRIVER, how: Callable[[Sequence[str]], list[str]] = interruptible
) -> subprocess.CompletedProcess[str]:
    command = how([sys.executable, "-c", code, *words])
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=600, check=False)


def states(tree: Path) -> list[str]:
    """ "old" or "new" for each file; fails where one is neither."""
    found = []
    for name in NAMES:
        head, _, text = (tree / name).read_text().partition("\n")
        assert head == f"# {name}"
        assert text in (BAD, GOOD)
        found.append("new" if text == GOOD else "old")
    return found


def left_over(tree: Path) -> list[str]:
    return sorted(path.name for path in tree.iterdir() if path.name not in (*NAMES, "pyproject.toml"))


def finish(tree: Path) -> None:
    """Another run fixes what is left."""
    command = [sys.executable, "-m", "transferlint", "check", ".", "--fix", "-q", "--no-cache"]
    assert subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 0
    assert states(tree) == ["new"] * 4


@pytest.mark.parametrize(("count", "jobs"), [(1, "1"), (4, "1"), (2, "2")])
def test_an_interrupt_waits_until_the_file_is_written(tree: Path, count: int, jobs: str) -> None:
    made = run(tree, "fsync", str(int(signal.SIGINT)), str(count), "--jobs", jobs)
    assert states(tree) == ["new"] * count + ["old"] * (4 - count)
    assert left_over(tree) == []
    assert "Traceback" not in made.stderr
    assert made.returncode == 130
    finish(tree)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_was_started_with_interrupts_ignored_ignores_them(tree: Path, jobs: str) -> None:
    words = ("fsync", str(int(signal.SIGINT)), "2", "--jobs", jobs)
    made = run(tree, *words, how=uninterruptible)
    assert (made.returncode, made.stderr, states(tree), left_over(tree)) == (0, "", ["new"] * 4, [])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize(
    ("function", "count", "written"),
    [("fsync", 1, 0), ("replace", 2, 1), ("chmod", 4, 3)],
)
def test_a_run_that_is_killed_leaves_whole_files(tree: Path, function: str, count: int, written: int) -> None:
    made = run(tree, function, str(int(signal.SIGKILL)), str(count))
    assert made.returncode == -signal.SIGKILL
    assert states(tree) == ["new"] * written + ["old"] * (4 - written)
    (name,) = left_over(tree)
    assert name.startswith(".transferlint-")
    assert name.endswith(".tmp"), "no run takes it for source"
    old = (tree / name).stat().st_mtime - 60
    os.utime(tree / name, (old, old))  # a file that is new may not have its lock yet, and is left alone
    finish(tree)
    assert left_over(tree) == [], "the next run removes it"


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_that_does_not_fit_is_said_and_the_others_are_fixed(tree: Path, jobs: str) -> None:
    """A limit on the size of files refuses writes in the middle, as a full disk does."""
    large = f"# b.py\n{BAD}" + "# a long line of a file that does not fit\n" * 400
    (tree / "b.py").write_text(large)
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n" + DRIVER
    made = run(tree, "fsync", "0", "0", "--jobs", jobs, code=limited)
    assert (tree / "b.py").read_text() == large
    (tree / "b.py").write_text(f"# b.py\n{BAD}")
    assert states(tree) == ["new", "old", "new", "new"]
    assert made.stderr.splitlines() == ["transferlint: b.py: not written: File too large"]
    assert (made.returncode, left_over(tree)) == (2, [])


def test_a_file_that_is_gone_is_not_made_again(tree: Path) -> None:
    removed = DRIVER.replace("os.kill(os.getpid(), number)", "os.remove('b.py')")
    made = run(tree, "fsync", "0", "2", code=removed)
    assert made.stderr.splitlines() == ["transferlint: b.py: not written: No such file or directory"]
    assert not (tree / "b.py").exists()
    (tree / "b.py").write_text(f"# b.py\n{BAD}")
    assert (states(tree), left_over(tree)) == (["new", "old", "new", "new"], [])


@pytest.mark.skipif(not hasattr(os, "chown") or os.getuid() != 0, reason="only root gives files away")
def test_whoever_fixes_a_file_does_not_take_it(tree: Path) -> None:
    os.chown(tree / "a.py", 1234, 4321)
    finish(tree)
    owner = (tree / "a.py").stat()
    assert (owner.st_uid, owner.st_gid) == (1234, 4321)
