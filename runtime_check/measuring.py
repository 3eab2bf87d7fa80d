"""`measure(function)`: what one call transfers, as `torch.utils.benchmark` says how long one takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from runtime_check import watching
from runtime_check.records import SiteRecord


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """What one call moves, on average over `calls` calls: transfers by direction, waits (in transfers too) and bytes.
    `records` are all that was seen, by line."""

    calls: int
    h2d: float
    d2h: float
    sync: float
    h2d_bytes: float
    d2h_bytes: float
    records: tuple[SiteRecord, ...]

    def __str__(self) -> str:
        moved = f"h2d {self.h2d:g} ({self.h2d_bytes:g} bytes), d2h {self.d2h:g} ({self.d2h_bytes:g} bytes)"
        return "\n".join([f"a call: {moved}, waits {self.sync:g}", *watching.lines(self.records)])


def measure(function: Callable[..., object], *args: Any, calls: int = 1, warmup: int = 1, **kwargs: Any) -> Measured:
    """Call a function `warmup` times, and then `calls` times counted: what this thread does, backward passes included.

    Raises what the function raises, and ValueError for fewer than one call or a negative warm-up.
    """
    if calls < 1 or warmup < 0:
        raise ValueError(f"calls={calls}, warmup={warmup}: at least one call, and no fewer than 0 before it")
    for _ in range(warmup):
        function(*args, **kwargs)
    with watching.watch() as run:
        for _ in range(calls):
            function(*args, **kwargs)
    totals = {name: getattr(run, name) / calls for name in ("h2d", "d2h", "sync", "h2d_bytes", "d2h_bytes")}
    return Measured(calls, records=run.records(), **totals)
