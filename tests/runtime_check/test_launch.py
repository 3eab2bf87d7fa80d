"""A program runs under the launcher as without: output, arguments, `__main__`, tracebacks, exit codes, signals."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from interrupts import interruptible, uninterruptible

from runtime_check import launch, plan
from runtime_check.plan import Plan
from transferlint.model import Site

DRIVER = """
import sys
from runtime_check import child, launch
sys.exit(child.end_as(child.run(launch.command(child.interpreter(), sys.argv[1], 0))))
"""

NAMES = """
'''Documentation.'''
import pickle, sys, inspect
class Thing:
    pass
def private(name):
    return name.startswith("__transferlint")
here = sys.modules["__main__"]
print(sys.argv, sys.orig_argv[1:], sys.path[0], __name__, __file__, __package__, __cached__, __doc__)
print(type(__loader__).__name__, __spec__ and __spec__.name, [name for name in sorted(globals()) if not private(name)])
print(pickle.loads(pickle.dumps(Thing())).__class__ is Thing, here.Thing is Thing, vars(here) is globals())
print(inspect.getsource(Thing))
"""

PROGRAMS = {
    "names": NAMES,
    "standard input": "import sys\nprint(sys.stdin.read(), input if False else '')",
    "an error": "def f():\n    raise ValueError('x')\n\nf()",
    "a chain of errors": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise RuntimeError('again') from error"
    ),
    "an error in a group": "raise BaseException('base')",
    "deep recursion": "import sys\nsys.tracebacklimit = 3\ndef f():\n    f()\nf()",
    "no Python": "print('never'\n",
    "exit 3": "import sys\nprint(1)\nsys.exit(3)",
    "exit -1": "import sys\nprint(1)\nsys.exit(-1)",
    "exit with words": "import sys\nsys.exit('words')",
    "exit without a code": "print(1)\nraise SystemExit",
    "exit by name": "print(1)\nexit(4)",
    "end without finalizing": "import os\nprint('x', flush=True)\nos._exit(5)",
    "its own excepthook": (
        "import sys, traceback\n"
        "def hook(kind, error, trace):\n    print('hook', kind, error, traceback.extract_tb(trace))\n"
        "sys.excepthook = hook\nraise KeyError('k')"
    ),
    "interrupted": "raise KeyboardInterrupt",
    "terminated": "import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGTERM)",
    "killed": "import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os\nprint('x', flush=True)\nos.abort()",
    "handlers at exit": (
        "import atexit, threading, sys\n"
        "atexit.register(print, 'first'); atexit.register(print, 'second')\n"
        "atexit.register(lambda: 1 / 0)\n"
        "threading.Timer(0.1, print, ('thread',)).start()\n"
        "class Last:\n    def __del__(self):\n        print('deleted')\nlast = Last()\n"
        "print('main'); sys.exit(6)"
    ),
    "a closed output": "import sys, os\nprint('x')\nos.close(1)",
    "a process by fork": (
        "import os, sys\n"
        "child = os.fork()\n"
        "if child == 0:\n    print('child', flush=True)\n    sys.exit(7)\n"
        "print('parent', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    ),
    "processes by spawn": (
        "import multiprocessing\n"
        "def work(x):\n    return x + 1\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(work, [1, 2]))"
    ),
    "asyncio": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    raise ValueError('x')\nasyncio.run(main())"
    ),
    "warnings": "import warnings\nwarnings.warn('careful', stacklevel=1)",
}


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a process ended and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and a torch that is there and does nothing."""
    stub = tmp_path / "stub" / "torch"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("")
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stub"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return inside


def ended(command: list[str]) -> Ended:
    made = subprocess.run(command, input="words", capture_output=True, text=True, check=False, timeout=600)
    return Ended(made.returncode, made.stdout, re.sub("0x[0-9a-f]+", "0x", made.stderr))


def launched(folder: Path, words: tuple[str, ...], *, module: bool = False, sites: object = ()) -> list[str]:
    """The command that runs the program under the launcher."""
    run = folder.parent / "run"
    run.mkdir(exist_ok=True)
    plan.write(run, "plan-0", Plan(words, module, str(run), sites=tuple(sites)))  # type: ignore[arg-type]
    return [sys.executable, "-c", DRIVER, str(run)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("watched", [False, True], ids=["", "watched"])
def test_a_script_runs_as_without_us(folder: Path, name: str, watched: bool) -> None:
    script = folder / "program.py"
    if watched and name == "deep recursion":
        pytest.skip("its message says in what the limit was reached")
    script.write_bytes(PROGRAMS[name].encode(errors="surrogateescape"))
    words = ("program.py", "a", "--b=c")
    plain = ended([sys.executable, *words])
    sites = [Site(str(script), number, 0, number, 0) for number in range(1, 30)] if watched else []
    assert ended(launched(folder, words, sites=sites)) == plain
    assert plain.out or plain.err


def test_a_script_is_named_as_it_was_given(folder: Path) -> None:
    script = folder / "below" / "program.py"
    script.parent.mkdir()
    script.write_text(NAMES)
    (folder / "link.py").symlink_to(script)
    for word in ("below/program.py", "./below/../below/program.py", str(script), "link.py"):
        assert ended(launched(folder, (word,))) == ended([sys.executable, word])


def test_modules_packages_folders_and_archives_run_as_without_us(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("print(__name__)")
    for name in ("package/__main__.py", "package/inner.py", "alone.py"):
        (folder / name).write_text(NAMES)
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", NAMES)
    for word in ("package", "package.inner", "alone", "package.__main__"):
        plain = ended([sys.executable, "-m", word, "x"])
        assert plain.code == 0
        assert ended(launched(folder, (word, "x"), module=True)) == plain
    for word in ("package", "archive.zip"):
        plain = ended([sys.executable, word, "x"])
        assert ended(launched(folder, (word, "x"))) == plain


def test_the_interpreter_gets_the_same_options(folder: Path) -> None:
    (folder / "program.py").write_text("import sys\nprint(sys.flags, sys.warnoptions, sys._xoptions, sys.orig_argv)")
    options = ["-O", "-W", "ignore", "-X", "utf8", "-u", "-s"]
    command = launched(folder, ("program.py",))
    assert ended([command[0], *options, *command[1:]]) == ended([sys.executable, *options, "program.py"])


@pytest.mark.parametrize(
    ("words", "module", "why"),
    [
        (("nothing.py",), False, "nothing.py: cannot be read: no such file or directory"),
        (("nothing",), True, "no module named 'nothing'"),
        (("json.nothing",), True, "no module named 'json.nothing'"),
        (("train.py",), True, "no module named 'train.py'; to run a file leave out -m, or write -m train"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(folder: Path, words: tuple[str, ...], module: bool, why: str) -> None:
    assert ended(launched(folder, words, module=module)) == Ended(launch.REFUSED, "", "")
    assert plan.read_status(folder.parent / "run").refused == why


def test_without_torch_there_is_nothing_to_run(folder: Path) -> None:
    (folder / "program.py").write_text("print('ran')")
    blocked = folder.parent / "stub" / "sitecustomize.py"
    blocked.write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
    )
    assert ended(launched(folder, ("program.py",))) == Ended(launch.REFUSED, "", "")
    assert plan.read_status(folder.parent / "run").refused.startswith("torch is not installed for ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGKILL])
def test_a_signal_to_us_reaches_the_program_once(folder: Path, number: signal.Signals) -> None:
    (folder / "program.py").write_text(
        "import os, signal, sys, time\n"
        "came = []\n"
        "signal.signal(signal.SIGUSR1, lambda *_: came.append('usr1'))\n"  # to print is not safe in a handler
        "open('pid', 'w').write(str(os.getpid()))\n"
        "print('ready', flush=True)\n"
        "until = time.monotonic() + 600\n"
        "while time.monotonic() < until and not came:\n"
        "    time.sleep(0.1)\n"
        "time.sleep(0.5)\n"
        "print(*came)\n"
    )
    command = interruptible(launched(folder, ("program.py",)))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == "ready\n"
        made.send_signal(number)
        out, err = made.communicate(timeout=600)
    ended_by = 0 if number == signal.SIGUSR1 else -number
    assert (out, made.returncode, err[-500:] if number != signal.SIGINT else "") == (
        "usr1\n" if number == signal.SIGUSR1 else "",
        ended_by,
        "",
    )
    assert err.count("KeyboardInterrupt") == (number == signal.SIGINT)
    assert gone(int((folder / "pid").read_text()))


def test_a_program_that_was_started_with_interrupts_ignored_ignores_them(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import signal, sys\n"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, flush=True)\n"
        "print(sys.stdin.readline(), end='')\n"
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = uninterruptible(launched(folder, ("program.py",)))
    with subprocess.Popen(command, text=True, **pipes) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == "True\n"
        made.send_signal(signal.SIGINT)
        assert made.communicate("on\n", timeout=600) == ("on\n", "")
    assert made.returncode == 0


def gone(pid: int) -> bool:
    """Whether the process ends, however slow the machine; one that nobody has waited for yet has ended too."""
    for _ in range(1500):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if state.stdout.strip()[:1] in ("", "Z"):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("enabled", [True, False])
def test_cycles_are_not_collected_during_the_import_that_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    states: list[bool] = []
    (tmp_path / "waited.py").write_text("import gc\nstates = [gc.isenabled()]\n")
    (tmp_path / "broken.py").write_text("raise KeyError('on purpose')\n")
    launch.after_import("waited", lambda: states.append(gc.isenabled()))
    launch.after_import("broken", lambda: states.append(gc.isenabled()))
    try:
        (gc.enable if enabled else gc.disable)()
        waited = importlib.import_module("waited")
        assert (waited.states, states, gc.isenabled()) == ([False], [False], enabled)
        with pytest.raises(KeyError):
            importlib.import_module("broken")
        assert (states, gc.isenabled()) == ([False], enabled)
    finally:
        gc.enable()
        sys.modules.pop("waited", None)
