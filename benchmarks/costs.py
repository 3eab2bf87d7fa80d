"""What transfers and waits cost on this device: `python -m benchmarks.costs [-o DIR] [--short] [--model FILE]`.

Host time of copies by size and kind (pageable or pinned memory, waiting or not), of a scalar read and of waits on an
idle and on a busy queue, how long the device then idles, and which calls keep the host until the device has done what
was launched before. A latency and a bandwidth are fitted to each kind and written as the model that the simulated
device takes its times from (`runtime_check.cost`).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import device as devices
from benchmarks.device import Device, timed

SIZES = [4 << (2 * power) for power in range(14)]  # 4 B, 16 B ... 256 MiB
SHORT_SIZES = [4, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
DRY_SIZES = [4, 4 << 10, 1 << 20]
BUSY_MS = (1.0, 10.0)  # of work before a read
QUEUED_MS = 5.0  # of work before each call that may wait for it
QUEUED_SIZES = (4 << 10, 64 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20)


def main() -> None:
    """Measure, fit, print, write."""
    parser = devices.arguments(__doc__)
    parser.add_argument("--model", type=Path, help="write the fitted model to this file")
    options = parser.parse_args()
    device = devices.start()
    sizes = DRY_SIZES if device.dry else SHORT_SIZES if options.short else SIZES
    copies = measure_copies(sizes, 5 if device.dry else 15 if options.short else 40)
    waits = measure_waits(5 if device.dry else 30 if options.short else 200)
    busy = [measure_busy(ms, 3 if device.dry else 10 if options.short else 30, device) for ms in BUSY_MS]
    queued = measure_queued(3 if device.dry else 7 if options.short else 15, device)
    model, problem = fitted(copies, waits, device)
    result: dict[str, Any] = {
        "copies": copies, "waits": waits, "busy": busy, "queued": queued, "model": model, "problem": problem,
    }  # fmt: skip
    devices.write(device, "costs", result, table(result), options.output)
    if model is not None and options.model is not None and not device.dry:
        from runtime_check import cost

        cost.write(options.model, cost.from_data(model))
    device.leave(0)


def kinds(size: int) -> dict[str, Callable[[], object]]:
    """Copies of `size` bytes, by kind."""
    import torch

    count = max(size // 4, 1)
    there = torch.zeros(count, device="cuda")
    pageable, pinned = torch.rand(count), torch.rand(count).pin_memory()
    return {
        "h2d pageable": lambda: there.copy_(pageable),
        "h2d pageable non_blocking": lambda: there.copy_(pageable, non_blocking=True),
        "h2d pinned": lambda: there.copy_(pinned),
        "h2d pinned non_blocking": lambda: there.copy_(pinned, non_blocking=True),
        "d2h pageable": lambda: pageable.copy_(there),
        "d2h pageable non_blocking": lambda: pageable.copy_(there, non_blocking=True),
        "d2h pinned": lambda: pinned.copy_(there),
        "d2h pinned non_blocking": lambda: pinned.copy_(there, non_blocking=True),
    }


def measure_copies(sizes: list[int], rounds: int) -> dict[str, list[list[int]]]:
    """Of each kind, [bytes, median nanoseconds of the host, median nanoseconds until the copy is done]."""
    import torch

    found: dict[str, list[list[int]]] = {}
    for size in sizes:
        repeats = rounds if size <= 1 << 20 else max(rounds // 4, 3)
        for kind, copy in kinds(size).items():
            host, done = [], []
            for number in range(repeats + 2):
                torch.cuda.synchronize()
                taken = timed(copy)
                whole = taken + timed(torch.cuda.synchronize)
                if number >= 2:
                    host.append(taken)
                    done.append(whole)
            found.setdefault(kind, []).append([size, round(statistics.median(host)), round(statistics.median(done))])
    return found


def measure_waits(rounds: int) -> dict[str, int]:
    """Median nanoseconds on an idle queue: of waits and reads, and of launching one small kernel."""
    import torch

    x = torch.rand(4, device="cuda")
    one = x[0].clone()
    event = torch.cuda.Event()
    event.record()
    calls: dict[str, Callable[[], object]] = {
        "torch.cuda.synchronize": torch.cuda.synchronize,
        "Stream.synchronize": torch.cuda.current_stream().synchronize,
        "Event.synchronize": event.synchronize,
        "item": one.item,
        "tolist of 4": x.tolist,
        "nonzero": x.nonzero,
        "launch": lambda: x.add_(1),
    }
    found = {}
    for name, call in calls.items():
        times = []
        for number in range(rounds + 5):
            torch.cuda.synchronize()
            taken = timed(call)
            if number >= 5:
                times.append(taken)
        found[name] = round(statistics.median(times))
    return found


class Work:
    """Matrix products that keep the device busy for about so many milliseconds."""

    def __init__(self, milliseconds: float, device: Device) -> None:
        import torch

        size = 64 if device.dry else 2048
        self._factor = torch.rand(size, size, device="cuda")
        self.out = self._factor.clone()
        self.count = 1
        self._elapsed(3)
        while not device.dry and self._elapsed(self.count) < milliseconds and self.count < 1 << 14:
            self.count *= 2

    def launch(self, count: int) -> None:
        """Hand so many products to the device."""
        import torch

        for _ in range(count):
            torch.mm(self._factor, self._factor, out=self.out)

    def _elapsed(self, count: int) -> float:
        import torch

        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        self.launch(count)
        last.record()
        torch.cuda.synchronize()
        return float(first.elapsed_time(last))


def measure_queued(rounds: int, device: Device) -> list[dict[str, Any]]:
    """Of each call, medians in nanoseconds: how long it keeps the host on an idle queue and behind work, and how long
    that work then still takes. A call that waits for the queue leaves nothing of it."""
    import torch

    work = Work(QUEUED_MS, device)
    rows = []
    for name, call, before in queued_calls((4 << 10,) if device.dry else QUEUED_SIZES):
        times: dict[str, list[int]] = {"idle": [], "behind": [], "left": []}
        for number in range(rounds + 2):
            for busy in (False, True):
                before()
                torch.cuda.synchronize()
                if busy:
                    work.launch(work.count)
                taken = timed(call)
                left = timed(torch.cuda.synchronize)
                if number >= 2:
                    times["behind" if busy else "idle"].append(taken)
                    if busy:
                        times["left"].append(left)
        rows.append({"call": name, **{key: round(statistics.median(found)) for key, found in times.items()}})
    return rows


def queued_calls(sizes: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """The name of a call, the call, and what has to be done before each: copies of the sizes by kind, and others."""
    import torch

    from runtime_check.reports.units import size as spelled

    for size in sizes:
        for kind, copy in kinds(size).items():
            yield f"{kind}, {spelled(size)}", copy, _nothing
    x = torch.rand(64, 64, device="cuda")
    mask, pageable = x > 0.5, torch.rand(1 << 18)
    event = torch.cuda.Event()
    calls: dict[str, Callable[[], object]] = {
        "x.sum().item()": lambda: x.sum().item(),
        "x.nonzero()": x.nonzero,
        "x[mask]": lambda: x[mask],
        "x[[0, 1]]": lambda: x[[0, 1]],
        "x[0, 0] = 5.0": lambda: x.__setitem__((0, 0), 5.0),
        "x[mask] = 0.0": lambda: x.__setitem__(mask, 0.0),
        "torch.where(mask, x, 0.0)": lambda: torch.where(mask, x, 0.0),
        "torch.tensor([1.0, 2.0], device='cuda')": lambda: torch.tensor([1.0, 2.0], device="cuda"),
        "torch.full((2,), 1.0, device='cuda')": lambda: torch.full((2,), 1.0, device="cuda"),
        "torch.multinomial(x, 1)": lambda: torch.multinomial(x, 1),
        "torch.unique(x)": lambda: torch.unique(x),
        "torch.linalg.inv(x)": lambda: torch.linalg.inv(x),
        "Tensor.pin_memory() of 1 MiB": pageable.pin_memory,
        "torch.cuda.memory_allocated()": torch.cuda.memory_allocated,
        "torch.cuda.mem_get_info()": torch.cuda.mem_get_info,
        "Event.query()": event.query,
        "torch.cuda.current_stream().synchronize()": lambda: torch.cuda.current_stream().synchronize(),
        "torch.cuda.synchronize()": torch.cuda.synchronize,
    }
    for name, call in calls.items():
        yield name, call, _nothing

    def allocated() -> None:
        torch.empty(64 << 20, dtype=torch.uint8, device="cuda")  # let go at once, and cached

    yield "torch.cuda.empty_cache(), 64 MiB cached", torch.cuda.empty_cache, allocated
    yield "torch.empty of 64 MiB, nothing cached", allocated, torch.cuda.empty_cache


def _nothing() -> None:
    """Nothing has to be done before."""


def measure_busy(milliseconds: float, rounds: int, device: Device) -> dict[str, float]:
    """A scalar read behind so much work: how long the host is kept, how long that work takes on the device, and how
    long the device idles between it and the next kernel, against the same without the read (medians, microseconds)."""
    import torch

    work = Work(milliseconds, device)
    rows: dict[str, list[float]] = {"blocked": [], "work": [], "gap": [], "gap without": []}
    for number in range(rounds):
        for read in (True, False):
            torch.cuda.synchronize()
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
            marks[0].record()
            work.launch(work.count)
            marks[1].record()
            blocked = timed(work.out[0, 0].item) if read else 0
            marks[2].record()  # told when the stream gets to it: after the work, or when the host comes back
            work.launch(1)
            torch.cuda.synchronize()
            if number:
                gap = marks[1].elapsed_time(marks[2]) * 1e3
                if read:
                    rows["blocked"].append(blocked / 1e3)
                    rows["work"].append(marks[0].elapsed_time(marks[1]) * 1e3)
                rows["gap" if read else "gap without"].append(gap)
    return {"asked": milliseconds * 1e3, **{name: statistics.median(times) for name, times in rows.items()}}


def fitted(
    copies: dict[str, list[list[int]]], waits: dict[str, int], device: Device
) -> tuple[dict[str, Any] | None, str]:
    """The model, as data; None and why where it cannot be fitted."""
    import dataclasses

    from runtime_check import cost

    lines = {}
    try:
        for field, kind in (
            ("h2d_pageable", "h2d pageable"),
            ("h2d_staged", "h2d pageable non_blocking"),
            ("h2d_pinned", "h2d pinned"),
            ("d2h_pageable", "d2h pageable"),
            ("d2h_pinned", "d2h pinned"),
        ):
            lines[field] = cost.fit([(size, host) for size, host, _ in copies[kind]])
        launch = cost.constant([host for _, host, _ in copies["h2d pinned non_blocking"]])
        sync = cost.constant([waits["torch.cuda.synchronize"]])
    except cost.CostError as error:
        return None, str(error)
    about = device.about
    source = f"{about['device']}, torch {about['torch']}, {about['date']}"
    name = cost.name_of(str(about["device"]))
    return dataclasses.asdict(cost.CostModel(name=name, **lines, launch=launch, sync=sync, source=source)), ""


def _waited(row: dict[str, Any]) -> bool:
    """Whether a call of `measure_queued` waited for the work that was launched before it."""
    return bool(row["left"] < row["behind"] - row["idle"])


def table(result: dict[str, Any]) -> str:
    """Everything, for people."""
    from runtime_check.reports.units import duration, size

    names = list(result["copies"])
    sizes = [row[0] for row in result["copies"][names[0]]]
    rows = [
        [size(one), *(duration(result["copies"][name][index][1]) for name in names)] for index, one in enumerate(sizes)
    ]
    parts = ["Host time of one copy, median:", "", devices.markdown(["bytes", *names], rows), ""]
    parts += ["Host time on an idle queue, median:", ""]
    parts += [devices.markdown(["call", "time"], [[name, duration(ns)] for name, ns in result["waits"].items()]), ""]
    parts += ["`item()` behind work that the device still has to do, medians in µs:", ""]
    heads = ["work", "host blocked", "device idle after it", "idle without the read"]
    cells = [[f"{one[key]:.1f}" for key in ("work", "blocked", "gap", "gap without")] for one in result["busy"]]
    parts += [devices.markdown(heads, cells), ""]
    parts += [
        f"Behind about {QUEUED_MS:g} ms of work, medians; a call that waits for the queue leaves nothing of it:",
        "",
    ]
    heads = ["call", "host, idle queue", "host, behind work", "work left after it", "waits"]
    cells = [
        [f"`{one['call']}`" if "(" in one["call"] or "[" in one["call"] else one["call"],
         *(duration(one[key]) for key in ("idle", "behind", "left")), "yes" if _waited(one) else "no"]
        for one in result["queued"]
    ]  # fmt: skip
    parts += [devices.markdown(heads, cells), ""]
    if result["model"] is None:
        return "\n".join([*parts, f"No model: {result['problem']}"])
    lines = [
        [key, duration(one["latency"]), f"{one['bandwidth']:.2f} GB/s" if one["bandwidth"] else ""]
        for key, one in result["model"].items() if isinstance(one, dict)
    ]  # fmt: skip
    return "\n".join([*parts, "Fitted:", "", devices.markdown(["kind", "latency", "bandwidth"], lines)])


if __name__ == "__main__":
    main()
