"""What the CUDA driver did, by torch's profiler: copies and waits of named stretches of code.

Kineto records each call of the CUDA runtime with its time, and each copy with the id of the call that asked for it
(github.com/pytorch/kineto, `CuptiActivity.cpp`: "correlation").
"""

from __future__ import annotations

import bisect
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

# `cudaFree` waits for the device, too (benchmarks/results/costs.md: `torch.cuda.empty_cache`).
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaFree")
_WAYS = {"HtoD": "h2d", "DtoH": "d2h"}
_MARK = "conformance "


def kinds(run: Callable[[Callable[[str], Any]], None]) -> dict[str, frozenset[str]]:
    """Stretch to what happened in it, of "h2d", "d2h" and "sync". `run` is given what makes a stretch of code (a
    context manager, by name). Needs a CUDA device."""
    import importlib

    torch: Any = importlib.import_module("torch")
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
    torch.cuda.synchronize()
    with profiler.profile(activities=activities) as profile:
        run(lambda name: profiler.record_function(_MARK + name))
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        return parse(json.loads(path.read_text(encoding="utf-8"))["traceEvents"])


def parse(events: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """The same, of the events of a Chrome trace that the profiler wrote."""
    listed = list(events)
    stretches = sorted(
        (float(event["ts"]), float(event["ts"]) + float(event["dur"]), str(event["name"])[len(_MARK) :])
        for event in listed
        if event.get("cat") == "user_annotation" and str(event.get("name")).startswith(_MARK)
    )
    starts = [start for start, _, _ in stretches]
    found: dict[str, set[str]] = {name: set() for _, _, name in stretches}

    def see(at: float, kind: str) -> None:
        place = bisect.bisect_right(starts, at) - 1
        if place >= 0 and at <= stretches[place][1]:
            found[stretches[place][2]].add(kind)

    asked = {
        event["args"]["correlation"]: float(event["ts"])
        for event in listed
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    for event in listed:
        name = str(event.get("name"))
        if event.get("cat") == "gpu_memcpy":
            way = next((way for mark, way in _WAYS.items() if mark in name), "")
            if way:
                see(asked.get(event["args"].get("correlation"), float(event["ts"])), way)
        elif event.get("cat") == "cuda_runtime" and name in WAITS:
            see(float(event["ts"]), "sync")
    return {name: frozenset(kinds) for name, kinds in found.items()}
