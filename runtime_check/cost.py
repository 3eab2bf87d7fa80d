"""What a transfer would cost the host, where no clock can say it: latency + bytes / bandwidth, by kind of transfer.

Whatever comes from here is *modelled* and labelled so, with the device whose model it is. A model is fitted to what was
measured of copies and waits on that device (`device_models.json`, written by `benchmarks/device_models.py` from traces
and by `benchmarks/costs.py` on a device); there are no others. It knows no queue: a sync on a real device waits as well
for the work that was launched before, so that a modelled time is what the transfer itself would take, and no more.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from runtime_check.events import Event
from runtime_check.records import SiteRecord
from transferlint.model import Direction

MODELS = Path(__file__).with_name("device_models.json")
DEFAULT = "a100"
KINDS = ("h2d_pageable", "h2d_staged", "h2d_pinned", "d2h_pageable", "d2h_pinned", "launch", "sync")


class CostError(Exception):
    """A model that cannot be read or fitted, or that there is none of; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """Nanoseconds for a number of bytes: `latency`, and `bandwidth` in bytes a nanosecond, which is GB/s (0: the size
    does not matter). Half of what was measured is between `low` and `high` times that. `rows` is how many measurements
    it rests on; `note` says what was not measured, and whose it is instead."""

    latency: int
    bandwidth: float
    low: float = 1.0
    high: float = 1.0
    rows: int = 0
    note: str = ""

    def time(self, size: int) -> int:
        """How long `size` bytes take, in nanoseconds."""
        return self.latency + (round(size / self.bandwidth) if self.bandwidth else 0)


@dataclasses.dataclass(frozen=True, slots=True)
class CostModel:
    """How long the host is kept, on a device called `name` with nothing else to do: by copies that it waits for, from
    and to pinned and pageable memory (`h2d_staged`: from pageable memory, asked not to wait); by handing over a copy
    that it does not wait for (`launch`); and by a wait that has nothing to wait for (`sync`). `source` says where the
    measurements come from."""

    name: str
    h2d_pageable: Line
    h2d_staged: Line
    h2d_pinned: Line
    d2h_pageable: Line
    d2h_pinned: Line
    launch: Line
    sync: Line
    source: str

    @property
    def label(self) -> str:
        """What to print beside every time that comes from this model."""
        return f"modelled by {self.name}"

    def blocked(self, event: Event) -> int:
        """How long the event would keep the host, in nanoseconds."""
        line = self._line(event.direction, event.sync, event.pinned and event.dense, event.non_blocking, event.pinned)
        return 0 if line is None else line.time(event.bytes)

    def between(self, records: Iterable[SiteRecord]) -> tuple[int, int]:
        """The quartiles of the waiting of records whose times come from this model: where half of such copies were when
        they were measured, in nanoseconds."""
        low = high = 0.0
        for one in records:
            pinned = one.pinned * 2 > one.count
            line = self._line(one.direction, one.sync, pinned, one.non_blocking * 2 > one.count, pinned)
            low += one.blocked.total * (line.low if line else 1)
            high += one.blocked.total * (line.high if line else 1)
        return round(low), round(high)

    def _line(self, way: Direction, waits: bool, ready: bool, unasked: bool, pinned: bool) -> Line | None:
        """The kind of a transfer; `ready` is one whose host side the device can reach, `unasked` was not to wait."""
        if way is Direction.NONE:
            return self.sync if waits else None
        if way is Direction.D2D:
            return self.sync if waits else self.launch
        if way is Direction.H2D and not ready:
            return self.h2d_staged if unasked or not waits else self.h2d_pageable
        if not waits:
            return self.launch
        if way is Direction.H2D:
            return self.h2d_pinned
        return self.d2h_pinned if pinned else self.d2h_pageable


def models() -> Mapping[str, CostModel]:
    """The models that there are, by name. Raises CostError."""
    try:
        return read(MODELS)
    except OSError as error:
        raise CostError(f"{MODELS}: cannot be read: {(error.strerror or str(error)).lower()}") from None


def named(name: str) -> CostModel:
    """The model of a device. Raises CostError for one that was not measured."""
    known = models()
    if name.lower() not in known:
        raise CostError(f"no measured times of {name!r}: there are those of {', '.join(sorted(known))}")
    return known[name.lower()]


def default() -> CostModel:
    """The model of the device of which most was measured. Raises CostError."""
    return named(DEFAULT)


def name_of(device: str) -> str:
    """The name of a device's model: "a100" of "NVIDIA A100-SXM4-80GB"."""
    found = re.search(r"\b[A-Z]{1,3}\d{2,4}[A-Za-z]?\b", device)
    return found[0].lower() if found else re.sub(r"\W+", "-", device.lower()).strip("-")


def fit(samples: Sequence[tuple[int, int]]) -> Line:
    """The line through measured (bytes, nanoseconds), by least squares of the relative error, so that the small copies
    count as much as the large, with the quartiles of what was measured around it. Raises CostError where the samples do
    not show a latency and a bandwidth."""
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
    return spread_of(Line(max(round(time_mean - slope * size_mean), 0), 1 / slope), usable)


def constant(times: Sequence[int]) -> Line:
    """The median of measured nanoseconds that do not depend on a size, with their quartiles. Raises CostError for
    none."""
    if not times:
        raise CostError("there is nothing to take a median of")
    return spread_of(Line(round(_quantile(sorted(times), 0.5)), 0.0), [(0, time) for time in times])


def spread_of(line: Line, samples: Sequence[tuple[int, int]]) -> Line:
    """The line with the quartiles of measured / modelled time, and how many they were."""
    ratios = sorted(time / max(line.time(size), 1) for size, time in samples)
    low, high = round(_quantile(ratios, 0.25), 3), round(_quantile(ratios, 0.75), 3)
    return dataclasses.replace(line, bandwidth=round(line.bandwidth, 3), low=low, high=high, rows=len(ratios))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """By linear interpolation between the two nearest."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def write(path: str | Path, model: CostModel) -> None:
    """Put a model into a file of models, in place of one of the same name. Raises OSError, and CostError where the file
    holds something else."""
    place = Path(path)
    known = dict(read(place)) if place.is_file() else {}
    known[model.name] = model
    place.write_text(text_of(known), encoding="utf-8")


def text_of(known: Mapping[str, CostModel]) -> str:
    """Models as a file holds them."""
    return json.dumps({name: dataclasses.asdict(known[name]) for name in sorted(known)}, indent=1) + "\n"


def read(path: str | Path) -> dict[str, CostModel]:
    """Read a file of models. Raises CostError and OSError."""
    try:
        return {name: from_data(fields) for name, fields in json.loads(Path(path).read_bytes()).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise CostError(f"{path}: not a file of cost models: {error}") from error


def from_data(fields: Mapping[str, object]) -> CostModel:
    """A model from its data. Raises ValueError and TypeError where they are no model's."""
    lines = {name: Line(**value) for name, value in fields.items() if isinstance(value, dict)}
    if missing := sorted({*KINDS, "name", "source"} - fields.keys() | (set(KINDS) - lines.keys())):
        raise ValueError(f"it lacks {', '.join(missing)}")
    if min(line.latency for line in lines.values()) < 0:
        raise ValueError("a time below 0")
    if min(line.bandwidth for line in lines.values()) < 0:
        raise ValueError("a bandwidth below 0")
    return CostModel(**{**fields, **lines})  # type: ignore[arg-type]
