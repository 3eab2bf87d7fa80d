"""A trace holds what the Trace Event Format asks of each event, and what Perfetto needs to show it."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import training
from hypothesis import given
from hypothesis import strategies as st

from runtime_check.records import LinkKind, Profile, Run
from runtime_check.reports import perfetto
from runtime_check.reports.tracks import APART, Slice, lanes, pairs

_NUMBERS = {"ts": {"type": "number", "minimum": 0}, "pid": {"type": "integer"}, "tid": {"type": "integer"}}
_EVENT = {"name": {"type": "string", "minLength": 1}, "cat": {"type": "string", "minLength": 1}, **_NUMBERS}
_METADATA = {
    "process_name": "name", "thread_name": "name", "process_labels": "labels", "process_sort_index": "sort_index",
    "thread_sort_index": "sort_index",
}  # fmt: skip


def _phase(phase: str, properties: dict[str, Any]) -> dict[str, Any]:
    properties = {"ph": {"const": phase}, **properties}
    return {"properties": properties, "required": [*properties], "type": "object"}


# What the document asks for by phase ("Complete Events", "Flow Events", "Metadata Events") and of the whole ("JSON
# Object Format").
SCHEMA = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "traceEvents": {
            "type": "array",
            "items": {
                "oneOf": [
                    _phase("X", {**_EVENT, "dur": {"type": "number", "minimum": 0}, "args": {"type": "object"}}),
                    _phase("s", {**_EVENT, "id": {"type": "integer"}}),
                    _phase("f", {**_EVENT, "id": {"type": "integer"}, "bp": {"const": "e"}}),
                    *(
                        _phase(
                            "M",
                            {
                                "name": {"const": name},
                                "pid": {"type": "integer"},
                                "tid": {"type": "integer"},
                                "args": {"type": "object", "required": [key], "additionalProperties": False,
                                         "properties": {key: {}}},
                            },
                        )
                        for name, key in _METADATA.items()
                    ),
                ]
            },
        },
    },
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Read:
    """A trace that was held against the format: slices by the names of their process and track."""

    other: dict[str, Any]
    processes: dict[str, int]
    tracks: dict[tuple[str, str], list[dict[str, Any]]]
    flows: list[tuple[dict[str, Any], dict[str, Any]]]


def read(text: str) -> Read:
    trace = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(trace)
    events = trace["traceEvents"]
    processes = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert len({tid for _, tid in threads}) == len(threads)  # Perfetto names a thread by its number alone
    slices: dict[tuple[int, int], list[dict[str, Any]]] = collections.defaultdict(list)
    for one in events:
        if one["ph"] == "X":
            slices[one["pid"], one["tid"]].append(one)
    assert slices.keys() <= threads.keys()
    for track in slices.values():
        _nest(track)
    named = {(processes[pid], name): slices[pid, tid] for (pid, tid), name in threads.items()}
    assert len(named) == len(threads)
    numbers = {name: pid for pid, name in processes.items()}
    return Read(trace["otherData"], numbers, named, _flows(events, slices))


def _nest(track: list[dict[str, Any]]) -> None:
    """Slices of a track follow or enclose each other."""
    ends: list[float] = []
    for one in sorted(track, key=lambda one: (one["ts"], -one["dur"])):
        while ends and ends[-1] <= one["ts"]:
            ends.pop()
        assert not ends or one["ts"] + one["dur"] <= ends[-1] + 1e-6
        ends.append(one["ts"] + one["dur"])


def _flows(
    events: list[dict[str, Any]], slices: dict[tuple[int, int], list[dict[str, Any]]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The slices that each flow joins, by time and track."""
    ends: dict[object, dict[str, dict[str, Any]]] = collections.defaultdict(dict)
    for one in events:
        if one["ph"] in "sf":
            assert one["ph"] not in ends[one["cat"], one["name"], one["id"]]
            ends[one["cat"], one["name"], one["id"]][one["ph"]] = one
    found = []
    for pair in ends.values():
        assert pair["s"]["ts"] <= pair["f"]["ts"]
        joined = []
        for end in (pair["s"], pair["f"]):
            around = [one for one in slices[end["pid"], end["tid"]] if one["ts"] <= end["ts"] < one["ts"] + one["dur"]]
            joined.append(max(around, key=lambda one: one["ts"]))
        found.append((joined[0], joined[1]))
    return found


def test_steps_transfers_and_flows_lie_on_tracks_of_their_own() -> None:
    trace = read(perfetto.render([training.run("/a/train.py")]))
    (process,) = trace.processes
    assert process == "train.py --name <b>"
    assert [name for _, name in trace.tracks] == ["steps", "host to device", "device to host"]
    steps = trace.tracks[process, "steps"]
    assert [one["name"] for one in steps[:2]] == ["step 1, with all before it", "step 2"]
    assert (steps[1]["ts"], round(steps[1]["dur"])) == (training.BEGAN / 1000 + 10_000, 10_000)
    down = trace.tracks[process, "device to host"]
    assert (down[0]["name"], down[0]["ts"], down[0]["dur"]) == ("d2h train.py:6", 2_001_000, 20)
    assert down[0]["args"]["operation"] == "aten::_local_scalar_dense"
    assert len(trace.flows) == training.STEPS
    for left, back in trace.flows:
        assert (left["name"], back["name"]) == ("d2h train.py:7", "h2d train.py:8")
        assert left["args"]["step"] == back["args"]["step"]
    assert (trace.other["events"], trace.other["shown"], trace.other["sampled"]) == (84, 84, False)


def test_a_sample_says_so() -> None:
    run = training.run("train.py")
    text = perfetto.render([dataclasses.replace(run, raw=run.raw[::3])])
    trace = read(text)
    assert (trace.other["events"], trace.other["shown"], trace.other["sampled"]) == (84, 28, True)
    assert "28 of 84 events, drawn at random" in text


def test_a_flow_is_drawn_only_where_all_of_a_site_came_by_it() -> None:
    run = training.run("train.py")
    some = dataclasses.replace(run.links[0], count=training.STEPS - 1)
    trace = read(perfetto.render([dataclasses.replace(run, links=(some,))]))
    assert trace.flows == []
    assert "flows of 1 link:" in trace.other["left_out"][0]
    both = (dataclasses.replace(some, changed=True), dataclasses.replace(some, count=1))
    assert len(read(perfetto.render([dataclasses.replace(run, links=both)])).flows) == training.STEPS
    same = dataclasses.replace(some, kind=LinkKind.REPEAT, first=1, second=1)
    repeated = read(perfetto.render([dataclasses.replace(run, links=(same,))])).flows
    assert len(repeated) == training.STEPS - 1
    assert all(before["ts"] < after["ts"] for before, after in repeated)


def test_what_overlaps_by_a_model_lies_side_by_side() -> None:
    run = training.run("train.py")
    slow = tuple(dataclasses.replace(one, blocked=1_500_000) for one in run.raw[:4])
    text = perfetto.render([dataclasses.replace(run, raw=(*slow, *run.raw[4:]))])
    names = [name for _, name in read(text).tracks]
    assert names[1:5] == ["host to device", *(f"host to device ({number})" for number in (2, 3, 4))]


def test_ranks_are_processes_in_one_time() -> None:
    """Also where containers give both the same number."""
    later = training.header(rank=1, ranks=2, started="2026-01-02T03:04:06.500000+00:00")
    runs = [training.run("train.py", later), training.run("train.py", training.header(ranks=2))]
    trace = read(perfetto.render(runs))
    first, second = trace.processes
    assert (first, second) == ("rank 0: train.py --name <b>", "rank 1: train.py --name <b>")
    assert trace.processes[first] == 7 != trace.processes[second]
    starts = [trace.tracks[name, "device to host"][0]["ts"] for name in (first, second)]
    assert starts[1] - starts[0] == 1_500_000
    assert trace.other["events"] == 168


def test_threads_have_tracks_of_their_own() -> None:
    run = training.run("train.py")
    sites = (*run.sites[:2], dataclasses.replace(run.sites[2], thread="loader"), *run.sites[3:])
    names = {name for _, name in read(perfetto.render([dataclasses.replace(run, sites=sites)])).tracks}
    assert {"device to host · MainThread", "device to host · loader"} <= names


def _kineto(rows: list[dict[str, Any]]) -> str:
    return json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1_767_323_000_000_000_000, "traceEvents": rows})


def _profiled(trace: str) -> Run:
    return dataclasses.replace(training.run("train.py"), profiles=(Profile(1, 3, 1, 1, 1, True, trace=trace),))


def test_a_profile_adds_the_host_s_operators_and_the_device(tmp_path: Path) -> None:
    """The process began at 03:04:05, 45 s after what the profile counts from."""
    at = 45e6 + 2_020_000

    def row(category: str, name: str, ts: float, dur: float, pid: int, tid: int, **args: object) -> dict[str, Any]:
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}

    rows = [
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "ts": 0, "args": {"name": "thread 7 (python)"}},
        row("cpu_op", "aten::copy_", at, 50, 7, 7),
        row("cpu_op", "aten::inner", at + 40, 10.0004, 7, 7),  # which ends after what it lies in, by rounding
        row("cuda_runtime", "cudaMemcpyAsync", at + 5, 20, 7, 7, correlation=3),
        row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 30, 4, 0, 9, correlation=3),
        row("kernel", "gemm", at + 40, 4, 0, 9, correlation=4),
        row("python_function", "not shown", at, 4, 7, 7),
        {"ph": "s", "id": 1, "pid": 7, "tid": 7, "ts": 1, "cat": "fwdbwd", "name": "fwdbwd"},
    ]
    (tmp_path / "profile-0-7.json").write_text(_kineto(rows))
    run = dataclasses.replace(_profiled("profile-0-7.json"), links=())
    trace = read(perfetto.render([run], tmp_path))
    host = trace.tracks["train.py --name <b>", "host operators · python 7"]
    assert [one["name"] for one in host] == ["aten::copy_", "cudaMemcpyAsync", "aten::inner"]
    assert host[0]["ts"] == training.BEGAN / 1000 + 20_000
    device = trace.tracks["device 0, train.py --name <b>", "stream 9"]
    assert [one["cat"] for one in device] == ["gpu_memcpy", "kernel"]
    assert [(call["name"], work["name"][:6]) for call, work in trace.flows] == [("cudaMemcpyAsync", "Memcpy")]
    assert "left_out" not in trace.other


def test_a_profile_that_cannot_be_read_is_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text('{"traceEvents": [')
    (tmp_path / "odd.json").write_text(_kineto([{"ph": "X", "cat": "cpu_op", "name": "no time"}]))
    told = {
        name: read(perfetto.render([_profiled(name)], tmp_path)).other["left_out"]
        for name in ("cut.json", "odd.json", "gone.json")
    }
    assert told == {
        "cut.json": ["cut.json: not a trace of torch.profiler"],
        "odd.json": ["odd.json: not a trace of torch.profiler"],
        "gone.json": ["gone.json: no such file or directory"],
    }
    assert perfetto.render([_profiled("gone.json")]) == perfetto.render([training.run("train.py")])


_SLICES = st.lists(st.builds(lambda at, length: Slice("x", "h2d", at, length), st.integers(0, 500), st.integers(0, 90)))


@given(_SLICES)
def test_lanes_are_as_few_as_will_do(slices: list[Slice]) -> None:
    found = lanes(slices)
    assert sorted(one.start for lane in found for one in lane) == sorted(one.start for one in slices)
    for lane in found:
        for one, after in itertools.pairwise(lane):
            assert one.start + one.length < after.start
    deepest = max(
        (sum(one.start <= at.start < one.start + max(one.length, 1) + APART for one in slices) for at in slices),
        default=0,
    )
    assert len(found) == deepest


@given(_SLICES, _SLICES)
def test_pairs_join_each_with_the_last_before(first: list[Slice], second: list[Slice]) -> None:
    found = {back: left for left, back in pairs(first, second)}
    for one in second:
        before = [other.start for other in first if other.start < one.start]
        assert (found[one].start if one in found else None) == max(before, default=None)
