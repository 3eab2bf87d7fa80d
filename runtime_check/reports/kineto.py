"""The window that torch.profiler saw, from the trace that it left beside the records: host operators by thread, and
what ran on the device by stream (Kineto's Chrome trace: `libkineto/src/output_json.cpp`)."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime_check.reports.tracks import Slice, Track

_HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")
_MOST = 100_000  # rows of one profile that are shown, the earliest
_THREAD = re.compile(r"thread \d+ \((.+)\)")


@dataclasses.dataclass(frozen=True, slots=True)
class Profiled:
    """Tracks of a profile; `asked` are pairs of a call on the host and what it started on the device; `problem` says in
    one line what is missing of it, "" where nothing is."""

    tracks: tuple[Track, ...] = ()
    asked: tuple[tuple[Slice, Slice], ...] = ()
    problem: str = ""


def read(path: Path, zero: int) -> Profiled:
    """Read a trace; `zero` is what its slices count from, in nanoseconds since 1970. What cannot be read is a problem,
    and no error."""
    try:
        whole = json.loads(path.read_bytes())
        base = int(whole.get("baseTimeNanoseconds", 0))
        events = [one for one in whole["traceEvents"] if isinstance(one, dict)]
        rows = sorted(_rows(events, base - zero), key=lambda one: (one[1].start, -one[1].length))
    except OSError as error:
        return Profiled(problem=f"{path.name}: {(error.strerror or str(error)).lower()}")
    except (ValueError, KeyError, TypeError, AttributeError):
        return Profiled(problem=f"{path.name}: not a trace of torch.profiler")
    cut = len(rows) - _MOST
    problem = f"{path.name}: {cut:,} of its {len(rows):,} rows are left out, the latest" if cut > 0 else ""
    groups: dict[_Key, list[Slice]] = {}
    for key, one in rows[:_MOST]:
        groups.setdefault(key, []).append(one)
    nested = {key: _nested(slices) for key, slices in groups.items()}
    return Profiled(tuple(_tracks(nested, _names(events))), tuple(_asked(nested)), problem)


_Key = tuple[str, str]  # the device ("" for the host), and the thread or stream
_Groups = Mapping[_Key, Sequence[Slice]]


def _rows(events: Sequence[Mapping[str, Any]], base: int) -> Iterator[tuple[_Key, Slice]]:
    for one in events:
        category = one.get("cat")
        if one.get("ph") != "X" or category not in (*_HOST, *_DEVICE):
            continue
        start, length = base + round(one["ts"] * 1000), round(one.get("dur", 0) * 1000)
        device = "" if category in _HOST else f"device {one['pid']}"
        args = one.get("args")
        number = f"{one['tid']}" + (", waits" if category == "cuda_sync" else "")
        yield (device, number), Slice(str(one["name"]), category, start, length, args if isinstance(args, dict) else {})


def _names(events: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names of threads; the last that was given counts, as in a viewer."""
    named = [one for one in events if one.get("ph") == "M" and one.get("name") == "thread_name"]
    return {str(one.get("tid")): str(one.get("args", {}).get("name", "")) for one in named}


def _tracks(groups: _Groups, names: Mapping[str, str]) -> Iterator[Track]:
    for (device, number), slices in sorted(groups.items()):
        if device:
            yield Track(f"stream {number}", tuple(slices), device)
        else:
            said = _THREAD.fullmatch(names.get(number, ""))
            yield Track(f"host operators · {said[1] if said else 'thread'} {number}", tuple(slices))


def _nested(slices: Sequence[Slice]) -> list[Slice]:
    """The slices, given in order, each cut to what it lies within: times are rounded, and a child may end a few
    nanoseconds after its parent."""
    found: list[Slice] = []
    around: list[int] = []
    for one in slices:
        while around and around[-1] <= one.start:
            around.pop()
        end = min(one.start + one.length, *around[-1:]) if around else one.start + one.length
        around.append(end)
        found.append(dataclasses.replace(one, length=end - one.start))
    return found


def _asked(groups: _Groups) -> Iterator[tuple[Slice, Slice]]:
    """By correlation id, which a call of the driver's has in common with what it started."""
    host = [one for (device, _), slices in groups.items() if not device for one in slices]
    calls = {one.args["correlation"]: one for one in host if "correlation" in one.args}
    for one in (one for (device, _), slices in groups.items() if device for one in slices):
        call = calls.get(one.args.get("correlation"))
        if call is not None and call.start <= one.start:
            yield call, one
