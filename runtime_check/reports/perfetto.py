"""The single events of a run as a trace for ui.perfetto.dev and chrome://tracing ("Trace Event Format": complete
events, times in microseconds)."""

from __future__ import annotations

import json
from typing import Any

from runtime_check.records import Run, SiteRecord
from runtime_check.reports.units import size
from transferlint import escaping
from transferlint.model import Direction


def render(run: Run) -> str:
    """The trace as JSON. A run keeps single events drawn fairly from all; `otherData` says how many of how many."""
    records = {record.id: record for record in run.sites}
    threads = {name: number for number, name in enumerate(sorted({one.thread for one in run.sites}), start=1)}
    rows: list[dict[str, Any]] = [_named("process_name", run.header.pid, 0, " ".join(run.header.program))]
    rows += [_named("thread_name", run.header.pid, tid, name or "main") for name, tid in threads.items()]
    for event in run.raw:
        record = records.get(event.site)
        if record is not None:
            rows.append(
                {
                    "ph": "X",
                    "pid": run.header.pid,
                    "tid": threads[record.thread],
                    "ts": event.at / 1000,
                    "dur": event.blocked / 1000,
                    "cat": kind(record),
                    "name": f"{kind(record)} {record.site.path.rpartition('/')[2]}:{record.site.line}",
                    "args": {
                        "site": f"{record.site.path}:{record.site.line}",
                        "operation": record.operation,
                        "bytes": event.bytes,
                        "size": size(event.bytes),
                        "step": event.step,
                        "chain": [f"{one.path}:{one.line}" for one in record.chain],
                    },
                }
            )
    seen = run.outcome.events if run.outcome else sum(record.count for record in run.sites)
    other = {"events": seen, "shown": len(run.raw), "times": run.header.time_source, "device": run.header.device}
    whole = {"traceEvents": rows, "displayTimeUnit": "ms", "otherData": other}
    return escaping.data(json.dumps(whole)) + "\n"


def kind(record: SiteRecord) -> str:
    """What a record is of, in one word: h2d, d2h, d2d, sync, or move for one that crossed nothing."""
    if record.direction is Direction.NONE:
        return "sync" if record.sync else "move"
    direction: str = record.direction.value
    return direction


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}
