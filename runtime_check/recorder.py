"""Everything that records a program, put together and started: device, collector, file, hooks."""

from __future__ import annotations

import atexit
import dataclasses
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from runtime_check.plan import Plan
from runtime_check.records import Header

if TYPE_CHECKING:
    from runtime_check.cost import CostModel

Lines = Callable[[], Mapping[str, Iterable[int]]]


class Refused(Exception):
    """What was asked for cannot be had here; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Started:
    """A recording at a level; `stop`, given the exit code, ends it."""

    level: str
    stop: Callable[[int], None]


def start(asked: Plan, executed: Lines) -> Started:
    """Start to record this process, in which torch has been imported. Raises Refused."""
    from runtime_check import collect, provenance, recording, session
    from runtime_check.hooks import device as devices

    level = asked.level
    if level == "auto":
        level = "trace" if devices.key() else "simulate"
    model, device = _simulated() if level == "simulate" else (None, "")
    if level != "simulate" and not devices.key():
        raise Refused(f"torch finds no accelerator for --level {level}; --level simulate does without one")
    traced = provenance.Provenance(lifetimes=True, reads=True) if level != "guard" else None
    end = None if asked.steps[1] < 0 else asked.steps[1]
    window = collect.Window(max(asked.steps[0], asked.warmup), end)
    collector = collect.Collector(model, provenance=traced, window=window)
    header = _header(asked, level, model is not None, device)
    written = recording.Recording(asked.folder, header, collector, executed)
    try:
        written.start()
    except OSError as error:
        raise Refused(f"{asked.folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    atexit.unregister(written.stop)  # it is stopped below, with the exit code
    running = session.start(level, collector)

    def stop(code: int) -> None:
        running.stop()
        if not device:
            written.header = dataclasses.replace(written.header, device=_device_name(), driver=_driver())
        written.stop(code)
        if written.problem:
            print(f"transferlint: {written.problem}", file=sys.stderr)

    return Started(level, stop)


def _simulated() -> tuple[CostModel, str]:
    """Start the simulated device; its cost model and name."""
    from runtime_check import cost, simulate

    try:
        simulation = simulate.start()
    except simulate.Refused as error:
        raise Refused(str(error)) from None
    return cost.assumed(), simulation.device_name


def _header(asked: Plan, level: str, modelled: bool, device: str) -> Header:
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
        time_source="modelled" if modelled else "measured",
        rank=asked.rank,
        ranks=asked.ranks,
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
