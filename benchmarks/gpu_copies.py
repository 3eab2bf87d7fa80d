"""Copies and waits of real GPUs, from traces of torch.profiler: `python -m benchmarks.gpu_copies TRACE... -o FILE`.

A line for each copy between host and device and each wait, as JSON: `trace`, `device`, `way` (h2d, d2h, none),
`pinned` (null: not told), `bytes`, and in microseconds `bus` (on the device), `call` (the host in the call that
copies), `wait` (the host in the wait that belongs to it; of a wait by itself, its own) and `queued`: how long after the
call the copy began on the device; of a wait by itself, for how long the device went on with what had been launched
before (0: it was idle). `waits` says that the host was to wait. The model of costs is fitted to what this leaves
(`python -m benchmarks.device_models`).

benchmarks/data/gpu_copies.jsonl was made from the traces that facebookresearch/HolisticTraceAnalysis keeps below
tests/data/ (commit f4d0062c382f, MIT licence): amd_trace, critical_path/{alexnet,simple_add,cuda_event_sync},
negative_queue_length_values_check and trace_diff/{control,test}.
"""

from __future__ import annotations

import argparse
import bisect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime_check.traces import kineto
from transferlint.model import Direction

_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_ON_HOST = ("cuda_runtime", "cuda_driver")


def main() -> None:
    """Read the traces, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    lines = [json.dumps(row) for path in options.traces for row in rows(path)]
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one trace. Raises TraceError."""
    trace = kineto.read(path)
    launched, ends = device_work(path)
    for call in trace.calls:
        before = bisect.bisect_left(launched, call.start)
        busy = max(ends[before - 1] - call.start, 0) if before else 0
        queued = busy if call.direction is Direction.NONE else call.queued
        yield {
            "trace": f"{path.parent.name}/{path.name.partition('.')[0]}",
            "device": trace.device,
            "way": call.direction.value,
            "pinned": call.pinned,
            "bytes": call.bytes,
            "waits": call.sync,
            "bus": call.bus / 1e3,
            "call": (call.blocked - call.waiting) / 1e3,
            "wait": call.waiting / 1e3,
            "queued": queued / 1e3,
        }


def device_work(path: Path) -> tuple[list[int], list[int]]:
    """When work for the device was launched, in order, and until when the device was at what had been launched by
    then."""
    asked: dict[object, int] = {}
    made: list[tuple[object, int, int]] = []
    for event in kineto.events(path):
        correlation = (event.get("args") or {}).get("correlation")
        start = kineto.nanoseconds(event["ts"])
        if event.get("cat") in _ON_HOST:
            asked[correlation] = start
        elif event.get("cat") in _ON_DEVICE:
            made.append((correlation, start, start + kineto.nanoseconds(event.get("dur") or 0)))
    work = sorted((asked.get(correlation, start), end) for correlation, start, end in made)
    ends: list[int] = []
    for _, end in work:
        ends.append(max(end, ends[-1]) if ends else end)
    return [at for at, _ in work], ends


if __name__ == "__main__":
    main()
