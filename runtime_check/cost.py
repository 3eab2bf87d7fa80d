"""What a transfer would cost the host, where no clock can say it: latency + bytes / bandwidth, by kind of transfer.

Whatever comes from here is *modelled* and labelled so. The model knows no queue: a sync on a real device waits as well
for the work that was launched before, so that a modelled time is what the transfer itself would take, and no more.
Until a run on a device has fitted them (`fit`), the constants are assumptions, but for the rates of the links, which
are the PCI Express specifications' (transfers per second and lane, and the share of bits that carry data).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from runtime_check.events import Event
from transferlint.model import Direction

# Gigatransfers per second and lane, from the PCI Express base specifications 3.0, 4.0 and 5.0; each carries 128 bits
# of data in 130.
_RATES = ((3, 8.0), (4, 16.0), (5, 32.0))
_ENCODING = 128 / 130
# Assumptions, all of them to be fitted:
_USED = 0.8  # the share of a link's rate that copies reach, after packet headers and acknowledgements
_STAGING = 10.0  # bytes a nanosecond, at which one core copies pageable memory into a pinned buffer
_COPY = 10_000  # nanoseconds: a copy of nothing that the host waits for
_LAUNCH = 5_000  # nanoseconds: handing over a copy that the host does not wait for
_SYNC = 10_000  # nanoseconds: waiting for a device that has nothing to do

MEASURED = Path(__file__).with_name("measured_costs.json")  # what `benchmarks/costs.py` wrote on a device


class CostError(Exception):
    """A model that cannot be read or fitted; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """Nanoseconds for a number of bytes: `latency`, and `bandwidth` in bytes a nanosecond (which is GB/s)."""

    latency: int
    bandwidth: float

    def time(self, size: int) -> int:
        """How long `size` bytes take, in nanoseconds."""
        return self.latency + round(size / self.bandwidth)


@dataclasses.dataclass(frozen=True, slots=True)
class CostModel:
    """Times of the kinds of transfer. `launch` is a copy that the host does not wait for, `sync` a wait that moves
    nothing, both in nanoseconds. `source` says where the constants come from, `fitted` whether they were measured."""

    h2d_pinned: Line
    h2d_pageable: Line
    d2h_pinned: Line
    d2h_pageable: Line
    launch: int
    sync: int
    source: str
    fitted: bool = False

    @property
    def label(self) -> str:
        """What to print beside every time that comes from this model."""
        return f"modelled ({self.source}, {'measured constants' if self.fitted else 'assumed constants'})"

    def blocked(self, event: Event) -> int:
        """How long the event would keep the host, in nanoseconds, on a device with nothing else to do."""
        if event.direction is Direction.D2D:
            return self.sync if event.sync else self.launch
        if event.direction is Direction.NONE:
            return self.sync if event.sync else 0
        staged = event.direction is Direction.H2D and not (event.pinned and event.dense)
        if not event.sync and not staged:
            return self.launch
        if event.direction is Direction.H2D:
            return (self.h2d_pageable if staged else self.h2d_pinned).time(event.bytes)
        return (self.d2h_pinned if event.pinned else self.d2h_pageable).time(event.bytes)


def assumed(generation: int = 4, lanes: int = 16) -> CostModel:
    """The model of a device on a PCI Express link, before anything was measured. Raises CostError for a link that is
    not in the table."""
    rates = dict(_RATES)
    if generation not in rates or lanes not in (1, 2, 4, 8, 16):
        known = ", ".join(str(number) for number in rates)
        raise CostError(f"no model of PCIe {generation} x{lanes}: generations {known}, lanes 1, 2, 4, 8, 16")
    link = rates[generation] / 8 * _ENCODING * lanes * _USED
    pinned, pageable = Line(_COPY, link), Line(_COPY, 1 / (1 / link + 1 / _STAGING))
    return CostModel(pinned, pageable, pinned, pageable, _LAUNCH, _SYNC, f"PCIe {generation}.0 x{lanes}")


def default() -> CostModel:
    """The model that was measured, where one lies in `MEASURED`; else what is assumed. Raises CostError where the file
    holds something else."""
    return read(MEASURED) if MEASURED.is_file() else assumed()


def fit(samples: Sequence[tuple[int, int]]) -> Line:
    """The line through measured (bytes, nanoseconds), by least squares of the relative error, so that the small copies
    count as much as the large. Raises CostError where the samples do not show a latency and a bandwidth."""
    usable = [(size, time) for size, time in samples if size >= 0 and time > 0]
    weights = [1 / time**2 for _, time in usable]
    total = sum(weights)
    if len({size for size, _ in usable}) < 2:
        raise CostError("a fit needs copies of at least two sizes")
    size_mean = sum(w * size for w, (size, _) in zip(weights, usable, strict=True)) / total
    time_mean = sum(w * time for w, (_, time) in zip(weights, usable, strict=True)) / total
    spread = sum(w * (size - size_mean) ** 2 for w, (size, _) in zip(weights, usable, strict=True))
    slope = sum(w * (s - size_mean) * (t - time_mean) for w, (s, t) in zip(weights, usable, strict=True)) / spread
    if slope <= 0:
        raise CostError("the larger copies took no longer than the smaller: there is no bandwidth to fit")
    return Line(max(round(time_mean - slope * size_mean), 0), 1 / slope)


def write(path: str | Path, model: CostModel) -> None:
    """Write a model as JSON. Raises OSError."""
    Path(path).write_text(json.dumps(dataclasses.asdict(model), indent=2) + "\n", encoding="utf-8")


def read(path: str | Path) -> CostModel:
    """Read a model. Raises CostError and OSError."""
    try:
        fields = json.loads(Path(path).read_bytes())
        lines = {name: Line(**value) for name, value in fields.items() if isinstance(value, dict)}
        model = CostModel(**{**fields, **lines})
        if min(model.launch, model.sync, *(line.latency for line in lines.values())) < 0:
            raise ValueError("a time below 0")
        if min(line.bandwidth for line in lines.values()) <= 0:
            raise ValueError("a bandwidth of 0")
    except (ValueError, TypeError, AttributeError) as error:
        raise CostError(f"{path}: not a cost model: {error}") from error
    return model
