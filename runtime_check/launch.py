"""The process that runs the program: as Python would have run it, with everything that crosses recorded.

`verify` starts it with `command`, so that the program's process holds nothing of ours but what records: no click, no
rich, no findings. What a program can see of it: hooks in torch and in JAX, modules of `runtime_check` in
`sys.modules`, an `atexit` handler that runs after all of its own, an `os._exit` that writes what is recorded first, and
three frames below its own on the stack.

Recording starts right after the program's own `import torch` or `import jax`: what a script sets before that import
(OMP_NUM_THREADS, CUDA_VISIBLE_DEVICES) still counts.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from runtime_check import executed, plan, program
from runtime_check.line_counts import LineCounts
from runtime_check.plan import Plan, Status
from runtime_check.program import NoProgram, Program

if TYPE_CHECKING:
    from runtime_check.recorder import Started

REFUSED = 2
FRAMEWORKS = ("torch", "jax")
_OPERATORS = os.path.join("torch", "_ops.py")
_OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def command(interpreter: Sequence[str], folder: str, rank: int) -> list[str]:
    """The command that runs the plan of a rank which lies in a folder."""
    return [*interpreter, os.path.join(_OURS, "starter.py"), folder, str(rank)]


def main() -> None:
    """Run the plan whose folder and rank stand in `sys.argv`. What the program raises goes on to the interpreter."""
    folder, rank = sys.argv[1:3]
    asked = plan.read_plan(folder, int(rank))
    _die_with_parent()
    process = Process(asked)
    atexit.register(process.finish)  # the first to be registered runs last, after the program's own
    process.run()


class Process:
    """This process: what it was asked to do, what it has started, and the code it will end with."""

    def __init__(self, asked: Plan) -> None:
        self._asked = asked
        self._pid = os.getpid()
        self._stop: Callable[[int], None] | None = None
        self._status = Status()
        self._started: Started | None = None
        self._without_jax = ""  # why JAX is not recorded
        self._simulated = False
        self._code = 0
        self._end_now = os._exit
        counts = LineCounts(asked.root) if asked.lines and asked.root else None
        self._lines = executed.ExecutedLines(asked.sites, counts)
        self._counts = counts

    def run(self) -> None:
        """Run the program; raises what it raises, with the tracebacks that it would show."""
        wanted = Program(self._asked.program, self._asked.module)
        program.enter(wanted)
        if all(importlib.util.find_spec(name) is None for name in FRAMEWORKS):
            self.refuse(f"torch is not installed for {sys.executable}; install it there: pip install torch")
        for name in FRAMEWORKS:
            after_import(name, functools.partial(self._record, name))
        self._lines.start()
        code: CodeType | None = None
        try:
            code = program.load(wanted, self._lines.compile)
            exec(code, vars(sys.modules["__main__"]))
        except NoProgram as error:
            self.refuse(str(error))
        except BaseException as error:
            self._code = _exit_code(error)
            _hide_our_frames(code)
            raise

    def refuse(self, why: str) -> None:
        """End at once, with the reason in the status for `verify` to say."""
        plan.write(self._asked.folder, f"status-{self._asked.rank}", Status(refused=why))
        sys.stdout.flush()
        self._end_now(REFUSED)

    def finish(self) -> None:
        """Stop recording. Where the interpreter's own end would race with threads of the simulated device, end here,
        as the interpreter would have ended; so does a forked process, which has nothing else to do."""
        os._exit = self._end_now
        if os.getpid() == self._pid:
            self._stop_recording(self._code)
            self._lines.stop()
            recorded = self._status.torch or self._status.jax
            done = dataclasses.replace(self._status, ended=True, refused="" if recorded else self._without_jax)
            plan.write(self._asked.folder, f"status-{self._asked.rank}", done)
        if self._simulated:
            end(self._code)

    def _stop_recording(self, code: int) -> None:
        stop, self._stop = self._stop, None
        if stop is not None:
            stop(code)

    def _record(self, framework: str) -> None:
        """Record what a framework does, which has just been imported. A JAX that cannot be recorded does not end the
        program: many import it that do not use it."""
        from runtime_check import recorder

        try:
            if self._started is None:
                self._started = recorder.start(self._asked, self._lines.executed, self._counts, framework=framework)
                self._started.watches(FRAMEWORKS)
                if self._without_jax:
                    self._started.lacks_jax(self._without_jax)
            else:
                self._started.also(framework)
        except recorder.Refused as error:
            if framework == "jax":
                self._without_jax = str(error)
            else:
                self.refuse(str(error))
            return
        except Exception as error:  # the program must not see it as an error of its own `import torch`
            words = " ".join(str(error).split())
            self.refuse(f"recording could not start: {type(error).__name__}: {words}; please report")
            return
        started = self._started
        started.ends_at_once()
        self._stop, self._simulated = started.stop, started.simulated
        os._exit = self._exit_at_once
        torch, jax = framework == "torch" or self._status.torch, framework == "jax" or self._status.jax
        self._status = Status(level=started.level, torch=torch, jax=jax)
        plan.write(self._asked.folder, f"status-{self._asked.rank}", self._status)

    def _exit_at_once(self, status: int) -> NoReturn:
        """`os._exit` for the program: what was recorded in the last moment is not lost."""
        if os.getpid() == self._pid:
            self._stop_recording(status & 0xFF)
        self._end_now(status)


def after_import(name: str, call: Callable[[], None]) -> None:
    """Call once, right after the module has been imported by whoever imports it; at once where it is there already."""
    if name in sys.modules:
        call()
    else:
        sys.meta_path.insert(0, _Waiting(name, call))


class _Waiting(importlib.abc.MetaPathFinder):
    """Waits for one import, and is gone with it."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name = name
        self._call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader)
        return spec

    def _call_after(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            with _uncollected():
                execute(module)
                self._call()

        loader.exec_module = exec_module


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without searches for cycles, of which an import leaves few: they take a tenth of the import of torch."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _hide_our_frames(code: CodeType | None) -> None:
    """Let the exception that ends the program be shown as without us: the frames below the program's, and those of
    hooks within it, are taken from the traceback when the interpreter shows it."""
    shown = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.excepthook = shown
        seen: set[int] = set()
        outer = _program_frames(trace, code)
        error.__traceback__ = sys.last_traceback = outer
        _strip(error, seen)
        shown(kind, error, error.__traceback__)

    sys.excepthook = excepthook


def _program_frames(trace: TracebackType | None, code: CodeType | None) -> TracebackType | None:
    """The traceback from the program's first frame on; where there is none, from the first that is not of ours."""
    while trace is not None and trace.tb_frame.f_code is not code:
        if code is None and not _ours(trace):
            break
        trace = trace.tb_next
    return trace


def _strip(error: BaseException | None, seen: set[int]) -> None:
    """Take our frames from the traceback of an exception and of those it came from."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    kept: list[TracebackType] = []
    trace, dropped = error.__traceback__, False
    while trace is not None:
        # by way of torch/_ops.py our kernels call the operators that they stand for
        dropped = _ours(trace) or (dropped and trace.tb_frame.f_code.co_filename.endswith(_OPERATORS))
        if not dropped:
            kept.append(trace)
        trace = trace.tb_next
    for one, after in itertools.pairwise([*kept, None]):
        if one is not None:
            one.tb_next = after
    error.__traceback__ = kept[0] if kept else None
    _strip(error.__cause__, seen)
    _strip(error.__context__, seen)


def _ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_OURS)


def _exit_code(error: BaseException) -> int:
    """The code that the interpreter ends with, negative for the signal that it ends by."""
    if isinstance(error, SystemExit):
        code = error.code
        return 0 if code is None else code & 0xFF if isinstance(code, int) else 1
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def end(code: int) -> None:
    """End as the interpreter does, without its tearing down of modules: flush, then the signal or the code."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = code or 120  # as Python does where standard output cannot be flushed
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _die_with_parent() -> None:
    """Have the kernel kill this process where `verify` is killed: to whoever kills it, it is the program (Linux)."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1  # prctl(2)
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
