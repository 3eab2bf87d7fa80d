"""The recorder's copies against the driver's, by line and bytes: `python -m benchmarks.kineto [-o DIR] [--short]`.

Each program of `tests/runtime_check/programs/` runs once to warm up, and once under the recorder and torch's profiler
together. A copy that the driver made (Kineto's `gpu_memcpy`) belongs to the program's line that ran when it was asked
for, in the thread that asked; it must have been told with the same line, direction and bytes. A kernel that reads
something back by itself is told as a wait without direction: that counts, where it was told at that line.

On the simulated device, which has no driver, the recorder is held against what is counted beside the programs' lines.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import io
import json
import os
import re
import runpy
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import device as devices

PROGRAMS = Path(__file__).parents[1] / "tests" / "runtime_check" / "programs"
LEFT_OUT = {"ddp_one_rank", "ddp_two_ranks"}  # NCCL makes copies of its own when it starts
FEW = "train evaluate indices numpy_detours own_backward pinned_loader shapes threads transformer".split()
Copies = collections.Counter[tuple[str, int, int]]  # direction, line, bytes
_WAYS = {"HtoD": "h2d", "DtoH": "d2h"}
_MARK = re.compile(r"(?:(h2d|d2h) (\d+) B) x (\d+)")
_CLOCK = "clock of this benchmark"


class Lines:
    """Which line of a file ran when, in each thread; a context manager."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._main = threading.get_native_id()
        self._tool = -1
        self._marks: dict[int, tuple[list[int], list[int]]] = {}
        self.asked: set[int] = set()  # threads that a line was asked of

    def at(self, nanoseconds: float, thread: int) -> int:
        """The line that ran then in a thread; where none of the file's did, in the main one; of a thread that is not
        known (the driver does not tell all of them by the same number), the last that ran in any."""
        self.asked.add(thread)
        if thread not in self._marks:
            return max((self._last(one, nanoseconds) for one in self._marks), default=(0, 0))[1]
        return self._last(thread, nanoseconds)[1] or self._last(self._main, nanoseconds)[1]

    def told_apart(self) -> bool:
        """Whether the driver told threads apart: where several ran lines, it may give all calls one number, or numbers
        of its own."""
        return len(self._marks) == 1 or (len(self.asked) > 1 and self.asked <= self._marks.keys())

    def _last(self, thread: int, nanoseconds: float) -> tuple[int, int]:
        """When the last line before a time began in a thread, and which."""
        times, lines = self._marks.get(thread, ([], []))
        place = bisect.bisect_right(times, nanoseconds) - 1
        return (times[place], lines[place]) if place >= 0 and lines[place] else (0, 0)

    def _mark(self, line: int) -> None:
        times, lines = self._marks.setdefault(threading.get_native_id(), ([], []))
        times.append(time.time_ns())
        lines.append(line)

    def _left(self, frame: Any) -> None:
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        self._mark(0 if frame is None else frame.f_lineno)

    def __enter__(self) -> Lines:
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            sys.settrace(self._trace)
            threading.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
        else:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def _monitor(self) -> None:
        """Sees threads that Python did not start, as autograd's are."""
        monitoring, events = sys.monitoring, sys.monitoring.events
        tool = self._tool = next(number for number in (3, 4, 2) if monitoring.get_tool(number) is None)

        def ran(code: Any, line: int) -> Any:
            if code.co_filename != self._path:
                return monitoring.DISABLE
            self._mark(line)
            return None

        def left(code: Any, offset: int, value: object) -> Any:
            if code.co_filename != self._path:
                return monitoring.DISABLE
            self._left(sys._getframe(1).f_back)
            return None

        monitoring.use_tool_id(tool, "lines")
        monitoring.register_callback(tool, events.LINE, ran)
        monitoring.register_callback(tool, events.PY_RETURN, left)
        monitoring.restart_events()
        monitoring.set_events(tool, events.LINE | events.PY_RETURN)

    def _trace(self, frame: Any, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != self._path:
            return None
        if event == "line":
            self._mark(frame.f_lineno)
        elif event == "return":
            self._left(frame.f_back)
        return self._trace


class Told:
    """Collects what the recorder tells of a file: copies, and waits by line."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self.copies: Copies = collections.Counter()
        self.waits: collections.Counter[int] = collections.Counter()

    def __call__(self, event: Any) -> None:
        frames = [event.frames[event.user], *event.frames] if event.frames else []
        line = next((frame.line for frame in frames if os.path.realpath(frame.path) == self._path), 0)
        if event.direction.value in ("h2d", "d2h"):
            self.copies[event.direction.value, line, event.bytes] += 1
        elif event.sync:
            self.waits[line] += 1


def driven(run: Callable[[], None], lines: Lines) -> Copies:
    """What the driver copied while it ran."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    marked = []
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(20):
            before = time.time_ns()
            with torch.profiler.record_function(_CLOCK):
                pass
            marked.append((before + time.time_ns()) / 2)
        run()
        torch._C._cuda_synchronize()  # not by its public name, which hooks wrap
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return parse(events, marked, lines.at)


def parse(events: Iterable[Mapping[str, Any]], marked: list[float], line_at: Callable[[float, int], int]) -> Copies:
    """The copies of a Chrome trace. `marked` is when, in nanoseconds of `time.time_ns`, the annotations were made by
    which the trace's clock (microseconds) is set; `line_at` tells the line by time and thread."""
    listed = list(events)
    clocks = sorted(
        float(event["ts"]) + float(event.get("dur", 0)) / 2 for event in listed if event.get("name") == _CLOCK
        and event.get("cat") == "user_annotation"
    )  # fmt: skip
    offset = statistics.median(real - 1e3 * told for real, told in zip(marked, clocks, strict=False)) if clocks else 0.0
    asked = {
        event["args"]["correlation"]: event
        for event in listed
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    found: Copies = collections.Counter()
    for event in listed:
        way = next((way for mark, way in _WAYS.items() if mark in str(event.get("name"))), "")
        if event.get("cat") == "gpu_memcpy" and way:
            call = asked.get(event["args"].get("correlation"), event)
            line = line_at(1e3 * float(call["ts"]) + offset, int(call.get("tid", 0)))
            found[way, line, int(event["args"]["bytes"])] += 1
    return found


def counted(path: Path) -> Copies:
    """What is counted by hand beside a program's lines."""
    found: Copies = collections.Counter()
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        _, marked, rest = text.partition("# transfers: ")
        for way, size, count in _MARK.findall(rest) if marked else ():
            found[way, line, int(size)] += int(count)
    return found


def agreement(told: Copies, waits: Mapping[int, int], driver: Copies) -> dict[str, Any]:
    """How many of the driver's copies were told with line, direction and bytes; a download that a kernel made itself is
    told where a wait was told at its line."""
    same = told & driver
    lacking, extra = driver - told, told - driver
    left = dict(waits)
    inside = 0
    for way, line, _ in list(lacking.elements()):
        if way == "d2h" and left.get(line, 0):
            left[line] -= 1
            inside += 1
            lacking.subtract([(way, line, _)])
    lacking = +lacking
    of = max(driver.total(), told.total() + inside)
    bytes_only = _without_lines(told) & _without_lines(driver)
    return {
        "driver": driver.total(),
        "told": told.total(),
        "same": same.total(),
        "inside kernels": inside,
        "share": (same.total() + inside) / of if of else 1.0,
        "share without lines": (bytes_only.total() + inside) / of if of else 1.0,
        "not told": _spelled(lacking),
        "not made": _spelled(extra),
    }


def _without_lines(copies: Copies) -> collections.Counter[tuple[str, int]]:
    found: collections.Counter[tuple[str, int]] = collections.Counter()
    for (way, _, size), count in copies.items():
        found[way, size] += count
    return found


def _on_one_line(copies: Copies) -> Copies:
    return collections.Counter({(way, 0, size): count for (way, size), count in _without_lines(copies).items()})


def _spelled(copies: Copies) -> list[str]:
    return [f"line {line}: {way} {size} B x {count}" for (way, line, size), count in sorted(copies.items())]


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """What a program that is one rank needs, and nothing of what it prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def compare(name: str, dry: bool) -> dict[str, Any]:
    """One program."""
    from runtime_check.session import Session

    path = str(PROGRAMS / f"{name}.py")
    told, lines = Told(path), Lines(path)

    def run() -> None:
        with lines, Session(told, trace=False):
            runpy.run_path(path, run_name="__main__")

    if dry:
        with alone():
            run()
        found = agreement(told.copies, {}, counted(Path(path)))
        return {"name": name, "lines": True, **found}
    with alone():
        runpy.run_path(path, run_name="__main__")
    with alone():
        driver = driven(run, lines)
    if not lines.told_apart():
        told.copies, driver, told.waits = _on_one_line(told.copies), _on_one_line(driver), collections.Counter()
    return {"name": name, "lines": lines.told_apart(), **agreement(told.copies, told.waits, driver)}


def table(rows: list[dict[str, Any]], failed: dict[str, str], dry: bool) -> str:
    """For people."""
    other = "counted by hand" if dry else "driver"
    head = ["program", other, "recorder", "same line and bytes", "inside kernels", "share", "without lines"]
    cells = [
        [
            row["name"] + ("" if row["lines"] else " (by bytes: the driver does not tell its threads apart)"),
            *(row[key] for key in ("driver", "told", "same", "inside kernels")),
            *(f"{100 * row[key]:.1f} %" for key in ("share", "share without lines")),
        ]
        for row in rows
    ]
    made = sum(row["driver"] for row in rows)
    agreed = sum(row["same"] + row["inside kernels"] for row in rows)
    lines = [devices.markdown(head, cells), "", f"In all {agreed} of {made} copies agree"
             f" ({100 * agreed / max(made, 1):.1f} %; the aim is 99 %)."]  # fmt: skip
    for row in rows:
        for key in ("not told", "not made"):
            lines += [f"- {row['name']}, {key}: {one}" for one in row[key][:6]]
    return "\n".join([*lines, *(f"- {name}: failed: {why}" for name, why in failed.items())])


def main() -> None:
    """Compare the programs, print, write."""
    parser = devices.arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no program after so long")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    device = devices.start()
    names = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem not in LEFT_OUT)
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for name in options.only or (FEW if options.short else names):
        if time.monotonic() > end:
            failed[name] = "no time was left"
            continue
        try:
            rows.append(compare(name, device.dry))
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    devices.write(
        device, "kineto", {"programs": rows, "failed": failed}, table(rows, failed, device.dry), options.output
    )
    device.leave(1 if failed else 0)


if __name__ == "__main__":
    main()
