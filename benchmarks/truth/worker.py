"""The process that runs one workload of a package on the simulated accelerator, and writes what it counted as JSON.

    python -m truth.worker PACKAGE WORKLOAD OUT

The exit code is 0 wherever there is something to read in OUT, also where the workload failed.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import resource
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from truth import marks

WORKLOADS = Path(__file__).with_name("workloads")


def load(package: str) -> ModuleType:
    """The workload file of a package, imported: after torch and the recorder, if what it imports is to be recorded."""
    path = WORKLOADS / f"{package}.py"
    spec = importlib.util.spec_from_file_location(f"workload_{package}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run the workload that `sys.argv` names."""
    package, workload, out = sys.argv[1:4]
    about = json.loads(os.environ["TRUTH_PACKAGE"])
    resource.setrlimit(resource.RLIMIT_CPU, (about["seconds"], about["seconds"] + 5))
    import torch

    from runtime_check import session, simulate

    simulation = simulate.start()
    torch.set_num_threads(1)
    torch.manual_seed(0)

    from truth.counting import Counting

    counting = Counting(tuple(about["modules"]))
    marks.RUN.listener = counting
    session.start("trace", counting)
    counting.start()
    try:
        with marks.case(workload):
            load(package)
            _watch_modules(torch)
            marks.WORKLOADS[workload]()
    except BaseException as error:  # SystemExit of a package's own, KeyboardInterrupt
        marks.RUN.outcomes[0].outcome = "failed"
        marks.RUN.outcomes[0].why = f"{type(error).__name__}: {error}"[:300]
    counting.stop()
    found = {
        "outcomes": [vars(one) for one in marks.RUN.outcomes],
        "explicit": sorted(marks.RUN.explicit),
        **counting.result(),
    }
    beside = Path(f"{out}.new")
    beside.write_text(json.dumps(found, separators=(",", ":")), encoding="utf-8")
    os.replace(beside, out)
    sys.stdout.flush()
    simulation.leave(0)


def _watch_modules(torch: Any) -> None:
    """Have the outermost calls of modules begin steps, in the main thread."""
    from torch.nn.modules import module as modules

    depth = itertools.count()
    open_calls: list[int] = []

    def enter(module: Any, _: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            if not open_calls:
                marks.RUN.called(module)
            open_calls.append(next(depth))

    def leave(module: Any, _: Any, __: Any) -> None:
        if threading.current_thread() is threading.main_thread() and open_calls:
            open_calls.pop()

    modules.register_module_forward_pre_hook(enter)
    modules.register_module_forward_hook(leave, always_call=True)


if __name__ == "__main__":
    main()
