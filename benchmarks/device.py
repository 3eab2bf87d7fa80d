"""What benchmarks on a device have in common: the device itself or the simulated one, what is written beside every
number, and how results are written."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")


@dataclasses.dataclass(frozen=True)
class Device:
    """The device of this process: its name, and what else is to stand beside what is measured on it. On the simulated
    one a run is dry: it shows that everything works, and its numbers say nothing of a GPU."""

    about: Mapping[str, str]
    simulation: Any = None

    @property
    def dry(self) -> bool:
        return self.simulation is not None

    def leave(self, code: int) -> None:
        """End the process; the simulated device's threads do not outlive it well."""
        sys.stdout.flush()
        if self.simulation is not None:
            self.simulation.leave(code)
        sys.exit(code)


def start() -> Device:
    """Start the real device, or the simulated one where there is none. Exits with a line where there is neither."""
    from runtime_check import simulate
    from runtime_check.conformance.__main__ import driver

    refusal = simulate.refusal()
    simulation = None if refusal else simulate.start()
    import torch

    if simulation is None and not torch.cuda.is_available():
        sys.exit(f"no CUDA device, and none can be simulated: {refusal}")
    if simulation is not None:
        torch.set_num_threads(1)
    about = {
        "device": torch.cuda.get_device_name() if simulation is None else simulation.device_name,
        "driver": driver() if simulation is None else "",
        "torch": str(torch.__version__),
        "CUDA": str(torch.version.cuda or ""),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }
    return Device({key: text for key, text in about.items() if text}, simulation)


def arguments(about: str | None) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help=f"folder for the results (on a GPU: {RESULTS.name})")
    parser.add_argument("--short", action="store_true", help="fewer repetitions and sizes")
    return parser


def write(device: Device, name: str, result: Mapping[str, Any], table: str, output: Path | None) -> None:
    """Print the table, and write `NAME.json` and `NAME.md`: to `output`; without it to the repository's results, but
    never what a dry run gave."""
    label = "; ".join(f"{key}: {text}" for key, text in device.about.items())
    if device.dry:
        label = f"DRY RUN, no measurement; {label}"
    text = f"# {name}\n\n{label}\n\n{table.rstrip()}\n"
    print(text, end="")
    folder = output if output is not None else None if device.dry else RESULTS
    if folder is None or (device.dry and folder.resolve() == RESULTS.resolve()):
        print("a dry run: nothing was written")
        return
    folder.mkdir(parents=True, exist_ok=True)
    content = {"about": dict(device.about), "dry": device.dry, **result}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def timed(run: Callable[[], object]) -> int:
    """Nanoseconds of the host's time that a call takes."""
    started = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - started


def ratios(before: Sequence[float], after: Sequence[float]) -> dict[str, float]:
    """Medians of two runs of measurements that were taken alternately, the ratio before/after of the medians, and the
    quartiles of the ratios of neighbours; a ratio to a time of 0 is 0."""
    pairs = [one / other for one, other in zip(before, after, strict=True) if other]
    medians = statistics.median(before), statistics.median(after)
    quartiles = statistics.quantiles(pairs, n=4) if len(pairs) > 1 else [*pairs, *pairs, *pairs] or [0.0] * 3
    ratio = medians[0] / medians[1] if medians[1] else 0.0
    return {
        "before": medians[0],
        "after": medians[1],
        "ratio": ratio,
        "low": quartiles[0],
        "high": quartiles[-1],
        "rounds": len(before),
    }


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])
