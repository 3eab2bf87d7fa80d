"""Everything that records a program, put together and started: device, collector, file, hooks."""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from runtime_check.plan import Plan
from runtime_check.records import Executed, Header, Profile
from runtime_check.reports import units

if TYPE_CHECKING:
    from runtime_check.collect import Collector
    from runtime_check.cost import CostModel
    from runtime_check.jax_hooks.tap import Tap
    from runtime_check.line_counts import LineCounts
    from runtime_check.profiled import Window

Lines = Callable[[], Iterable[Executed]]
_SHARED = (
    "JAX's CPU device shares the host's memory: transfers are counted as on an accelerator, but not timed"
)


class Refused(Exception):
    """What was asked for cannot be had here; the message is one line."""


class Started:
    """A recording of this process, of those frameworks that it was told were imported. `level` is at what level;
    `simulated` says that torch's device is; `stop`, given the exit code, ends it."""

    def __init__(self, asked: Plan, executed: Lines, counts: LineCounts | None, parent: int, framework: str) -> None:
        from runtime_check import collect, provenance, recording

        self._asked = asked
        self._counts = counts
        self._undo = contextlib.ExitStack()
        self._alone = contextlib.ExitStack()  # what torch's hooks do where there are any
        self._profiling: Window | None = None
        self._of_jax: Tap | None = None
        self.simulated = False
        with_torch = framework == "torch"
        self.level, model, device = self._on_torch() if with_torch else (_without_torch(asked), None, "")
        traced = provenance.Provenance(lifetimes=True) if self.level != "guard" else None
        end = None if asked.steps[1] < 0 else asked.steps[1]
        self._collector = collect.Collector(
            model, provenance=traced, window=collect.Window(max(asked.steps[0], asked.warmup), end)
        )
        header = _header(asked, self.level, model, device, parent)
        self._written = recording.Recording(asked.folder, header, self._collector, executed)
        self._written.counts = None if counts is None else counts.rows
        tap = None if with_torch else self._tap()  # before there is a file
        try:
            self._written.start()
        except OSError as error:
            raise Refused(f"{asked.folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
        atexit.unregister(self._written.stop)  # it is stopped below, with the exit code
        if tap is None:
            self._follow_torch()
        else:
            self._follow_jax(tap)

    def also(self, framework: str) -> None:
        """Another framework has been imported. Raises Refused."""
        if framework == "jax":
            try:
                self._follow_jax(self._tap())
            except Refused as error:
                self.lacks_jax(str(error))
            return
        if self.level in ("guard", "trace") and self._asked.level != "auto" and not _finds_accelerator():
            self.note("torch finds no accelerator, so nothing of torch's crosses; --level simulate simulates one")
        else:
            self.level, self._collector.model, device = self._on_torch()
            model = self._collector.model
            source = "measured" if model is None else "modelled"
            self._written.renew(level=self.level, time_source=source, model="" if model is None else model.name)
            self._name_device(device)
        self._alone.close()
        self._written.renew(torch=_version("torch"))
        self._follow_torch()

    def watches(self, frameworks: tuple[str, ...]) -> None:
        """Say that each of them would be recorded where the program imports it."""
        self._written.renew(watched=frameworks)

    def lacks_jax(self, why: str) -> None:
        """JAX was imported, and cannot be recorded."""
        self.note(f"what JAX moves was not recorded: {why}")
        self._written.renew(watched=("torch",))

    def note(self, line: str) -> None:
        """Something for whoever reads the report."""
        self._written.renew(notes=(*self._written.header.notes, line))

    def ends_at_once(self) -> None:
        """Say that the process will end by `launch.end`."""
        from runtime_check import simulate

        if self.simulated:
            simulate.start().ends_at_once()

    def stop(self, code: int) -> None:
        """End it."""
        self._alone.close()
        self._undo.close()
        if self._profiling is not None:
            self._profiling.end()
            result = self._profiling.result
            self._written.profile = result or Profile(0, 0, 0, 0, 0, problem=self._profiling.problem)
        if "torch" in sys.modules and not self.simulated:
            self._name_device(_device_name())
            self._written.renew(driver=_driver())
        if self._of_jax is not None and self._of_jax.compilations:
            made = units.count(self._of_jax.compilations, "computation")
            self.note(f"JAX compiled {made} in {units.duration(round(self._of_jax.compiling * 1e9))}")
        self._written.stop(code)
        if self._written.problem:
            print(f"transferlint: {self._written.problem}", file=sys.stderr)

    def _on_torch(self) -> tuple[str, CostModel | None, str]:
        """The level for torch's transfers, and of a simulated device its model and name. Raises Refused."""
        level, name = self._asked.level, self._asked.device_model
        found = _finds_accelerator()
        if level == "auto":
            level = "trace" if found else "simulate"
        self.simulated = level == "simulate" or (level == "profile" and not found)
        if self.simulated:
            return level, *_simulated(name)
        if name:
            why = f"level {level} measures; --level simulate does not"
            raise Refused(f"--device-model is for the simulated device: {why}")
        if not found:
            raise Refused(f"torch finds no accelerator for --level {level}; --level simulate does without one")
        return level, None, ""

    def _follow_torch(self) -> None:
        from runtime_check import session, spawned
        from runtime_check.hooks import calibration

        self._written.renew(overhead_ns=calibration.per_event(self.level != "guard"))
        self._profiling = _profiling(self._asked, self._collector) if self.level == "profile" else None
        listeners = ((self.level, self._collector), ("guard", self._profiling), ("guard", self._counts))
        for level, listener in listeners:
            if listener is not None:
                self._undo.callback(session.start(level, listener).stop)
        if self._asked.guard:
            from runtime_check.guards import guard

            self._undo.enter_context(guard(self._asked.guard))
        self._undo.callback(spawned.install(self._asked))

    def _tap(self) -> Tap:
        """Put our hooks into JAX. Raises Refused."""
        from runtime_check import jax_hooks
        from runtime_check.jax_hooks.tap import Tap

        tap = Tap(bool(self._asked.guard), self._on_platform)
        try:
            self._undo.callback(jax_hooks.install(tap))
        except jax_hooks.Unsupported as error:
            raise Refused(str(error)) from None
        return tap

    def _follow_jax(self, tap: Tap) -> None:
        from runtime_check import session
        from runtime_check.hooks import processes

        jax: Any = sys.modules["jax"]
        self._of_jax = tap
        tap.traced = self.level != "guard"
        tap.listeners = (self._collector,) if self._counts is None else (self._collector, self._counts)
        self._written.renew(jax=_version("jax"))
        if self._asked.guard:
            jax.config.update("jax_transfer_guard", self._asked.guard)
        if "torch" not in sys.modules:
            session.RECORDER.alone = tap.step
            self._alone.callback(setattr, session.RECORDER, "alone", None)
            self._alone.callback(processes.install(self._collector.missing))

    def _on_platform(self, platform: str, kind: str) -> None:
        if platform == "cpu":
            self._name_device("JAX's CPU device")
            self.note(_SHARED)
        else:
            self._name_device(f"{kind} (JAX)")

    def _name_device(self, name: str) -> None:
        """Add a device's name to the header, where it is not there."""
        known = self._written.header.device
        if name and name not in known.split(" and "):
            self._written.renew(device=f"{known} and {name}" if known else name)


def start(
    asked: Plan, executed: Lines, counts: LineCounts | None = None, parent: int = 0, framework: str = "torch"
) -> Started:
    """Start to record this process, in which `framework` ("torch" or "jax") has been imported. `counts` are its counts
    of lines, where they are wanted; `parent` is the process of the program's that spawned it, 0 for none. Raises
    Refused."""
    return Started(asked, executed, counts, parent, framework)


def _without_torch(asked: Plan) -> str:
    """The level where there is nothing of torch's to simulate or to profile."""
    return "trace" if asked.level in ("auto", "profile", "simulate") else asked.level


def _finds_accelerator() -> bool:
    from runtime_check.hooks import device

    return bool(device.key())


def _version(framework: str) -> str:
    """The version of a framework that was imported; "" of one that was not."""
    return str(getattr(sys.modules.get(framework), "__version__", ""))


def _profiling(asked: Plan, collector: Collector) -> Window:
    """The window of steps that is profiled: the asked one, or a few after the warm-up."""
    from runtime_check import profiled
    from runtime_check.hooks.profiler import Profiler

    first, end = asked.steps
    trace = os.path.join(asked.folder, f"profile-{asked.rank}-{os.getpid()}.json")
    count = end - first if end > first else profiled.STEPS
    return profiled.Window(max(first, asked.warmup), count, Profiler, collector.number, trace)


def say_missing(asked: Plan, parent: int, why: str) -> None:
    """Leave a file of records that says only that those of this process, which `parent` spawned, are missing."""
    from runtime_check import collect, recording

    collector = collect.Collector()
    collector.missing(f"process {os.getpid()}", f"it was spawned, and there {why}")
    header = _header(asked, asked.level, None, "", parent)
    written = recording.Recording(asked.folder, header, collector)
    with contextlib.suppress(OSError):
        written.start()
        written.stop(0)


def _simulated(name: str) -> tuple[CostModel, str]:
    """Start the simulated device, in a process that has just imported torch; its cost model and name."""
    from runtime_check import cost, simulate

    try:
        model = cost.named(name) if name else cost.default()
        simulation = simulate.start(fresh=True)
    except (cost.CostError, simulate.Refused) as error:
        raise Refused(str(error)) from None
    return model, simulation.device_name


def _header(asked: Plan, level: str, model: CostModel | None, device: str, parent: int) -> Header:
    words = ("-m", *asked.program) if asked.module else asked.program
    return Header(
        program=words,
        started=asked.started,
        device=device,
        driver="",
        torch=_version("torch"),
        python=platform.python_version(),
        level=level,
        time_source="measured" if model is None else "modelled",
        model="" if model is None else model.name,
        rank=asked.rank,
        ranks=asked.ranks,
        parent=parent,
        spawned=parent > 0,
    )


def _device_name() -> str:
    """The device's name, asked only where the program has started to use it: asking starts it."""
    torch: Any = sys.modules["torch"]
    return str(torch.cuda.get_device_name()) if torch.cuda.is_initialized() else ""


def _driver() -> str:
    torch: Any = sys.modules["torch"]
    if not torch.cuda.is_initialized():
        return ""
    return f"CUDA {torch.version.cuda}" if torch.version.cuda else f"HIP {torch.version.hip}"
