"""Traces of torch.profiler: what is read of them, where calls are placed, and what is judged by it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tracing import PROCESS, Kineto

from runtime_check.findings import FoundFinding
from runtime_check.records import UNPLACED, Run
from runtime_check.traces import kineto
from runtime_check.traces.calls import Call, Trace, TraceError
from runtime_check.traces.ordering import in_order
from runtime_check.traces.placing import Placed, Placing
from runtime_check.traces.running import run_of
from runtime_check.traces.sources import Place, Sources, functions
from runtime_check.verdicts import Verdict, VerdictKind, judge
from transferlint.model import Site

REAL = Path(__file__).parents[1] / "data" / "traces"
PROGRAM = """\
import torch


def step(model, x):
    loss = model(x)
    first = loss.item()
    second = loss.item()
    return first + second


@torch.no_grad()
def choose(x, flags):
    for flag in flags:
        flag.item()
    if x.any():
        return float(x)
    values = [one.tolist() for one in flags]
    return x.cpu()


class Layer:
    def forward(self, x):
        return x.cpu()


def either(x, flag):
    if flag:
        return x.item()
    return x.item()


def train(model, loader, device):
    model.to(device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        if y is None:
            continue
        profiler.step()
        y.cpu()
        x.cpu()
"""


def brief(calls: tuple[Call, ...]) -> list[tuple[object, ...]]:
    return [(one.direction.value, one.operation, one.bytes, one.blocked, one.sync, one.pinned) for one in calls]


def test_a_copy_and_the_wait_that_belongs_to_it_are_one(tmp_path: Path) -> None:
    trace = Kineto(stacks=False)
    trace.item()
    with trace.op("aten::to", "aten::_to_copy", "aten::copy_"):
        trace.copy("HtoD (Pageable -> Device)", 400, 10.0)
        trace.call("cudaStreamSynchronize", 5.0)
    with trace.op("aten::copy_"):
        trace.copy("HtoD (Pinned -> Device)", 4000, 4.0)
    with trace.op("aten::copy_"):
        trace.copy("HtoD (Pageable -> Device)", 40, 4.0)
    with trace.op("aten::copy_"):
        trace.copy("DtoD (Device -> Device)", 40, 4.0)
    trace.call("cudaStreamWaitEvent", 2.0)  # of a stream, not of the host
    trace.call("cudaEventSynchronize", 7.0)
    with trace.op("aten::nonzero"):
        trace.call("cudaLaunchKernel", 2.0)
        trace.call("cudaStreamSynchronize", 9.0)
        trace.call("cudaStreamSynchronize", 1.0)
    read = kineto.read(trace.write(tmp_path / "a.json"))
    assert brief(read.calls) == [
        ("d2h", "aten::_local_scalar_dense", 4, 23_000, True, False),
        ("h2d", "aten::copy_", 400, 15_000, True, False),
        ("h2d", "aten::copy_", 4000, 4_000, False, True),
        ("h2d", "aten::copy_", 40, 4_000, False, False),
        ("none", "cudaEventSynchronize", 0, 7_000, True, None),
        ("none", "aten::nonzero", 0, 10_000, True, None),
    ]
    assert (read.device, read.stacks, read.rank) == ("NVIDIA A100-SXM4-80GB", False, 0)
    assert [one.waiting for one in read.calls] == [3_000, 5_000, 0, 0, 7_000, 10_000]


def test_the_names_of_rocm_and_of_the_driver(tmp_path: Path) -> None:
    trace = Kineto("AMD Instinct MI250X", stacks=False)
    with trace.op("aten::copy_"):
        trace.copy("HtoD (Host -> Device)", -1, 30.0, "hipMemcpyWithStream", size="2560", kind="1")
    with trace.op("aten::_local_scalar_dense"):
        trace.copy("DtoH (Device -> Host)", -1, 30.0, "hipMemcpyAsync", size="4", kind="2")
        trace.call("hipStreamSynchronize", 2.0)
    trace.call("hipDeviceSynchronize", 4.0)
    trace.call("cuStreamSynchronize", 5.0)
    trace.call("cuMemcpyDtoHAsync", 5.0)  # of which the device said nothing
    with trace.op("aten::relu"):
        pass
    read = kineto.read(trace.write(tmp_path / "a.json"))
    assert brief(read.calls) == [
        ("h2d", "aten::copy_", 2560, 30_000, True, None),
        ("d2h", "aten::_local_scalar_dense", 4, 32_000, True, None),
        ("none", "hipDeviceSynchronize", 0, 4_000, True, None),
        ("none", "cuStreamSynchronize", 0, 5_000, True, None),
    ]
    assert read.notes == (
        f"{tmp_path / 'a.json'}: 1 copies are left out: what the device did of them is not in the trace",
    )


def test_the_wait_with_which_the_profiler_ends_is_not_the_programs(tmp_path: Path) -> None:
    trace = Kineto()
    with trace.python("train.py(3): step"), trace.builtin("synchronize", "module"):
        trace.call("cudaDeviceSynchronize", 5.0)
    assert len(kineto.read(trace.write(tmp_path / "a.json")).calls) == 1
    trace.now += 10
    trace.call("cudaDeviceSynchronize", 5.0)
    assert len(kineto.read(trace.write(tmp_path / "b.json")).calls) == 1


def test_traces_of_an_a100_and_an_mi250_are_read(tmp_path: Path) -> None:
    nvidia = kineto.read(REAL / "a100_event_sync.json.gz")
    assert (nvidia.device, nvidia.stacks, [name for name, _, _ in nvidia.steps]) == (
        "NVIDIA A100-PG509-200", False, ["ProfilerStep#100"]
    )  # fmt: skip
    assert brief(nvidia.calls) == [
        ("d2h", "aten::_local_scalar_dense", 1, 35_000, True, False),
        ("none", "cudaEventSynchronize", 0, 34_000, True, None),
        ("none", "cudaDeviceSynchronize", 0, 8_000, True, None),
    ]
    assert [one.name for one in nvidia.calls[0].around] == [
        "aten::is_nonzero", "aten::item", "aten::_local_scalar_dense"
    ]  # fmt: skip
    amd = kineto.read(REAL / "mi250_minitoy_train.json.gz")
    assert brief(amd.calls) == [
        ("h2d", "aten::copy_", 2560, 60_204, True, None),
        ("h2d", "aten::copy_", 2560, 35_568, True, None),
    ]
    assert len(amd.steps) == 2


def test_a_file_is_read_three_times_and_nothing_is_kept_that_has_to_do_with_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Kineto()
    with trace.python("train.py(4): step"):
        for _ in range(200):
            with trace.builtin("relu"), trace.op("aten::relu"):
                trace.call("cudaLaunchKernel", 1.0)
        trace.item()
    path = trace.write(tmp_path / "a.json.gz")
    seen = []
    real = kineto.events

    def counting(name: Path) -> Iterator[dict[str, Any]]:
        for event in real(name):
            seen.append(event["name"])
            yield event

    monkeypatch.setattr(kineto, "events", counting)
    kept: list[int] = []
    assemble = kineto.assemble
    monkeypatch.setattr(
        kineto,
        "assemble",
        lambda drivers, copies, around: (
            kept.append(sum(map(len, around.values()))),
            assemble(drivers, copies, around),
        )[1],
    )
    kineto.read(path, lambda name: True)
    assert len(seen) == 3 * len(trace.events)
    assert kept == [3]  # the function, `aten::item` and what is within it


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("cut.json.gz", lambda data: gzip.compress(data)[:200], "is cut off or damaged"),
        ("cut.json", lambda data: data[:-300], "is cut off or damaged"),
        ("odd.json", lambda data: b'{"traceEvents": [nonsense]}', "is cut off or damaged"),
        ("other.json", lambda data: b'{"findings": []}', "not a trace of torch.profiler: it has no `traceEvents`"),
        ("cpu.json", lambda data: b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 1}]}',
         "has no events of a GPU"),
    ],
)  # fmt: skip
def test_what_is_no_whole_trace_is_refused_in_one_line(
    tmp_path: Path, name: str, data: Callable[[bytes], bytes], why: str
) -> None:
    trace = Kineto()
    for _ in range(5):
        trace.item()
    whole = trace.write(tmp_path / "whole.json").read_bytes()
    path = tmp_path / name
    path.write_bytes(data(whole))
    with pytest.raises(TraceError) as caught:
        kineto.read(path)
    assert str(caught.value).startswith(f"{path}: {why}")
    assert "\n" not in str(caught.value)


# Places


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "here" / "src"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM)
    return folder / "train.py"


def placed(trace: Kineto, program: Path) -> tuple[list[Placed], Placing, Sources, Trace]:
    sources = Sources([program.parent])
    read = kineto.read(trace.write(program.parents[2] / "t.json"), lambda name: sources.function(name) is not None)
    placing = Placing(read, sources)
    return list(placing.placed()), placing, sources, read


def lines(found: list[Placed]) -> list[tuple[str, int, int, tuple[int, ...]]]:
    return [
        (Path(one.frames[0].path).name, one.frames[0].line, one.frames[0].column, tuple(m.line for m in one.maybe))
        for one in found
    ]


def test_as_many_calls_as_expressions_are_told_apart_by_their_order(program: Path) -> None:
    trace = Kineto()
    for _ in range(3):
        with trace.python("src/train.py(4): step"):
            with trace.builtin("item"):
                trace.item()
            with trace.builtin("item"):
                trace.item()
    found, placing, _, _ = placed(trace, program)
    assert lines(found) == [("train.py", 6, 13, ()), ("train.py", 7, 14, ())] * 3
    assert {(site.line, site.column) for _, site in placing.evaluated()} == {(6, 13), (7, 14)}


def test_one_of_two_that_ran_is_not_told_apart(program: Path) -> None:
    trace = Kineto()
    with trace.python("train.py(26): either"), trace.builtin("item"):
        trace.item()
    found, placing, _, _ = placed(trace, program)
    assert lines(found) == [("train.py", 26, 0, (28, 29))]
    assert list(placing.evaluated()) == []


def turns(trace: Kineto, count: int, *names: str) -> None:
    """Calls in turns: reads by `cpu`, uploads by `to`."""
    for _ in range(count):
        for name in names:
            with trace.builtin(name), trace.op("aten::to", "aten::copy_"):
                trace.read()


def test_the_turns_of_a_loop_are_told_apart_by_their_order(program: Path) -> None:
    trace = Kineto()
    with trace.python("train.py(32): train"):
        with trace.python("torch/nn/modules/module.py(1160): to"), trace.op("aten::to", "aten::copy_"):
            trace.read()
        turns(trace, 3, "to", "to", "cpu", "cpu")
    found, _, _, _ = placed(trace, program)
    assert [one[1:3] for one in lines(found)] == [(33, 5), *[(35, 16), (35, 30), (39, 9), (40, 9)] * 3]


def test_a_function_that_ran_when_the_trace_began_is_taken_from_where_it_was(program: Path) -> None:
    """The profiler starts in its own step, which is where the function is then: half of a turn comes first."""
    trace = Kineto()
    with trace.python("train.py(38): train"):
        turns(trace, 1, "cpu", "cpu")
        turns(trace, 2, "to", "to", "cpu", "cpu")
    found, _, _, _ = placed(trace, program)
    wanted = [(39, 9), (40, 9), *[(35, 16), (35, 30), (39, 9), (40, 9)] * 2]
    assert [one[1:3] for one in lines(found)] == wanted


def place(line: int, stretch: tuple[int, int, int] | None) -> Place:
    return Place(Site("x.py", line, 1, line, 9), stretch != (0, 0, 0), stretch)


BODY = (5, 20, 0)


@pytest.mark.parametrize(
    ("lines_of", "times", "at", "wanted"),
    [
        ([(2, (0, 0, 0)), (3, (0, 0, 0))], 1, 0, [2]),  # straight code that was left early
        ([(2, (0, 0, 0)), (3, (0, 0, 0))], 3, 0, None),  # more calls than expressions
        ([(2, (0, 0, 0)), (6, BODY), (7, BODY)], 5, 0, [2, 6, 7, 6, 7]),
        ([(6, BODY), (7, BODY)], 3, 6, None),  # on the line itself: before or after is not known
        ([(6, BODY), (8, BODY)], 3, 7, [8, 6, 8]),
        ([(2, (0, 0, 0)), (6, BODY)], 2, 3, [6, 6]),
        ([(6, BODY), (7, BODY)], 2, 30, None),
        ([(6, BODY), (7, (5, 20, 1))], 4, 0, None),  # a turn may end between them
        ([(6, BODY), (7, None)], 4, 0, None),  # conditional
        ([(6, BODY), (25, (0, 0, 0))], 4, 0, None),  # behind the loop: how often it turned is not known
        ([(6, BODY), (26, (24, 28, 0))], 4, 0, None),  # two loops
    ],
)
def test_what_order_proves(
    lines_of: list[tuple[int, tuple[int, int, int] | None]], times: int, at: int, wanted: list[int] | None
) -> None:
    found = in_order([place(line, stretch) for line, stretch in lines_of], times, at)
    assert (None if found is None else [one.site.line for one in found]) == wanted


def test_what_may_end_a_turn_half_way_parts_a_loops_body(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "def f(xs):\n"
        "    for x in g(xs):\n"
        "        g(1)\n"
        "        if x:\n"
        "            continue\n"
        "        with g(2):\n"
        "            g(3) if x else g(4)\n"
        "        try:\n"
        "            g(5)\n"
        "        finally:\n"
        "            pass\n"
        "    while g(6):\n"
        "        [g(7) for _ in xs]\n"
    )
    f = next(one for one in functions(str(path)) if one.name == "f")
    assert [(place.site.line, place.stretch) for place in f.calls["g"]] == [
        (2, (0, 0, 0)), (3, (2, 11, 0)), (6, (2, 11, 1)), (7, None), (7, None), (9, None), (12, None), (13, None)
    ]  # fmt: skip


def test_what_syntax_asks_for_is_found_by_the_operator(program: Path) -> None:
    trace = Kineto()
    with trace.python("train.py(11): choose"):
        for _ in range(2):  # in a loop: as many calls as it turns
            with trace.builtin("item"):
                trace.item()
        trace.item("aten::is_nonzero")
        trace.item()  # `float(x)`
        with trace.python("train.py(17): <listcomp>"), trace.builtin("tolist"), trace.op("aten::to", "aten::copy_"):
            trace.read()
        with trace.builtin("cpu"), trace.op("aten::to", "aten::copy_"):
            trace.read()
    found, _, _, _ = placed(trace, program)
    assert lines(found) == [
        ("train.py", 14, 9, ()), ("train.py", 14, 9, ()), ("train.py", 15, 8, ()), ("train.py", 16, 16, ()),
        ("train.py", 17, 15, ()), ("train.py", 18, 12, ()),
    ]  # fmt: skip


def test_a_library_below_a_line_is_named_and_torchs_own_functions_are_inside(program: Path) -> None:
    trace = Kineto()
    with (
        trace.python("train.py(4): step"),
        trace.python("nn.Module: Model_0"),
        trace.python("torch/nn/modules/module.py(1782): _call_impl"),
        trace.python("/opt/lib/python3.11/site-packages/models/bert.py(20): forward"),
        trace.python("torch/distributions/distribution.py(52): __init__"),
    ):
        trace.item()
    (found,), _, _, _ = placed(trace, program)
    assert [(one.path, one.line) for one in found.frames] == [
        ("/opt/lib/python3.11/site-packages/models/bert.py", 20),
        ("torch/nn/modules/module.py", 1782),
        (str(program), 4),
    ]
    assert found.user == 2
    assert [site.line for site in found.maybe] == [4]  # the module is called by another name than its class's
    assert [(one.path, one.line, one.function) for one in found.inside] == [
        ("torch/distributions/distribution.py", 52, "__init__")
    ]


def test_a_backward_pass_in_a_thread_of_its_own_is_its_callers(program: Path) -> None:
    trace = Kineto()
    with (
        trace.python("train.py(4): step"),
        trace.python("torch/_tensor.py(566): backward"),
        trace.builtin("run_backward", "torch._C._EngineBase"),
        trace.on(PROCESS + 5),
        trace.op("autograd::engine::evaluate_function: MaskedSelectBackward0", "MaskedSelectBackward0"),
    ):
        trace.item()
    (found,), _, _, _ = placed(trace, program)
    assert (found.call.borrowed, found.call.backward, found.inside) == (True, "MaskedSelectBackward0", ())
    assert (found.frames[found.user].path, found.frames[found.user].line) == (str(program), 4)


@pytest.mark.parametrize(
    "nodes",
    [
        ("autograd::engine::evaluate_function: CheckpointFunctionBackward", "CheckpointFunctionBackward"),
        ("autograd::engine::evaluate_function: MulBackward0",),  # before or behind the node's own work: a hook
    ],
)
def test_python_code_in_a_backward_pass_has_no_place_there(program: Path, nodes: tuple[str, ...]) -> None:
    trace = Kineto()
    with (
        trace.python("train.py(4): step"),
        trace.builtin("run_backward", "torch._C._EngineBase"),
        trace.on(PROCESS + 5),
        trace.op(*nodes),
    ):
        trace.item()
    (found,), _, _, _ = placed(trace, program)
    assert (found.user, found.call.borrowed) == (-1, False)


def test_a_thread_without_stacks_has_no_place(program: Path) -> None:
    trace = Kineto()
    with trace.python("train.py(4): step"), trace.on(PROCESS + 5):
        trace.item()
    (found,), _, _, _ = placed(trace, program)
    assert found.user == -1


def test_files_are_matched_by_the_end_of_their_paths(tmp_path: Path) -> None:
    for name in ("a/src/train.py", "b/src/train.py", "b/src/other.py", "c/util.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PROGRAM)
    (tmp_path / "b/src/other.py").write_text("x = 1\n")
    sources = Sources([tmp_path])

    def of(name: str) -> str | None:
        found = sources.function(name)
        return None if found is None else str(Path(found.path).relative_to(tmp_path.resolve()))

    assert of("/home/her/b/src/train.py(4): step") == "b/src/train.py"
    assert of("/home/her/src/train.py(4): step") is None
    assert of("c/util.py(4): step") == "c/util.py"
    assert of("elsewhere/util.py(4): step") is None  # below an import path: all of it has to fit
    assert of("/elsewhere/util.py(4): step") == "c/util.py"
    assert of("/x/site-packages/util.py(4): step") is None
    assert of("/x/util.py(4): other") is None
    assert of("src/other.py(7): missing") is None
    assert of("<built-in method item of Tensor object at 0x7f>") is None
    assert sorted(sources.doubtful) == ["/home/her/src/train.py", "/x/util.py", "src/other.py"]
    assert "may be any of" in sources.doubtful["/home/her/src/train.py"]
    assert "another version" in sources.doubtful["src/other.py"]


def test_the_expressions_of_a_function_come_in_the_order_of_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "def f(x, y=g(1)):\n"
        "    x[g(3)] = g(2)\n"
        "    h = lambda: g(9)\n"
        "    def inner(z=g(4)):\n"
        "        return g(9)\n"
        "    class C(g(5)):\n"
        "        w = g(9)\n"
        "    if x is None or not y:\n"
        "        return g(g(6))\n"
    )
    f = next(one for one in functions(str(path)) if one.name == "f")
    assert [place.site.line for place in f.calls["g"]] == [2, 2, 4, 6, 9, 9]
    assert [place.site.column for place in f.calls["g"]] == [15, 7, 17, 13, 18, 16]
    assert [place.site.column for place in f.kinds["truth"]] == [25]


# Verdicts


def finding(program: Path, code: str, line: int, column: int, end: int) -> FoundFinding:
    site = Site(str(program.resolve()), line, column, line, end)
    return FoundFinding(code, "name", site, "train.py", "a message", hot=True)


def judged(trace: Kineto, program: Path, *findings: FoundFinding) -> tuple[list[Verdict], Run]:
    sources = Sources([program.parent])
    read = kineto.read(trace.write(program.parents[2] / "t.json"), lambda name: sources.function(name) is not None)
    run = run_of(read, 0, findings, sources)
    verdicts = judge(findings, run, root=str(program.parent)).verdicts
    return [next(one for one in verdicts if one.finding == finding) for finding in findings], run


def test_each_verdict_that_a_trace_with_stacks_allows(program: Path) -> None:
    trace = Kineto()
    for number in range(3):
        with trace.step(number), trace.python("train.py(4): step"):
            with trace.builtin("item"):
                trace.item()
            with trace.builtin("item"), trace.op("aten::item", "aten::_local_scalar_dense"):
                pass  # of a tensor that is on the host
    crossed, quiet = finding(program, "TL101", 6, 13, 24), finding(program, "TL101", 7, 14, 25)
    unseen = finding(program, "TL102", 18, 12, 19)
    (confirmed, refuted, not_reached), run = judged(trace, program, crossed, quiet, unseen)
    assert (confirmed.kind, confirmed.count, confirmed.blocked_ns) == (VerdictKind.CONFIRMED, 3, 69_000)
    assert confirmed.text.startswith("3 times (1 a step), d2h, 12 B: blocked the host for 69.0 µs")
    assert (refuted.kind, refuted.text) == (VerdictKind.REFUTED, "the trace shows that it ran without a transfer")
    assert (not_reached.kind, not_reached.text) == (VerdictKind.NOT_REACHED, "the trace does not show that it ran")
    assert (run.header.time_source, run.outcome and run.outcome.steps) == ("measured", 3)


def test_one_of_several_places_is_partly_borne_out(program: Path) -> None:
    trace = Kineto()
    with trace.python("train.py(26): either"), trace.builtin("item"):
        trace.item()
    (first, second), _ = judged(
        trace, program, finding(program, "TL101", 28, 16, 24), finding(program, "TL101", 29, 12, 20)
    )
    assert {first.kind, second.kind} == {VerdictKind.PARTLY}
    assert first.text.endswith("train.py:28, 29 in either, which the trace does not tell apart")


def test_a_trace_without_stacks_confirms_nothing_and_refutes_nothing(program: Path) -> None:
    trace = Kineto(stacks=False)
    trace.item()
    read, upload = finding(program, "TL101", 6, 13, 24), finding(program, "TL401", 7, 14, 25)
    (partly, not_reached), run = judged(trace, program, read, upload)
    assert partly.kind is VerdictKind.PARTLY
    assert partly.text.endswith("by operator, without stacks: may be another call site")
    assert partly.count == 0  # whose it is is not known
    assert not_reached.kind is VerdictKind.NOT_REACHED
    assert run.sites[0].site.path == f"{UNPLACED}aten::item > aten::_local_scalar_dense"
    assert any("no Python stacks" in note for note in run.header.notes)


@pytest.mark.parametrize(
    ("memory", "code", "kind"),
    [
        ("Pageable", "TL404", VerdictKind.CONFIRMED),
        ("Pinned", "TL404", VerdictKind.PARTLY),
        ("Host", "TL404", VerdictKind.PARTLY),
        ("Pageable", "TL403", VerdictKind.CONFIRMED),
        ("Host", "TL403", VerdictKind.PARTLY),
    ],
)
def test_memory_of_which_nothing_is_told_proves_nothing(
    program: Path, memory: str, code: str, kind: VerdictKind
) -> None:
    trace = Kineto()
    with trace.python("train.py(22): forward"), trace.builtin("cpu"), trace.op("aten::to", "aten::copy_"):
        trace.copy(f"HtoD ({memory} -> Device)", 1 << 20, 5.0)
    (verdict,), _ = judged(trace, program, finding(program, code, 23, 16, 23))
    assert verdict.kind is kind


def test_steps_and_the_share_of_the_run_are_measured(program: Path) -> None:
    trace = Kineto()
    for number in range(4):
        with (
            trace.step(number),
            trace.python("train.py(22): forward"),
            trace.builtin("cpu"),
            trace.op("aten::copy_"),
        ):
            trace.read(took=40.0 if number == 2 else 20.0)
    sources = Sources([program.parent])
    read = kineto.read(trace.write(program.parents[2] / "t.json"))
    run = run_of(read, 0, (), sources)
    judgement = judge((), run, root=str(program.parent))
    assert judgement.blocked_ns == 4 * 23_000 + 20_000
    assert judgement.share == pytest.approx(judgement.blocked_ns / read.duration)
    (note,) = run.header.notes
    assert (
        note
        == "t.json: 4 steps of 31.0 µs (median), of which 23.0 µs waiting; the slowest, ProfilerStep#2, took 51.0 µs"
    )


def test_the_facts_that_reading_rests_on_hold_in_a_trace_of_torchs_own(tmp_path: Path) -> None:
    """A function is called by its first line, what it calls names its Python id, and operators are of its thread."""
    import torch

    namespace: dict[str, Any] = {}
    source = "def step(x):\n    y = x + 1\n    return y.item()\n"
    exec(compile(source, str(tmp_path / "train.py"), "exec"), namespace)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as profile:
        namespace["step"](torch.ones(()))
    path = tmp_path / "trace.json"
    profile.export_chrome_trace(str(path))
    events = list(kineto.events(path))
    own = next(one for one in events if one["name"].endswith("train.py(1): step"))
    item = next(one for one in events if one["name"].startswith("<built-in method item of Tensor object"))
    read = next(one for one in events if one["name"] == "aten::_local_scalar_dense")
    assert item["args"]["Python parent id"] == own["args"]["Python id"]
    assert kineto.thread_of(read) == kineto.thread_of(item) == kineto.thread_of(own)
    assert item["ts"] <= read["ts"] <= read["ts"] + read["dur"] <= item["ts"] + item["dur"]
    assert kineto.callee(item["name"]) == "item"
    assert json.loads(path.read_text())["with_stack"] == 1
