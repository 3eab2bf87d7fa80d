"""What torch.profiler says of a program: `profiled.py PROGRAM`, run by `benchmarks.comparison`; prints JSON."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile

READS = {"aten::item", "aten::_local_scalar_dense"}


def main(path: str) -> None:
    """Run a program on the CPU under the profiler, with stacks."""
    verbose = torch._C._profiler._ExperimentalConfig(verbose=True)
    profiler = profile(activities=[ProfilerActivity.CPU], with_stack=True, experimental_config=verbose)
    with contextlib.redirect_stdout(io.StringIO()), profiler as profiled:
        runpy.run_path(path, run_name="__main__")
    reads = [event for event in profiled.events() if event.name in READS]
    frames = {frame for event in reads for frame in event.stack if path in frame}
    rows = {row.key for row in profiled.key_averages() if row.key.startswith("aten::")}
    print(json.dumps({"operators": len(rows), "reads": len(reads), "frames": sorted(frames)}))


if __name__ == "__main__":
    main(sys.argv[1])
