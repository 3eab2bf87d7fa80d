"""Tests in a process of their own: each runs in a fork of a server that has imported torch and done nothing with it.

`@in_simulation` runs a test function's body where the simulated accelerator has been started, `@on_two_devices` where
it has two devices, `@in_fork` where it has not been started. `outcome(path, function, simulate, *args)` runs a function
of any file so and gives what it returned (as JSON); its server has imported torch._dynamo too, for which a program's
first optimizer takes two seconds. A body may use what it imports itself and the names of its module;
fixtures that JSON can carry are passed on.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])
ROOT = Path(__file__).resolve().parents[1]
SECONDS = 600  # it ends what hangs, and nothing that is slow


def in_simulation(test: Test) -> Test:
    """Run the body of `test` in a fork with the simulated accelerator."""
    return _elsewhere(test, simulate=1)


def on_two_devices(test: Test) -> Test:
    """Run the body of `test` in a fork with two simulated devices."""
    return _elsewhere(test, simulate=2)


def in_fork(test: Test) -> Test:
    """Run the body of `test` in a fork with torch and without the simulated accelerator."""
    return _elsewhere(test, simulate=0)


def _elsewhere(test: Test, simulate: int) -> Test:
    if os.environ.get("SIMULATED_FORK"):
        return test

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        _outcome(_server(), sys.modules[test.__module__].__file__ or "", test.__name__, simulate, fixtures)

    return run  # type: ignore[return-value]


def outcome(path: str, function: str, simulate: int, **kwargs: Any) -> Any:
    """What `function` of the file `path` returns in a fork with so many simulated devices; the test fails with its
    traceback where it raises."""
    return _outcome(_server("torch._dynamo"), path, function, simulate, kwargs)


def _outcome(server: Server, path: str, function: str, simulate: int, kwargs: dict[str, Any]) -> Any:
    answer = server.ask({"path": str(path), "function": function, "simulate": simulate, "kwargs": kwargs})
    if answer["kind"] == "skipped":
        pytest.skip(answer["text"])
    if answer["kind"] == "failed":
        pytest.fail(answer["text"], pytrace=False)
    return answer["value"]


class Server:
    """A process that forks, once it has imported torch and `modules`."""

    def __init__(self, modules: tuple[str, ...] = ()) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", __file__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "SIMULATED_FORK": "1", "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
        )

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Send one question, wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question, default=str) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the server of forks has died"
        answer: dict[str, Any] = json.loads(line)
        return answer


@functools.cache
def _server(*modules: str) -> Server:
    """One of each kind serves all tests of this process, from the first question on."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return Server(modules)


def _serve() -> None:
    """The server: a line with a question, a fork, a line with its answer."""
    import torch

    torch.set_num_threads(1)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    from runtime_check.simulate import conditions

    unmet = conditions.unmet()
    for line in sys.stdin:
        question = json.loads(line)
        if question["simulate"] and unmet:
            print(json.dumps({"kind": "skipped", "text": unmet}))
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(_forked(question, Path(folder))))


def _forked(question: dict[str, Any], folder: Path) -> dict[str, Any]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _in_child(question, folder)
    _, status = os.waitpid(child, 0)
    said = (folder / "said").read_text(errors="replace")
    try:
        answer: dict[str, Any] = json.loads((folder / "answer").read_text())
    except (OSError, ValueError):
        answer = {"kind": "failed", "text": f"the process ended with {os.waitstatus_to_exitcode(status)}\n{said}"}
    if answer["kind"] == "failed":
        answer["text"] += f"\n{said}"
    return answer


def _in_child(question: dict[str, Any], folder: Path) -> NoReturn:
    import signal

    import torch

    signal.alarm(SECONDS)
    written = os.open(folder / "said", os.O_CREAT | os.O_WRONLY)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        if question["simulate"]:
            from runtime_check import simulate
            from runtime_check.simulate import trial

            trial.run = lambda install: ""  # has tests of its own, and doubles the time of all others
            simulate.start(int(question["simulate"]))
            torch.autograd.set_multithreading_enabled(True)  # as on a GPU, which the hooks are made for
        specification = importlib.util.spec_from_file_location(
            "forked_" + Path(question["path"]).stem, question["path"]
        )
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[specification.name] = module
        specification.loader.exec_module(module)
        value = getattr(module, question["function"])(**question["kwargs"])
        answer = {"kind": "passed", "value": value}
    except pytest.skip.Exception as error:
        answer = {"kind": "skipped", "text": str(error)}
    except BaseException:
        answer = {"kind": "failed", "text": traceback.format_exc()}
    (folder / "answer").write_text(json.dumps(answer, default=str))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    _serve()
