"""Where `verify --trace` places what a recorder saw: `python -m benchmarks.trace_places [PROGRAM ...] [-o FILE]`.

Each program of tests/runtime_check/programs (but for those of several processes or threads) runs on the simulated
device twice, the second time recorded and under torch.profiler with stacks. The recorder knows the line and columns of
every crossing. For each, the calls of the driver that CUDA would make are put into the trace at its time, what the
simulated device's own Python did is taken out, and the trace is read as anybody's. Told are the crossings that were
placed at the recorder's line, those of which several lines are told and that one is among them, and those that were
placed elsewhere.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "runtime_check" / "programs"
LEFT_OUT = ("ddp_one_rank", "ddp_two_ranks", "pinned_loader", "prefetch", "threads")
WAYS = {"h2d": "HtoD ({} -> Device)", "d2h": "DtoH (Device -> {})"}
SECONDS = 300
NEAR = 2000  # nanoseconds between a crossing and its call


def inner(program: str, trace: str, recorded: str) -> None:
    """In a process of its own: run, record, profile."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from runtime_check import simulate
    from runtime_check.session import Session

    simulation = simulate.start()
    seen: list[tuple[Any, int]] = []
    sys.argv, sys.path[0] = [program], os.path.dirname(program)
    shift = time.time_ns() - time.perf_counter_ns()
    profiler = profile(activities=[ProfilerActivity.CPU], with_stack=True)
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(program, run_name="__main__")
        with Session(lambda event: seen.append((event, threading.get_native_id())), trace=False):
            profiler.start()
            runpy.run_path(program, run_name="__main__")
            profiler.stop()
    profiler.export_chrome_trace(trace)
    rows = []
    for event, thread in seen:
        if event.started and (event.sync or event.direction.value in WAYS) and event.frames:
            frame = event.frames[event.user]
            rows.append([event.started + shift, event.direction.value, event.bytes, event.sync, event.pinned, thread,
                         frame.line])  # fmt: skip
    Path(recorded).write_text(json.dumps({"torch": torch.__version__, "rows": rows}))
    simulation.leave(0)


def with_calls(trace: Path, rows: list[list[Any]]) -> dict[int, tuple[str, int, int]]:
    """Put the calls of the driver into a trace; direction, bytes and line of each by its time."""
    whole = json.loads(trace.read_text())
    events = without_ours([event for event in whole["traceEvents"] if event.get("ph") == "X"])
    process = next(event["pid"] for event in events if event["cat"] == "cpu_op")
    truth = {}
    for number, (started, way, size, waits, pinned, thread, line) in enumerate(rows):
        at = (started - whole["baseTimeNanoseconds"]) / 1e3 + 0.3
        call = {"ph": "X", "cat": "cuda_runtime", "pid": process, "tid": thread, "dur": 0.2}
        wait = {**call, "name": "cudaStreamSynchronize", "args": {"correlation": -1 - number}}
        if way in WAYS:
            name = f"Memcpy {WAYS[way].format('Pinned' if pinned else 'Pageable')}"
            events.append({**call, "name": "cudaMemcpyAsync", "ts": at, "args": {"correlation": number}})
            events.append({"ph": "X", "cat": "gpu_memcpy", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": 0.1,
                           "args": {"correlation": number, "bytes": size}})  # fmt: skip
        if waits:
            events.append({**wait, "ts": at + 0.25 * (way in WAYS)})
        truth[round(at * 1000)] = (way, size, line)
    trace.write_text(json.dumps({**whole, "traceEvents": events}))
    return truth


def without_ours(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the Python functions that run within torch's operators, which on a GPU are not Python, nor the
    recorder's; what they called is their callers'."""
    spans: dict[object, list[tuple[float, float]]] = {}
    for event in sorted((one for one in events if one["name"].startswith("aten::")), key=lambda one: one["ts"]):
        mine, end = spans.setdefault(event["tid"], []), event["ts"] + event["dur"]
        if mine and event["ts"] < mine[-1][1]:
            mine[-1] = mine[-1][0], max(end, mine[-1][1])
        else:
            mine.append((event["ts"], end))
    gone: dict[object, object] = {}
    kept = []
    for event in events:
        mine = spans.get(event["tid"], [])
        index = bisect.bisect_right(mine, (event["ts"], float("inf"))) - 1
        within = index >= 0 and event["ts"] + event["dur"] <= mine[index][1] + 0.001
        if event["cat"] == "python_function" and ("runtime_check/" in event["name"] or within):
            gone[event["tid"], event["args"]["Python id"]] = event["args"]["Python parent id"]
        else:
            kept.append(event)
    for event in kept:
        if event["cat"] == "python_function":
            while (event["tid"], event["args"]["Python parent id"]) in gone:
                event["args"]["Python parent id"] = gone[event["tid"], event["args"]["Python parent id"]]
    return kept


def placed(program: Path, trace: Path, truth: dict[int, tuple[str, int, int]]) -> dict[str, int]:
    """How many crossings were placed how."""
    from runtime_check.traces import kineto
    from runtime_check.traces.placing import Placing
    from runtime_check.traces.sources import Sources

    sources = Sources([program])
    read = kineto.read(trace, lambda name: sources.function(name) is not None)
    found: collections.Counter[str] = collections.Counter()
    for one in Placing(read, sources).placed():
        near = min(truth, key=lambda at: abs(at - one.call.start))
        way, size, line = truth[near]
        if abs(near - one.call.start) > NEAR or one.call.direction.value != way or one.call.bytes not in (size, 0):
            continue
        frame = one.frames[one.user] if one.user >= 0 else None
        if frame is None:
            found["no place"] += 1
        elif one.maybe:
            found["among" if any(site.line <= line <= site.end_line for site in one.maybe) else "elsewhere"] += 1
        else:
            found["exact" if frame.line <= line <= max(frame.end_line, frame.line) else "elsewhere"] += 1
    return dict(found)


def outer(program: Path) -> dict[str, Any]:
    """One program's answer."""
    with tempfile.TemporaryDirectory() as folder:
        trace, recorded = Path(folder) / "trace.json", Path(folder) / "recorded.json"
        command = [sys.executable, "-m", "benchmarks.trace_places", "--inner", str(program), str(trace), str(recorded)]
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
        if not recorded.is_file():
            return {"problem": (made.stderr.strip().splitlines() or ["nothing was recorded"])[-1]}
        told = json.loads(recorded.read_text())
        return {"recorded": len(told["rows"]), **placed(program, trace, with_calls(trace, told["rows"]))}


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--inner", action="store_true", help="used by itself")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "benchmarks" / "results" / "trace_places.json")
    options = parser.parse_args()
    if options.inner:
        inner(*options.programs)
        return
    names = options.programs or sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem not in LEFT_OUT)
    keys = ("recorded", "exact", "among", "elsewhere", "no place")
    result: dict[str, Any] = {}
    for name in names:
        result[name] = outer(PROGRAMS / f"{name}.py")
        print(name, result[name], flush=True)
        whole = {key: sum(one.get(key, 0) for one in result.values()) for key in keys}
        text = json.dumps({"all": whole, "programs": result}, indent=1)
        options.output.write_text(text + "\n", encoding="utf-8")  # as far as it got


if __name__ == "__main__":
    main()
