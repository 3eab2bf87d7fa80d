"""What fails around a run (disk, files, processes, readers): one clear line, an exit code, and nothing lost."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from transferlint import registry
from transferlint.cache import places
from transferlint.cli import main
from transferlint.engine import checking, workers
from transferlint.engine.checking import Result
from transferlint.files import atomic
from transferlint.model import Finding
from transferlint.settings.loading import Settings
from transferlint.sources import discovery

BAD = (
    "import torch\n\n\ndef f(x: torch.Tensor):\n    for _ in range(9):\n        x = x + torch.zeros(3).to(x.device)\n"
    "    return x\n"
)
GOOD = BAD.replace("zeros(3).to(x.device)", "zeros(3, device=x.device)")
NAMES = ("a.py", "b.py", "c.py")


class Silent:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "kept"))
    (root / "pyproject.toml").write_text("")
    for name in NAMES:
        (root / name).write_text(BAD)
    return root


def command(*arguments: str, limit: int | None = None, **streams: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, in which (with `limit`) no file can grow beyond so many bytes."""

    def limited() -> None:
        import resource

        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    given: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.run(
        [sys.executable, "-m", "transferlint", *arguments],
        preexec_fn=limited, text=True, check=False, timeout=300, **{**given, **streams},
    )  # type: ignore[call-overload,no-any-return]  # fmt: skip


def texts(tree: Path) -> set[str]:
    return {(tree / name).read_text() for name in NAMES}


def left(tree: Path) -> list[str]:
    return sorted(name for name in os.listdir(tree) if name.startswith(".transferlint-"))


# A full disk. A limit on the size of files fails the same calls as a full disk does, with another number.


def test_full_while_fixing(tree, tmp_path):
    ran = command("check", "--fix", "-q", "-f", "concise", limit=0)
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [f"transferlint: {name}: not written: File too large" for name in NAMES]
    assert ran.stdout.count("TL401") == 3
    assert texts(tree) == {BAD}
    assert left(tree) == []
    assert [path for path in (tmp_path / "kept").rglob("*") if path.is_file() and path.name != ".pruned"] == []


@pytest.mark.parametrize("before", [None, "an older report\n"])
def test_full_while_reporting_to_a_file(tree, before):
    if before:
        (tree / "out.txt").write_text(before)
    ran = command("check", "-o", "out.txt", limit=0)
    assert (ran.returncode, ran.stderr) == (2, "transferlint: out.txt: not written: File too large\n")
    assert (tree / "out.txt").exists() == bool(before)
    assert not before or (tree / "out.txt").read_text() == before
    assert left(tree) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [("check",), ("check", "-f", "json"), ("rules",), ("check", "--help")])
def test_full_while_reporting(tree, arguments):
    with open("/dev/full", "w") as full:
        ran = command(*arguments, stdout=full)
        assert (ran.returncode, ran.stderr) == (
            2, "transferlint: standard output: not written: No space left on device\n"
        )  # fmt: skip
        assert command(*arguments, stdout=full, stderr=full).returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_device_is_written_to_and_not_replaced(tree):
    ran = command("check", "-o", "/dev/full")
    assert (ran.returncode, ran.stderr) == (2, "transferlint: /dev/full: not written: No space left on device\n")
    assert not os.path.isfile("/dev/full")
    assert "TL401" in command("check", "-o", "/dev/stdout").stdout


# What cannot be written to. Root may write everything, so that the refusal is made here.


def test_a_tree_and_a_cache_that_cannot_be_written(tree, monkeypatch, capsys):
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.mkstemp", refused)
    monkeypatch.setattr(os, "makedirs", refused)
    assert main(["check", "--fix", "-q", "-f", "concise"]) == 2
    out, err = capsys.readouterr()
    assert err.splitlines() == [f"transferlint: {name}: not written: Read-only file system" for name in NAMES]
    assert out.count("TL401") == 3
    assert main(["check", "-q", "-f", "concise"]) == 1
    assert capsys.readouterr().err == ""
    assert texts(tree) == {BAD}


# Files that vanish.


def test_a_file_that_is_gone_when_it_is_read(tree, monkeypatch, capsys):
    real = discovery.discover

    def discovered(*given: object) -> discovery.Found:
        found = real(*given)  # type: ignore[arg-type]
        (tree / "b.py").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(checking, "discover", discovered)
    for context in ("file", "project"):
        (tree / "b.py").write_text(BAD)
        assert main(["check", "-q", "-f", "concise", "--context", context]) == 2
        out, err = capsys.readouterr()
        assert err == "transferlint: b.py: cannot be read: no such file or directory\n"
        assert [line.split(":")[0] for line in out.splitlines()] == ["a.py", "c.py"]


def test_a_file_that_is_gone_when_it_is_fixed(tree, monkeypatch):
    real = atomic.write

    def write(path: str, data: bytes, expected: bytes | None) -> None:
        if path == "b.py":
            (tree / "b.py").unlink()
        real(path, data, expected)

    monkeypatch.setattr(atomic, "write", write)
    settings = Settings(fix=True, jobs=1)
    result = checking.check_paths(["."], settings, checking.plan_for(settings, registry.load()), Silent())
    assert "b.py: not written: No such file or directory" in [str(one) for one in result.troubles]
    assert (tree / "a.py").read_text() == (tree / "c.py").read_text() == GOOD


def test_the_current_folder_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -P -m transferlint check ."
    if sys.version_info < (3, 11):
        script = script.replace(" -P ", " ")
    ran = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "transferlint: the current folder does not exist any more\n")


# Two at once.


def test_two_that_fix_one_tree_lose_nothing(tree):
    for number in range(20):
        (tree / f"m{number}.py").write_text(BAD + f"# {number}\n")
    arguments = [sys.executable, "-m", "transferlint", "check", "--fix", "-q", "-f", "concise", "--no-cache"]
    both = [subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        _, err = one.communicate(timeout=300)
        assert one.returncode in (0, 1, 2)
        assert all("changed while it was checked" in line for line in err.splitlines()), err
    assert texts(tree) == {GOOD}
    assert {(tree / f"m{number}.py").read_text() for number in range(20)} == {GOOD + f"# {n}\n" for n in range(20)}
    assert left(tree) == []


# A killed worker, a killed run.


def killing(name: str) -> object:
    """A rule that kills the process in which it meets a file of that name."""
    builtin = registry.load().find("TL401")
    assert builtin is not None

    def detect(facts: object) -> list[Finding]:
        if facts.path == name:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGKILL)
        return list(builtin.detect(facts))  # type: ignore[arg-type]

    import dataclasses

    return dataclasses.replace(builtin, detect=detect, judge=None)


@pytest.mark.parametrize("context", ["file", "project"])
def test_a_worker_that_is_killed_costs_its_file_and_no_other(tree, context):
    for number in range(8):
        (tree / f"m{number}.py").write_text(BAD)
    settings = Settings(jobs=2, context=context, select=("TL401",))
    plan = checking.plan_for(settings, registry.load())
    import dataclasses

    plan = dataclasses.replace(plan, rules=(killing("b.py"),))  # type: ignore[arg-type]
    result: Result = checking.check_paths(["."], settings, plan, Silent())
    assert [str(one) for one in result.troubles] == ["internal error: the worker that checked b.py died; please report"]
    assert len(result.findings) == 10


def test_a_worker_that_is_killed_from_outside_costs_nothing(tree):
    """As the system does where memory runs out: the file is checked again."""
    killed = []

    def task(job: workers.Job) -> int:
        marker = tree / "killed"
        if job.index == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return job.index

    jobs = [workers.Job(index, discovery.Target(NAMES[index % 3])) for index in range(12)]
    found = workers.run(jobs, task, lambda job: killed.append(job) or -1, 2, lambda count: None)
    assert found == list(range(12))
    assert killed == []


def test_a_killed_run_leaves_files_that_the_next_one_removes(tree):
    script = (
        "import os, signal, sys\n"
        "from transferlint.files import atomic\n"
        "real = os.replace\n"
        "os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic.write('a.py', b'new', None)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    (name,) = left(tree)
    assert (tree / "a.py").read_text() == BAD
    os.utime(name, (time.time() - 5,) * 2)
    assert main(["check", "-q", "a.py"]) == 1
    assert left(tree) == [name], "a run that may not write removes nothing"
    assert main(["check", "-q", "--fix", "a.py"]) == 0
    assert left(tree) == []


def test_only_what_is_ours_and_left_over_is_removed(tree):
    old = (time.time() - 3 * 24 * 3600,) * 2
    kept = [".transferlint-notes.tmp", ".transferlint-abcdefgh.tmp.bak", "x.transferlint-abcdefgh.tmp"]
    for name in (*kept, ".transferlint-abcdefgh.tmp", ".transferlint-inuse123.tmp"):
        (tree / name).write_text("")
        os.utime(tree / name, old)
    (tree / ".transferlint-folder12.tmp").mkdir()
    (tree / ".transferlint-link1234.tmp").symlink_to(tree / "a.py")
    (tree / ".transferlint-new12345.tmp").write_text("")
    with open(tree / ".transferlint-inuse123.tmp", "rb") as held:
        locked = atomic._lock(held.fileno())
        atomic.sweep(str(tree))
        gone = {".transferlint-abcdefgh.tmp"} | (set() if locked else {".transferlint-inuse123.tmp"})
    assert {name for name in left(tree)} == {
        ".transferlint-notes.tmp", ".transferlint-abcdefgh.tmp.bak", ".transferlint-inuse123.tmp",
        ".transferlint-folder12.tmp", ".transferlint-link1234.tmp", ".transferlint-new12345.tmp",
    } - gone  # fmt: skip
    assert (tree / "a.py").read_text() == BAD


def test_a_file_that_is_being_written_is_not_swept(tree, monkeypatch):
    """Another run sweeps the folder at the last moment, long after the file was made."""
    real = os.replace

    def replace(source: str, target: str) -> None:
        os.utime(source, (time.time() - 3 * 24 * 3600,) * 2)
        other = threading.Thread(target=atomic.sweep, args=(str(tree),))
        other.start()
        other.join()
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    atomic.write(tree / "a.py", b"new", BAD.encode())
    assert (tree / "a.py").read_bytes() == b"new"


# Readers that have gone, and streams that are closed.


@pytest.mark.parametrize("arguments", [("check",), ("check", "-f", "json"), ("check", "--diff"), ("rule", "--all")])
def test_a_reader_that_has_enough(tree, arguments):
    for number in range(200):
        (tree / f"m{number}.py").write_text("import torch\nx = (\n")
    line = " ".join(arguments)
    script = f"{sys.executable} -m transferlint {line} | head -1; echo ${{PIPESTATUS[0]}} >&2"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert ran.stderr in ("0\n", "1\n", "2\n") or "Would fix" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr
    assert ran.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("closing", "said"),
    [
        (">&-", "transferlint: standard output is closed: nothing can be shown\n"),
        ("<&-", ""),
        ("2>&-", ""),
    ],
)
def test_a_stream_that_is_closed(tree, closing, said):
    script = f"{sys.executable} -m transferlint check -q {closing}"
    ran = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (ran.returncode, ran.stderr) == (2 if said else 1, said)


def test_no_standard_input_to_check(tree):
    script = f"{sys.executable} -m transferlint check - <&-"
    ran = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (ran.returncode, ran.stderr) == (
        2, "transferlint: standard input is closed: there is nothing to check\n"
    )  # fmt: skip
