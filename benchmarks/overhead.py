"""What recording costs: training steps that keep the host busy, plain and recorded, alternately, in one process.

    python benchmarks/overhead.py [--steps 144e-6 1e-3] [--rounds 15] [--json FILE]    # two minutes of an idle core
    python benchmarks/overhead.py --instructions    # with valgrind: a quarter of an hour, on a machine busy or not

A step uploads a batch, computes on the device (the simulated one where there is no other), and reads the loss: one
transfer each way, which is much for a step so short; `--events 1` leaves out the upload. How much it computes is
chosen so that the plain step takes the asked seconds. Told is the processor's time (of all threads) per step: in each
round the median of several stretches of steps, and of all rounds the smallest, since other programs on the machine only
ever add to it; then its ratio to plain, and quartiles of ratios. Recording has been going on for
some steps before it is measured: what a site costs when it is first seen is not in it. The simulated device's operators
cost more than launches on a GPU, so that a step holds fewer of them: there the costs of a dispatch mode are higher than
here. Last, where a device is simulated: a step of layers 1,024 wide on it, against the same step on the CPU.

All of it is done in so many processes, one after the other (`--processes`); told is the median of their ratios: where
a process has its memory decides what its caches hold, which a ratio of the same process keeps from first to last.

`--instructions` counts the instructions instead (valgrind's cachegrind), which nothing beside changes: those
of `COUNTED[1]` steps less those of `COUNTED[0]`, each in a process of its own, of a step of so many layers that it
takes a millisecond where nothing counts; and of the wide step in the same way.

`AIMS` are what is aimed at for steps of a millisecond or more; beside each ratio stands whether it is held.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Step = Callable[[], None]
STRETCHES = 5  # of steps, in a round
WARMING = 3  # steps that are not counted
SHORT = 20  # operators of the longest step without a backward pass
WIDE, DEEP, BATCH = 1024, 4, 64  # of the step that a simulated device is held against the CPU with
WIDENESS = f"step of {DEEP} layers {WIDE:,} wide, a batch of {BATCH}, forward and backward"
DEVICES = {"cpu": "cpu", "simulated": "cuda"}
AIMS = {"guard": 1.05, "trace": 1.3, "simulated": 1.1}
LONG = 1e-3  # seconds of the shortest step that the aims are for
LAYERS = 6  # of a step of about a millisecond
COUNTED = (50, 250)  # steps of the two processes that instructions are counted of,
COUNTED_WIDE = (2, 8)  # and of wide ones


def main() -> None:
    """Measure, print, and leave without the interpreter's teardown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=float, nargs="*", default=[144e-6, 1e-3], metavar="SECONDS")
    parser.add_argument("--events", type=int, choices=(1, 2), default=2, help="transfers in a step")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=7)
    parser.add_argument("--json", default="", help="write the numbers here")
    parser.add_argument("--instructions", action="store_true", help="count instructions, by valgrind")
    parser.add_argument("--only", nargs=2, metavar=("WAY", "STEPS"), help=argparse.SUPPRESS)  # what is counted
    options = parser.parse_args()
    if options.instructions:
        plain = [way for way in WAYS if way != "torch.profiler"]  # which keeps all of its events until it ends
        what = f"instructions of a step with 2 transfers ({shape(LAYERS)})"
        results = [counted(what, plain, COUNTED), counted(f"instructions of a {WIDENESS}", DEVICES, COUNTED_WIDE)]
        tell(results, options.json)
        return
    if options.processes > 1:
        tell(together([apart(options) for _ in range(options.processes)]), options.json)
        return
    from runtime_check import simulate

    simulation = None if simulate.refusal() else simulate.start()
    import torch

    torch.set_num_threads(1)
    if not torch.cuda.is_available():
        sys.exit("no CUDA device, and none can be simulated: " + simulate.refusal())
    if options.only:
        way, count = options.only
        with WAYS.get(way, contextlib.nullcontext)():
            run(program(LAYERS) if way in WAYS else wide(DEVICES[way]), int(count))
        os._exit(0)
    if simulation is None and options.steps:  # the device's clocks rise
        run(program(4), 200)
    results = [measure(seconds, options.rounds, options.events == 2) for seconds in options.steps]
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, Python {sys.version.split()[0]}", flush=True)
    if simulation is not None:
        results.append(simulated(options.rounds))
    tell(results, options.json)
    sys.stdout.flush()
    if simulation is not None:
        simulation.leave(0)


def apart(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The results of a process of its own. What it prints is printed."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        steps = [str(seconds) for seconds in options.steps]
        asked = [
            "--processes",
            "1",
            "--events",
            str(options.events),
            "--rounds",
            str(options.rounds),
            "--steps",
            *steps,
        ]
        subprocess.run([sys.executable, __file__, *asked, "--json", file.name], check=True)
        found: list[dict[str, Any]] = json.loads(Path(file.name).read_text(encoding="utf-8"))
    return found


def together(processes: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """For each result the medians of all processes, and the quartiles of their ratios."""
    found = []
    for of_one in zip(*processes, strict=True):
        first, ways = of_one[0], {}
        for name, row in first["ways"].items():
            ratios = [one["ways"][name]["ratio"] for one in of_one]
            times = [one["ways"][name]["us"] for one in of_one]
            medians = {"us": statistics.median(times), "ratio": statistics.median(ratios), "spread": spread(ratios)}
            ways[name] = {**medians, "ratios": ratios, "aim": row["aim"]}
        found.append({**first, "what": f"{first['what']}, {len(processes)} processes", "ways": ways})
    return found


def tell(results: list[dict[str, Any]], path: str) -> None:
    """Print them, and write them where a path is given."""
    for result in results:
        show(result)
    if path:
        Path(path).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def measure(seconds: float, rounds: int, upload: bool) -> dict[str, Any]:
    """Times per step of each way to run one, in microseconds, and their ratios to plain."""
    step, layers = sized(seconds, upload)
    count = max(10, int(0.01 / seconds))
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            with way():
                run(step, 3 * count)
                times[name].append(statistics.median(run(step, count) for _ in range(STRETCHES)))
    transfers = f"{1 + upload} transfer{'s' * upload}"
    what = f"steps of {seconds * 1e6:.0f} us with {transfers} ({shape(layers)}; {rounds} rounds)"
    asked = {"asked_us": seconds * 1e6, "events": 1 + upload, "layers": layers, "rounds": rounds, "steps": count}
    return {"what": what, **asked, "ways": compared(times, "plain", seconds >= LONG)}


def counted(what: str, ways: Iterable[str], steps: tuple[int, int]) -> dict[str, Any]:
    """Instructions per step of each way to run one, and their ratios to the first's."""
    least, most = steps
    found = {way: (instructions(way, most) - instructions(way, least)) / (most - least) for way in ways}
    base = next(iter(found.values()))
    rows = {way: {"instructions": one, "ratio": one / base, "aim": AIMS.get(way)} for way, one in found.items()}
    return {"what": what, "ways": rows}


def instructions(way: str, steps: int) -> int:
    """What a process executes that runs so many steps so."""
    asked = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = ["valgrind", *asked, sys.executable, __file__, "--only", way, str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.findall(r"I +refs: +([\d,]+)", done.stderr)[-1].replace(",", ""))  # its children end before it


def simulated(rounds: int) -> dict[str, Any]:
    """A step of wide layers on the simulated device, and on the CPU, in turns: of each the median, and their ratio."""
    steps = {name: wide(device) for name, device in DEVICES.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    turns = list(steps)
    for turn in range(STRETCHES * rounds + WARMING):
        for name in turns:
            seconds = run(steps[name], 1)
            if turn >= WARMING:
                times[name].append(seconds)
        turns.reverse()
    medians = {name: statistics.median(found) for name, found in times.items()}
    base = medians["cpu"]
    ways = {
        name: {
            "us": median * 1e6,
            "ratio": median / base,
            "spread": spread([one / beside for one, beside in zip(times[name], times["cpu"], strict=True)]),
            "aim": AIMS.get(name),
        }
        for name, median in medians.items()
    }
    count = STRETCHES * rounds
    return {"what": f"{WIDENESS} ({count} steps each)", "layers": DEEP, "width": WIDE, "steps": count, "ways": ways}


def compared(times: dict[str, list[float]], base: str, aimed: bool) -> dict[str, dict[str, Any]]:
    """Of each way its time, its ratio to the `base`, the quartiles of the rounds' ratios, and the aim it has."""
    least = min(times[base])
    return {
        name: {
            "us": min(found) * 1e6,
            "ratio": min(found) / least,
            "spread": spread([one / beside for one, beside in zip(found, times[base], strict=True)]),
            "aim": AIMS.get(name) if aimed else None,
        }
        for name, found in times.items()
    }


def wide(device: str) -> Step:
    """One step of wide layers."""
    import torch

    x = torch.ones(BATCH, WIDE, device=device)
    weights = [torch.full((WIDE, WIDE), 1e-3, device=device, requires_grad=True) for _ in range(DEEP)]

    def step() -> None:
        y = x
        for weight in weights:
            y = torch.relu(y @ weight)
        y.sum().backward()
        for weight in weights:
            weight.grad = None

    return step


def spread(ratios: list[float]) -> list[float]:
    """The quartiles of the ratios of neighbouring rounds."""
    first, _, third = statistics.quantiles(ratios, n=4)
    return [first, third]


def sized(seconds: float, upload: bool) -> tuple[Step, int]:
    """A step that takes about so long, and how many layers it has."""
    layers, step = -SHORT, program(-SHORT, upload)
    while True:
        run(step, 20)
        if min(statistics.median(run(step, 10) for _ in range(5)) for _ in range(5)) >= seconds:
            return step, layers
        layers += 1
        step = program(layers, upload)


def program(size: int, upload: bool = True) -> Step:
    """One step on a small batch: so many layers and, from one on, a backward pass; below, `size` is minus the number
    of operators that are left out of a short chain."""
    import torch

    host, there = torch.ones(4, 8), torch.ones(4, 8, device="cuda")
    weights = [torch.full((8, 8), 0.1, device="cuda", requires_grad=True) for _ in range(size)]

    def short() -> None:
        x = host.to("cuda") if upload else there
        for _ in range(SHORT + size):
            x = x + x
        x.sum().item()

    def whole() -> None:
        x = host.to("cuda") if upload else there
        for weight in weights:
            x = torch.relu(x @ weight)
        loss = x.sum()
        loss.backward()
        for weight in weights:
            weight.grad = None
        loss.item()

    return whole if size > 0 else short


def run(step: Step, count: int) -> float:
    """Seconds of processor time for one step, all threads together."""
    started = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - started) / count


@contextlib.contextmanager
def recorded(trace: bool) -> Any:
    """As `verify` records."""
    from runtime_check.collect import Collector
    from runtime_check.provenance import Provenance
    from runtime_check.session import Session

    collector = Collector(provenance=Provenance(lifetimes=True) if trace else None)
    with Session(collector, trace=trace):
        yield


def watched() -> Any:
    """As in a test."""
    import runtime_check

    return runtime_check.watch()


def profiled() -> Any:
    """torch.profiler, with its events on the host."""
    import torch

    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=False)


def bare_mode() -> Any:
    """The least that a dispatch mode costs."""
    from torch.utils import _python_dispatch

    modes: Any = _python_dispatch

    class Bare(modes.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return Bare()


WAYS: dict[str, Callable[[], Any]] = {
    "plain": contextlib.nullcontext,
    "guard": lambda: recorded(False),
    "watch()": watched,
    "bare dispatch mode": bare_mode,
    "trace": lambda: recorded(True),
    "torch.profiler": profiled,
}


def show(result: dict[str, Any]) -> None:
    """A table."""
    print(f"\n{result['what']}")
    for name, row in result["ways"].items():
        held = (
            "" if row["aim"] is None else f"  aim {row['aim']}x: {'held' if row['ratio'] <= row['aim'] else 'missed'}"
        )
        if "instructions" in row:
            print(f"  {name:20} {row['instructions']:12,.0f}  {row['ratio']:6.3f}x{held}")
            continue
        low, high = row["spread"]
        print(f"  {name:20} {row['us']:8.1f} us  {row['ratio']:5.2f}x  ({low:.2f} to {high:.2f}){held}")


def shape(size: int) -> str:
    """What `program` makes of a size."""
    return f"{size} layers, forward and backward" if size > 0 else f"{SHORT + size + 1} operators"


if __name__ == "__main__":
    main()
