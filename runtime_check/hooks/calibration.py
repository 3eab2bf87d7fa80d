"""What recording one event costs here, measured before the program runs."""

from __future__ import annotations

import statistics
import time

from runtime_check.collect import Collector
from runtime_check.hooks.ends import Ends
from runtime_check.hooks.observer import Observer
from runtime_check.provenance import Provenance
from transferlint.model import Direction

_EVENTS, _ROUNDS = 64, 5


def per_event(trace: bool) -> int:
    """Nanoseconds of a hook's, the collector's and, with `trace`, provenance's work on one event, the median of a few
    rounds over events that nobody else hears of. What `trace` adds to every operator is not in it."""
    import torch

    tensor = torch.empty(4)
    observer = Observer()
    observer.listeners = (Collector(provenance=Provenance(lifetimes=True) if trace else None),)
    ends = Ends(lambda kind, serial: None) if trace else None
    mine, clock = observer.local.mine, time.perf_counter_ns
    times = []
    for _ in range(_ROUNDS):
        started = clock()
        for _ in range(_EVENTS):
            event = observer.begin(mine, Direction.H2D, "aten::copy_", 16, True)
            if event is None:
                continue
            if ends is not None:
                event.source = ends.of(tensor, True)
            event.started = clock()
            event.blocked = clock() - event.started
            if ends is not None:
                event.target = ends.of(tensor, False, 1)
            observer.finish(mine, event)
        times.append((clock() - started) // _EVENTS)
    if ends is not None:
        ends.forget()
    return int(statistics.median(times))
