"""Tests in a process of their own: each runs in a fork of a server that has imported torch and done nothing with it,
or, where it wants the simulated accelerator, of one in which that has started besides.

`@in_simulation` runs a test function's body where the simulated accelerator has been started, `@on_two_devices` where
it has two devices, `@in_fork` where it has not been started. `outcome(path, function, simulate, *args)` runs a function
of any file so and gives what it returned (as JSON), `side_by_side` in several forks at a time; their server has
imported torch._dynamo too, for which a program's first optimizer takes two seconds. So has that of a module's tests
where the module says `TRAINS = True`. A body may use what it imports itself and the names of its module; fixtures that
JSON can carry are passed on.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])
ROOT = Path(__file__).resolve().parents[1]
TRAINING = ("torch._dynamo",)
SECONDS = 300  # it ends what hangs, and nothing that is slow


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
        module = sys.modules[test.__module__]
        modules = TRAINING if getattr(module, "TRAINS", False) else ()
        _outcome(_server(modules, 0), module.__file__ or "", test.__name__, simulate, fixtures)

    return run  # type: ignore[return-value]


def outcome(path: str, function: str, simulate: int, **kwargs: Any) -> Any:
    """What `function` of the file `path` returns in a fork with so many simulated devices; the test fails with its
    traceback where it raises."""
    return _outcome(_server(TRAINING, 0), path, function, simulate, kwargs)


def _outcome(server: Server, path: str, function: str, simulate: int, kwargs: dict[str, Any]) -> Any:
    answer = server.ask({"path": str(path), "function": function, "simulate": simulate, "kwargs": kwargs})
    if answer["kind"] == "skipped":
        pytest.skip(answer["text"])
    if answer["kind"] == "failed":
        pytest.fail(answer["text"], pytrace=False)
    return answer["value"]


def need_accelerator() -> None:
    """Skip where there can be no simulated accelerator."""
    if refused := _refused():
        pytest.skip(refused)


@functools.cache
def _refused() -> str:
    answer: str = _outcome(_server((), 0), __file__, "refusal", 0, {})
    return answer


def refusal() -> str:
    """In a fork: why the simulated accelerator cannot start."""
    from runtime_check import simulate

    return simulate.refusal()


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
def _server(modules: tuple[str, ...], number: int) -> Server:
    """One of each kind serves all tests of this process, from the first question on; those with another number serve
    the tests that need several at a time."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return Server(modules)


def side_by_side(path: str, function: str, simulate: int, kwargs: Sequence[dict[str, Any]]) -> list[Any]:
    """What `function` returns in forks that run at the same time, one for each of `kwargs`."""
    servers = [_server(TRAINING, number) for number in range(len(kwargs))]
    with ThreadPoolExecutor(len(kwargs)) as pool:
        return list(pool.map(lambda server, given: _outcome(server, path, function, simulate, given), servers, kwargs))


def _serve() -> None:
    """The server: a line with a question, a fork, a line with its answer."""
    import torch

    torch.set_num_threads(1)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    from runtime_check.simulate import conditions

    unmet = conditions.unmet()
    started: dict[int, TextIO] = {}
    for line in sys.stdin:
        count = int(json.loads(line)["simulate"])
        if not count:
            print(_answered(line))
        elif unmet:
            print(json.dumps({"kind": "skipped", "text": unmet}))
        else:
            if count not in started:
                started[count] = _started(count)
            started[count].write(line)
            started[count].flush()
            died = json.dumps({"kind": "failed", "text": "the server of the simulation has died"})
            print(started[count].readline().rstrip("\n") or died)


def _started(count: int) -> TextIO:
    """A fork in which the simulation has started, with so many devices, and which then does what this server does: a
    start takes half a second. The answer is the way to it."""
    ours, its = socket.socketpair()
    if os.fork():
        its.close()
        return ours.makefile("rw")
    ours.close()
    stream = its.makefile("rw")
    try:
        own = _start(count)
        why = ""
    except BaseException:
        why = traceback.format_exc()
    for line in stream:
        stream.write((json.dumps({"kind": "failed", "text": why}) if why else _answered(line, own)) + "\n")
        stream.flush()
    os._exit(0)


def _start(count: int) -> Callable[[], None]:
    """Start the simulation; what a fork then has to call so that the simulation is its own, as if it had been started
    there: it knows the process by its number, and sees to it that a fork of that process has no device."""
    import torch

    from runtime_check import simulate
    from runtime_check.simulate import trial

    trial.run = lambda *_: ""  # has tests of its own, and doubles the time of all others
    held: list[dict[str, Any]] = []
    register = os.register_at_fork
    os.register_at_fork = lambda **named: held.append(named)
    try:
        simulate.start(count)
    finally:
        os.register_at_fork = register
    torch.autograd.set_multithreading_enabled(True)  # as on a GPU, which the hooks are made for
    (process,) = torch.cuda._is_in_bad_fork.__closure__
    assert process.cell_contents == os.getpid()
    assert len(held) == 1

    def own() -> None:
        process.cell_contents = os.getpid()
        register(**held[0])

    return own


def _answered(line: str, own: Callable[[], None] = lambda: None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return json.dumps(_forked(json.loads(line), Path(folder), own))


def _forked(question: dict[str, Any], folder: Path, own: Callable[[], None]) -> dict[str, Any]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _in_child(question, folder, own)
    _, status = os.waitpid(child, 0)
    said = (folder / "said").read_text(errors="replace")
    try:
        answer: dict[str, Any] = json.loads((folder / "answer").read_text())
    except (OSError, ValueError):
        answer = {"kind": "failed", "text": f"the process ended with {os.waitstatus_to_exitcode(status)}\n{said}"}
    if answer["kind"] == "failed":
        answer["text"] += f"\n{said}"
    return answer


def _in_child(question: dict[str, Any], folder: Path, own: Callable[[], None]) -> NoReturn:
    import faulthandler

    import torch

    torch.set_num_threads(1)  # makes the pool of the fork, which autograd's threads would make all at once, and abort
    written = os.open(folder / "said", os.O_CREAT | os.O_WRONLY)
    os.dup2(written, 1)
    os.dup2(written, 2)
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        own()
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
