"""Traces of torch.profiler (Kineto's JSON, plain or gzipped), as `export_chrome_trace` and `tensorboard_trace_handler`
write them.

The file is read event by event, three times: for the calls of the driver, for what they lie in, and, where there are
stacks, for what the program's own functions called. Kept is what has to do with a copy or a wait, so that memory does
not grow with the operators and functions that have not. Categories, names and arguments are those that libkineto
writes (`ActivityType.cpp`, `output_json.cpp`, `CuptiActivity.cpp`, `RocmActivity`), looked up in traces of A100, V100
and MI250 machines. What is named "file.py(12): step" is a call of the function that begins in line 12: which line of it
was running is not in the trace, but for functions that had been called before the profiler started.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from runtime_check.traces.calls import (
    COPY,
    WAIT,
    Call,
    Child,
    Copied,
    Driver,
    Points,
    Stretch,
    Trace,
    TraceError,
    assemble,
)
from transferlint.model import Direction

_DRIVER = ("cuda_runtime", "cuda_driver")
_HEAD = 1 << 22  # bytes at most before the first event
_STEP = re.compile(r"ProfilerStep#\d+")
_WAYS = {"HtoD": Direction.H2D, "DtoH": Direction.D2H, "DtoD": Direction.D2D}
_HIP_WAYS = {"1": Direction.H2D, "2": Direction.D2H, "3": Direction.D2D}  # hipMemcpyKind (hip_runtime_api.h)
_NODE = re.compile(r"autograd::engine::evaluate_function: (\w+\d)$")
_RUNS_BACKWARD = "run_backward"
FRAME = re.compile(r"(?P<path>.+)\((?P<line>\d+)\): (?P<name>.+)")
_BUILTIN = re.compile(r"<built-in (?:method|function) (?P<name>\w+)")
Wanted = Callable[[str], bool]


def read(path: Path, wanted: Wanted = lambda name: False) -> Trace:
    """Read a trace. `wanted` says of a Python function's name, as the trace gives it, whether what it calls is wanted.
    Raises TraceError."""
    head = _head(path)
    survey = _survey(path, wanted)
    if not survey.events:
        raise TraceError(f"{path}: not a trace of torch.profiler: it has no `traceEvents`")
    if not survey.device:
        raise TraceError(
            f"{path}: has no events of a GPU, so it cannot say what crossed; profile with ProfilerActivity.CUDA"
        )
    points = Points(survey.drivers)
    around = _around(path, points, survey)
    calls, unknown = assemble(survey.drivers, survey.copies, around)
    calls = [_with_stack(one, around, survey.python) for one in _without_profiler(calls, survey.host_end)]
    notes = []
    if unknown:
        notes.append(f"{path}: {unknown} copies are left out: what the device did of them is not in the trace")
    if survey.fallen:
        notes.append(f"{path}: {survey.fallen} copies were asked for before the trace begins, and are left out")
    distributed = head.get("distributedInfo") or {}
    if isinstance(distributed, str):  # some versions write it as text
        distributed = {}
    children = _children(path, survey.owners) if survey.owners else ()
    return Trace(
        str(path),
        tuple(calls),
        _device(head),
        int(distributed.get("rank", 0)),
        int(distributed.get("world_size", 1)),
        survey.start,
        max(survey.end - survey.start, 0),
        tuple(sorted(survey.steps, key=lambda one: one[1])),
        bool(survey.python),
        survey.owners,
        children,
        tuple(notes),
    )


def events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a trace that took time, one by one. Raises TraceError."""
    try:
        import ijson  # only for those who read traces
    except ImportError:
        raise TraceError(f"{path}: to read traces takes ijson: pip install 'transferlint[verify]'") from None
    try:
        with _open(path) as stream:
            for event in ijson.items(stream, "traceEvents.item", use_float=True):
                if isinstance(event, dict) and event.get("ph") == "X" and "ts" in event:
                    yield event
    except (ijson.JSONError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TraceError(f"{path}: is cut off or damaged: {_short(error)}") from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None


def nanoseconds(value: float) -> int:
    """Kineto's microseconds, whole or not, as nanoseconds."""
    return value * 1000 if isinstance(value, int) else round(value * 1000)


def thread_of(event: dict[str, Any]) -> object:
    """The host thread of an event."""
    return event.get("pid"), event.get("tid")


@dataclasses.dataclass(slots=True)
class _Survey:
    """What the first reading finds."""

    drivers: list[Driver] = dataclasses.field(default_factory=list)
    copies: dict[object, Copied] = dataclasses.field(default_factory=dict)
    steps: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)
    python: set[object] = dataclasses.field(default_factory=set)  # threads with Python functions
    owners: dict[object, str] = dataclasses.field(default_factory=dict)
    start: int = 0
    end: int = 0
    host_end: int = 0  # of the last operator, function or annotation
    events: int = 0
    device: bool = False  # whether there is anything of a GPU
    fallen: int = 0


def _survey(path: Path, wanted: Wanted) -> _Survey:
    found = _Survey()
    steps: set[tuple[str, int, int]] = set()
    known: dict[str, bool] = {}
    for event in events(path):
        category, name = event.get("cat"), str(event.get("name", ""))
        start, duration = nanoseconds(event["ts"]), nanoseconds(event.get("dur") or 0)
        if category == "Trace":
            found.events += 1
            continue
        found.start = min(found.start, start) if found.events else start
        found.events += 1
        found.end = max(found.end, start + duration)
        if category in _DRIVER:
            found.device = True
            if COPY.fullmatch(name) or WAIT.fullmatch(name):
                found.drivers.append(_driver(event, name, start, duration))
        elif category == "gpu_memcpy":
            found.device = True
            _take_copy(found, event, name, start, duration)
        elif category == "python_function":
            found.python.add(thread_of(event))
            found.host_end = max(found.host_end, start + duration)
            if name not in known:
                known[name] = wanted(name)
            if known[name]:
                found.owners[thread_of(event), _args(event).get("Python id")] = name
        elif category in ("cpu_op", "user_annotation"):
            found.host_end = max(found.host_end, start + duration)
            if category == "user_annotation" and _STEP.fullmatch(name):
                steps.add((name, start, start + duration))
        elif category in ("kernel", "gpu_memset"):
            found.device = True
    asked = {one.correlation for one in found.drivers}
    found.fallen = sum(
        one.way in (Direction.H2D, Direction.D2H) for key, one in found.copies.items() if key not in asked
    )
    found.steps = sorted(steps, key=lambda one: one[1])
    return found


def _driver(event: dict[str, Any], name: str, start: int, duration: int) -> Driver:
    args = _args(event)
    size = str(args.get("size", ""))
    way = _HIP_WAYS.get(str(args.get("kind", ""))) if name.startswith("hip") else None
    correlation = args.get("correlation")
    return Driver(name, start, duration, thread_of(event), correlation, int(size) if size.isdecimal() else -1, way)


def _take_copy(found: _Survey, event: dict[str, Any], name: str, start: int, duration: int) -> None:
    """ "Memcpy HtoD (Pageable -> Device)"; HIP's says "Host", which may be either, and no bytes."""
    args = _args(event)
    way = next((way for mark, way in _WAYS.items() if mark in name), None)
    if way is None or args.get("correlation") is None:
        return
    pinned = True if "Pinned" in name else False if "Pageable" in name else None
    found.copies[args["correlation"]] = Copied(way, int(args.get("bytes", -1)), pinned, start, duration)


def _around(path: Path, points: Points, survey: _Survey) -> dict[object, list[Stretch]]:
    """The operators and Python functions that a call of the driver lies in, by thread. A call on a thread without
    Python functions may be part of a backward pass that a function of another thread waits for: these are kept too."""
    found: dict[object, list[Stretch]] = {}
    orphans = Points(dataclasses.replace(one, thread=None) for one in survey.drivers if one.thread not in survey.python)
    for event in events(path):
        category = event.get("cat")
        if category not in ("cpu_op", "python_function"):
            continue
        thread = thread_of(event)
        start = nanoseconds(event["ts"])
        end = start + nanoseconds(event.get("dur") or 0)
        python = category == "python_function"
        if points.within(thread, start, end) or (python and orphans.within(None, start, end)):
            stretch = Stretch(str(event.get("name", "")), start, end - start, python)
            found.setdefault(thread, []).append(stretch)
    return found


def _with_stack(call: Call, around: dict[object, list[Stretch]], python: set[object]) -> Call:
    """A call in a backward pass, with the functions of the thread that waits for it: where a node of torch's own made
    it ("MulBackward0"), and not a hook or a function of the program's (a checkpoint runs its forward once more), of
    whose Python nothing is seen there."""
    if call.thread in python:
        return call
    node = next((found[1] for one in call.around if (found := _NODE.match(one.name))), "")
    if not node or all(one.name != node for one in call.around):
        return call
    for thread in python:
        stack = sorted(
            (one for one in around.get(thread, ()) if one.python and one.start <= call.start <= one.end),
            key=lambda one: (one.start, -one.duration),
        )
        waiting = [number for number, one in enumerate(stack) if _RUNS_BACKWARD in one.name]
        if waiting:
            stack = stack[: waiting[0] + 1]
            return dataclasses.replace(call, around=(*stack, *call.around), borrowed=True, backward=node)
    return dataclasses.replace(call, backward=node)


def _without_profiler(calls: list[Call], host_end: int) -> list[Call]:
    """Without the wait that Kineto itself makes when it ends, after everything else."""
    last = calls[-1] if calls else None
    if last is not None and last.direction is Direction.NONE and not last.around and last.start >= host_end:
        return calls[:-1]
    return calls


def _children(path: Path, owners: dict[object, str]) -> tuple[Child, ...]:
    """What the functions in question called, in Python or in C."""
    found = []
    for event in events(path):
        if event.get("cat") != "python_function":
            continue
        parent = thread_of(event), _args(event).get("Python parent id")
        if parent in owners:
            found.append(Child(parent, callee(str(event.get("name", ""))), nanoseconds(event["ts"])))
    return tuple(found)


def callee(name: str) -> str:
    """What was called, of "train.py(12): step" and "<built-in method item of Tensor object at 0x7f...>"; "" of a module
    ("nn.Module: Linear_0"), which is called by another name."""
    frame = FRAME.fullmatch(name)
    if frame:
        return frame["name"]
    builtin = _BUILTIN.match(name)
    return builtin["name"] if builtin else ""


def _args(event: dict[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _head(path: Path) -> dict[str, Any]:
    """What stands before the events; {} where that is not whole JSON."""
    try:
        with _open(path) as stream:
            before, found, _ = stream.read(_HEAD).partition(b'"traceEvents"')
        made = json.loads(before + b'"traceEvents": []}') if found else {}
    except (OSError, EOFError, ValueError, zlib.error):  # told when the events are read
        return {}
    return made if isinstance(made, dict) else {}


def _device(head: dict[str, Any]) -> str:
    listed = head.get("deviceProperties")
    names = [str(one.get("name", "")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return names[0] if names else ""


def _open(path: Path) -> BinaryIO:
    with open(path, "rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else open(path, "rb")  # type: ignore[return-value]


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:80].rstrip(".: ")
