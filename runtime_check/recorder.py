"""Everything that records a program, put together and started: device, collector, file, hooks."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import platform
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from runtime_check.plan import Plan
from runtime_check.records import Executed, Header, Profile

if TYPE_CHECKING:
    from runtime_check.collect import Collector
    from runtime_check.cost import CostModel
    from runtime_check.line_counts import LineCounts
    from runtime_check.profiled import Window

Lines = Callable[[], Iterable[Executed]]


class Refused(Exception):
    """What was asked for cannot be had here; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Started:
    """A recording at a level, `simulated` where the device is; `stop`, given the exit code, ends it."""

    level: str
    stop: Callable[[int], None]
    simulated: bool = False

    def ends_at_once(self) -> None:
        """Say that the process will end by `launch.end`."""
        from runtime_check import simulate

        if self.simulated:
            simulate.start().ends_at_once()


def start(asked: Plan, executed: Lines, counts: LineCounts | None = None, parent: int = 0) -> Started:
    """Start to record this process, in which torch has been imported. `counts` are its counts of lines, where they are
    wanted; `parent` is the process of the program's that spawned it, 0 for none. Raises Refused."""
    from runtime_check import collect, provenance, recording, session, spawned
    from runtime_check.hooks import calibration
    from runtime_check.hooks import device as devices

    level = asked.level
    if level == "auto":
        level = "trace" if devices.key() else "simulate"
    simulated = level == "simulate" or (level == "profile" and not devices.key())
    model, device = _simulated(asked.device_model) if simulated else (None, "")
    if asked.device_model and not simulated:
        raise Refused(f"--device-model is for the simulated device: level {level} measures; --level simulate does not")
    if not simulated and not devices.key():
        raise Refused(f"torch finds no accelerator for --level {level}; --level simulate does without one")
    traced = provenance.Provenance(lifetimes=True, reads=True) if level != "guard" else None
    end = None if asked.steps[1] < 0 else asked.steps[1]
    window = collect.Window(max(asked.steps[0], asked.warmup), end)
    collector = collect.Collector(model, provenance=traced, window=window)
    header = _header(asked, level, model, device, parent)
    header = dataclasses.replace(header, overhead_ns=calibration.per_event(level != "guard"))
    written = recording.Recording(asked.folder, header, collector, executed)
    written.counts = None if counts is None else counts.rows
    try:
        written.start()
    except OSError as error:
        raise Refused(f"{asked.folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    atexit.unregister(written.stop)  # it is stopped below, with the exit code
    profiling = _profiling(asked, collector) if level == "profile" else None
    running = session.start(level, collector)
    watching = None if profiling is None else session.start("guard", profiling)
    counting = None if counts is None else session.start("guard", counts)
    as_before = spawned.install(asked)

    def stop(code: int) -> None:
        as_before()
        if watching is not None:
            watching.stop()
        if counting is not None:
            counting.stop()
        running.stop()
        if profiling is not None:
            profiling.end()
            written.profile = profiling.result or Profile(0, 0, 0, 0, 0, problem=profiling.problem)
        if not device:
            written.header = dataclasses.replace(written.header, device=_device_name(), driver=_driver())
        written.stop(code)
        if written.problem:
            print(f"transferlint: {written.problem}", file=sys.stderr)

    return Started(level, stop, simulated)


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
    """Start the simulated device; its cost model and name."""
    from runtime_check import cost, simulate

    try:
        model = cost.named(name) if name else cost.default()
        simulation = simulate.start()
    except (cost.CostError, simulate.Refused) as error:
        raise Refused(str(error)) from None
    return model, simulation.device_name


def _header(asked: Plan, level: str, model: CostModel | None, device: str, parent: int) -> Header:
    torch = sys.modules["torch"]
    words = ("-m", *asked.program) if asked.module else asked.program
    return Header(
        program=words,
        started=asked.started,
        device=device,
        driver="",
        torch=str(torch.__version__),
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
