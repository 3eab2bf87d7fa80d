"""What the CUDA driver did, by torch's profiler: copies with their bytes, and waits, within named stretches of code."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
_WAYS = {"HtoD": "h2d", "DtoH": "d2h"}


@dataclasses.dataclass(frozen=True)
class Copied:
    """One copy between host and device: its direction, bytes, and the innermost stretch it was asked for in."""

    direction: str
    bytes: int
    stretch: str


@dataclasses.dataclass(frozen=True)
class Driven:
    """Copies in the order in which they were asked for, and the waits by stretch."""

    copies: tuple[Copied, ...]
    waits: tuple[tuple[str, str], ...]

    def of(self, stretch: str) -> list[tuple[str, int]]:
        return [(copy.direction, copy.bytes) for copy in self.copies if copy.stretch == stretch]


@contextlib.contextmanager
def stretch(name: str) -> Iterator[None]:
    """Name what runs here, in the trace."""
    import torch

    with torch.profiler.record_function(f"stretch {name}"):
        yield


def driven(run: Callable[[], None]) -> Driven:
    """Run it under the profiler."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profile:
        run()
        torch._C._cuda_synchronize()  # not by its public name, which hooks wrap
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return parse(events)


def parse(events: list[dict[str, Any]]) -> Driven:
    """Copies are joined with the call that asked for them by their correlation id; that call's time says in which
    stretch it was, whatever its thread."""
    stretches = [
        (float(event["ts"]), float(event["ts"]) + float(event["dur"]), str(event["name"]).removeprefix("stretch "))
        for event in events
        if event.get("cat") == "user_annotation" and str(event.get("name")).startswith("stretch ")
    ]

    def within(at: float) -> str:
        found = [one for one in stretches if one[0] <= at <= one[1]]
        return min(found, key=lambda one: one[1] - one[0])[2] if found else ""

    calls = {
        event["args"]["correlation"]: float(event["ts"])
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    copies: list[tuple[float, Copied]] = []
    for event in events:
        way = next((way for mark, way in _WAYS.items() if mark in str(event.get("name"))), "")
        if event.get("cat") == "gpu_memcpy" and way:
            asked = calls.get(event["args"].get("correlation"), float(event["ts"]))
            copies.append((asked, Copied(way, int(event["args"]["bytes"]), within(asked))))
    waits = [
        (str(event["name"]), within(float(event["ts"])))
        for event in events
        if event.get("cat") == "cuda_runtime" and event.get("name") in WAITS
    ]
    return Driven(tuple(copy for _, copy in sorted(copies, key=lambda pair: pair[0])), tuple(waits))
