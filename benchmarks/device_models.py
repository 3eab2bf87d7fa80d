"""Fit the models of costs to what was measured on real devices: `python -m benchmarks.device_models [--check]`.

Reads benchmarks/data/gpu_copies.jsonl (see benchmarks/gpu_copies.py for where that is from), writes the models to
runtime_check/device_models.json, their errors on rows left out to benchmarks/results/device_models.json, and the table
of both to docs/simulator.md. `--check` writes nothing and says what is not current (exit code 1). Models that
`benchmarks.costs` made on a device stay as they are.

A model is of an idle device, so that only those copies and waits count that had not to wait for their turn: a read
that began on the device within 20 µs of the call, an upload that began so or before the call returned, a wait when the
device had done everything. Calls that wait for nothing count all. What was not measured on a device is another kind's
or another device's, and is told as such.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime_check import cost
from runtime_check.cost import CostError, CostModel, Line

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "data" / "gpu_copies.jsonl"
RESULT = ROOT / "benchmarks" / "results" / "device_models.json"
PAGE = ROOT / "docs" / "simulator.md"
BEGIN, END = "<!-- device models: written by benchmarks/device_models.py -->", "<!-- end of device models -->"
TURN = 20.0  # microseconds from a call to its copy on an idle device, at most
FOLDS = 5
Row = Mapping[str, Any]
Samples = list[tuple[int, int]]
MEASURED = ("h2d_pageable", "h2d_staged", "bus", "d2h_pageable", "launch", "sync")
TITLES = {
    "h2d_pageable": "upload from pageable memory, waited for",
    "h2d_staged": "the same with `non_blocking`",
    "h2d_pinned": "upload from pinned memory, waited for",
    "d2h_pageable": "read into pageable memory",
    "d2h_pinned": "read into pinned memory",
    "launch": "handing over a copy that nothing waits for",
    "sync": "a wait for an idle device",
    "bus": "upload from pinned memory, on the bus",
}


def rows(path: Path = DATA) -> list[Row]:
    """The measurements."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def samples(measured: Sequence[Row], kind: str) -> list[tuple[str, int, int]]:
    """(trace, bytes, nanoseconds) of the measurements that say something of a kind."""

    def took(*names: str) -> Callable[[Row], int]:
        return lambda row: round(sum(row[name] for name in names) * 1000)

    def turn(row: Row) -> bool:
        return bool(row["queued"] <= (max(TURN, row["call"]) if row["way"] == "h2d" else TURN))

    pageable = [row for row in measured if row["way"] == "h2d" and row["pinned"] is False]
    pinned = [row for row in measured if row["way"] == "h2d" and row["pinned"] is True]
    chosen: dict[str, tuple[list[Row], Callable[[Row], int]]] = {
        "h2d_pageable": ([row for row in pageable if row["waits"] and turn(row)], took("call", "wait")),
        "h2d_staged": (pageable, took("call")),
        "bus": (pinned, took("bus")),
        "d2h_pageable": (
            [row for row in measured if row["way"] == "d2h" and row["pinned"] is False and turn(row)],
            took("call", "wait"),
        ),
        "launch": ([row for row in pinned if not row["waits"]], took("call")),
        "sync": ([row for row in measured if row["way"] == "none" and not row["queued"]], took("wait")),
    }
    found, time = chosen[kind]
    return [(row["trace"], row["bytes"], time(row)) for row in found]


def fitted(kind: str, of: Samples) -> Line:
    """The line of a kind. Reads were of 7.8 kB at most: what their bytes add is not to be seen in them."""
    flat = kind in ("launch", "sync", "d2h_pageable")
    return cost.constant([time for _, time in of]) if flat else cost.fit(of)


def model(name: str, measured: Sequence[Row], other: CostModel | None) -> CostModel:
    """The model of a device from its rows; what they do not hold is the `other` model's. Raises CostError."""
    lines: dict[str, Line] = {}
    for kind in MEASURED:
        try:
            lines[kind] = fitted(kind, [(size, time) for _, size, time in samples(measured, kind)])
        except CostError:
            if other is None or kind == "bus":
                raise
            lines[kind] = dataclasses.replace(getattr(other, kind), rows=0, note=f"not measured: as of {other.name}")
    bus, launch, sync = lines.pop("bus"), lines["launch"], lines["sync"]
    whole = dataclasses.replace(bus, latency=launch.latency + bus.latency + sync.latency, note="call, bus and wait")
    devices = " and ".join(sorted({row["device"] for row in measured}))
    return CostModel(
        name=name,
        h2d_pageable=lines["h2d_pageable"],
        h2d_staged=lines["h2d_staged"],
        h2d_pinned=whole,
        d2h_pageable=dataclasses.replace(
            lines["d2h_pageable"],
            bandwidth=lines["h2d_pageable"].bandwidth,
            note="up to 7.8 kB; bandwidth not measured: as of uploads",
        ),
        d2h_pinned=dataclasses.replace(whole, rows=0, note="not measured: as uploads"),
        launch=launch,
        sync=sync,
        source=f"{devices}; traces of facebookresearch/HolisticTraceAnalysis",
    )


def errors(kind: str, of: Sequence[tuple[str, int, int]]) -> dict[str, Any] | None:
    """Modelled / measured of rows that the fit has not seen: each trace is left out in turn, or a fifth of the rows
    where there is one trace alone. None where the rest cannot be fitted."""
    traces = sorted({trace for trace, _, _ in of})
    by_trace = len(traces) > 1
    folds = [[one for one in of if one[0] == trace] for trace in traces] if by_trace else [
        list(of[number::FOLDS]) for number in range(FOLDS)
    ]  # fmt: skip
    ratios: list[float] = []
    for fold in folds:
        rest = [(size, time) for trace, size, time in of if (trace, size, time) not in fold] if by_trace else [
            one[1:] for other in folds if other is not fold for one in other
        ]  # fmt: skip
        try:
            line = fitted(kind, rest)
        except CostError:
            continue
        ratios += [line.time(size) / time for _, size, time in fold if time]
    if not ratios:
        return None
    return {
        "left_out": "a trace" if by_trace else "a fifth of the rows",
        "rows": len(ratios),
        "median": round(statistics.median(ratios), 3),
        "within_2x": round(sum(0.5 <= ratio <= 2 for ratio in ratios) / len(ratios), 3),
        "worst": round(max(max(ratio, 1 / ratio) for ratio in ratios), 2),
    }


def made() -> tuple[dict[str, CostModel], dict[str, Any]]:
    """The models by name, and the errors of each kind, as data; devices with too few rows are named with the reason."""
    by_name: dict[str, list[Row]] = {}
    for row in rows():
        by_name.setdefault(cost.name_of(row["device"]), []).append(row)
    models: dict[str, CostModel] = {}
    result: dict[str, Any] = {"data": "benchmarks/data/gpu_copies.jsonl", "models": {}, "without": {}}
    for name in sorted(by_name):
        try:
            models[name] = model(name, by_name[name], models.get(cost.DEFAULT))
        except CostError as error:
            devices = ", ".join(sorted({row["device"] for row in by_name[name]}))
            result["without"][devices] = f"{len(by_name[name])} rows: {error}"
            continue
        result["models"][name] = {
            kind: found for kind in MEASURED if (found := errors(kind, samples(by_name[name], kind))) is not None
        }
    return models, result


def table(models: Mapping[str, CostModel], result: Mapping[str, Any]) -> str:
    """Both, for the docs."""
    from benchmarks.device import markdown

    parts = []
    for name, one in models.items():
        lines = []
        for kind in cost.KINDS:
            line: Line = getattr(one, kind)
            rate = f"{line.bandwidth:.1f} GB/s" if line.bandwidth else ""
            spread = f"{line.low:.2f} to {line.high:.2f}"
            lines.append([TITLES[kind], f"{line.latency / 1e3:.1f} µs", rate, spread, line.rows or "", line.note])
        head = ["what keeps the host", "latency", "bandwidth", "half are within", "rows", ""]
        parts += [f"`{name}`: {one.source}.", "", markdown(head, lines), ""]
    cells = [
        [f"`{name}`", TITLES[kind], found["left_out"], found["rows"], f"{found['median']:.2f}",
         f"{100 * found['within_2x']:.0f} %", f"{found['worst']:.1f}"]
        for name, kinds in result["models"].items() for kind, found in kinds.items()
    ]  # fmt: skip
    head = ["model", "what", "left out", "rows", "median modelled / measured", "within 2x", "worst"]
    parts += ["Errors on rows that were left out of the fit:", "", markdown(head, cells), ""]
    parts += [f"Without a model: {device} ({why})." for device, why in result["without"].items()]
    return "\n".join(parts)


def page(text: str, new: str) -> str:
    """The page with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{new}\n\n{END}{after}"


def main() -> int:
    """Fit, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    models, result = made()
    known = cost.read(cost.MODELS) if cost.MODELS.is_file() else {}
    everything = {**known, **models}
    listed = {name: everything[name] for name in sorted(everything)}
    wanted = {
        cost.MODELS: cost.text_of(everything),
        RESULT: json.dumps(result, indent=1) + "\n",
        PAGE: page(PAGE.read_text(encoding="utf-8"), table(listed, result)),
    }
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'not current' if check else 'written'}")
        if not check:
            path.write_text(wanted[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
