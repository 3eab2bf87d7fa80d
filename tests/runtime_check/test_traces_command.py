"""`transferlint verify --trace`: what it takes, prints, writes and ends with; and exports of nsys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tracing import Kineto, nsys

from runtime_check.cli import REPORT, VERIFY
from runtime_check.traces import nsys as exports
from runtime_check.traces.calls import TraceError

PROGRAM = """\
def step(model, x):
    loss = model(x)
    total = loss.item()
    if loss.isnan():
        return 0.0
    return total
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two findings, which are in a file, and the current folder in it."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "train.py").write_text(PROGRAM)
    found: list[dict[str, Any]] = [
        {"path": "train.py", "line": 3, "column": 13, "end_line": 3, "end_column": 24, "code": "TL101", "name": "read",
         "message": "`loss.item()` makes the host wait"},
        {"path": "train.py", "line": 4, "column": 8, "end_line": 4, "end_column": 20, "code": "TL301", "name": "truth",
         "message": "the truth of `loss.isnan()` makes the host wait"},
    ]  # fmt: skip
    (folder / "findings.json").write_text(json.dumps({"findings": found, "errors": [], "summary": {"files": 1}}))
    monkeypatch.chdir(folder)
    return folder


def traced(path: Path, rank: int = 0, steps: int = 3, stacks: bool = True) -> Path:
    trace = Kineto(stacks=stacks)
    trace.head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}
    for number in range(steps):
        with trace.step(number), trace.python("/home/her/project/train.py(1): step"):
            with trace.builtin("item"):
                trace.item()
            trace.item("aten::is_nonzero")
    return trace.write(path)


def ran(*words: str) -> Result:
    return CliRunner().invoke(VERIFY, ["--trace", "--findings", "findings.json", *words], standalone_mode=False)


def test_findings_get_measured_times_of_all_ranks(project: Path) -> None:
    traced(project / "rank0.json.gz")
    traced(project / "rank3.json", rank=3)
    made = ran("rank0.json.gz", "rank3.json", "--html")
    assert made.return_value == 0, made.stderr
    assert made.stderr.startswith(
        "transferlint verify: rank0.json.gz rank3.json on NVIDIA A100-SXM4-80GB (a trace of it) · 2 ranks · 3 steps in"
    )
    assert "confirmed   train.py:3:13 TL101" in made.stderr
    assert "seen: 6 times (1 a step), d2h, 24 B: blocked the host for 138 µs" in made.stderr
    assert "(measured)" in made.stderr
    report = json.loads((project / "transferlint-run" / "report.json").read_text())
    assert [one["verdict"] for one in report["verdicts"]] == ["confirmed", "confirmed"]
    assert [one["blocked_ns"] for one in report["verdicts"]] == [138_000, 138_000]
    assert (report["time_source"], report["header"]["rank"], report["header"]["ranks"]) == ("measured", 0, 2)
    assert "NVIDIA A100-SXM4-80GB" in (project / "transferlint-run" / "report.html").read_text()


def test_a_report_of_the_folder_says_the_same_again(project: Path) -> None:
    traced(project / "a.json")
    first = ran("a.json").stderr
    again = CliRunner().invoke(REPORT, ["transferlint-run"], standalone_mode=False)
    assert again.output == first


def test_traces_without_stacks_say_so(project: Path) -> None:
    traced(project / "a.json", stacks=False)
    said = ran("a.json").stderr
    assert "partly      train.py:3:13 TL101" in said
    assert "by operator, without stacks: may be another call site" in said
    assert "a.json has no Python stacks: nothing in it has a line, and nothing is refuted by it" in said
    assert "unplaced    by operator: aten::is_nonzero > aten::_local_scalar_dense: 3 times" in said
    assert "refuted" not in said.rsplit("\n", 2)[-2]


def test_a_file_that_cannot_be_used_costs_the_others_nothing(project: Path) -> None:
    traced(project / "a.json")
    (project / "empty.json").write_text("")
    (project / "words.txt").write_text("words")
    (project / "b.nsys-rep").write_bytes(b"something")
    made = ran("empty.json", "a.json", "words.txt", "gone.json", "b.nsys-rep")
    assert made.return_value == 0
    problems = [line for line in made.stderr.splitlines() if line.startswith("problem: ")]
    assert problems == [
        "problem: empty.json: is empty",
        "problem: words.txt: is neither a trace of torch.profiler (JSON) nor a SQLite export of nsys",
        "problem: gone.json: cannot be read: no such file or directory",
        "problem: b.nsys-rep: export it first: `nsys export --type sqlite b.nsys-rep`",
    ]
    assert "2 confirmed" in made.stderr


def test_where_no_file_can_be_used_each_has_a_line(project: Path) -> None:
    (project / "empty.json").write_text("")
    made = ran("empty.json", "gone.json")
    assert made.return_value == 2
    assert made.stderr.splitlines() == [
        "transferlint: empty.json: is empty",
        "transferlint: gone.json: cannot be read: no such file or directory",
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--fail-on", "confirmed"), 1),
        (("--fail-on", "refuted"), 0),
        (("--max-blocked", "1us"), 1),
        (("--max-blocked", "1s"), 0),
        (("--max-per-step", "d2h=2"), 0),
        (("--max-per-step", "d2h=1"), 1),
    ],
)
def test_budgets_hold_for_traces(project: Path, words: tuple[str, ...], code: int) -> None:
    traced(project / "a.json")
    assert ran("a.json", *words).return_value == code


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--level", "guard"), "--trace runs nothing and takes no --level"),
        (("--device-model", "a100"), "--trace runs nothing and takes no --device-model"),
        (("--steps", "1:2"), "--trace runs nothing and takes no --steps"),
        (("--fixed",), "--trace runs nothing and takes no --fixed"),
        (("-m",), "--trace runs nothing and takes no -m"),
    ],
)
def test_what_says_how_to_run_is_refused(project: Path, words: tuple[str, ...], why: str) -> None:
    made = CliRunner().invoke(VERIFY, ["--trace", "a.json", *words])
    assert made.exit_code == 2
    assert why in made.output


def test_a_trace_has_to_be_named(project: Path) -> None:
    made = ran("train.py")
    assert made.return_value == 2
    assert made.stderr == "transferlint: --trace: name a trace: transferlint verify --trace FILE... [PATH...]\n"


def test_the_project_is_checked_where_no_findings_are_given(project: Path) -> None:
    (project / "train.py").write_text("import torch\n\n\n" + PROGRAM.replace("step(model", "training_step(model"))
    other = project / "other"
    other.mkdir()
    (other / "more.py").write_text("import torch\n\n\ndef training_step(model, x):\n    return model(x).item()\n")
    trace = Kineto()
    with trace.python("other/more.py(4): training_step"), trace.builtin("item"):
        trace.item()
    trace.write(project / "a.json")
    runner = CliRunner()
    whole = runner.invoke(VERIFY, ["--trace", "a.json"], standalone_mode=False)
    assert whole.return_value == 0
    assert "train.py:6" in whole.stderr
    assert "other/more.py:5" in whole.stderr
    part = runner.invoke(VERIFY, ["--trace", "a.json", "other"], standalone_mode=False)
    assert "train.py:6" not in part.stderr
    assert "other/more.py:5" in part.stderr


# Exports of nsys

THREAD = (7 << 24) + 9  # serialized ids: 24 bits of process, 24 of thread
NAMES = {
    1: "cudaMemcpyAsync_v3020", 2: "cudaStreamSynchronize_v3020", 3: "cudaLaunchKernel_v7000", 4: "cuMemcpyHtoD_v2",
    5: "aten::_local_scalar_dense, op_id = 512", 6: "cudaDeviceSynchronize_v3020",
}  # fmt: skip


def exported(path: Path, **more: list[tuple[Any, ...]]) -> Path:
    runtime = [
        (100, 120, 0, THREAD, 1, 1, 0, None), (121, 125, 0, THREAD, 2, 2, 0, None),
        (200, 204, 0, THREAD, 3, 3, 0, None), (300, 330, 0, THREAD, 4, 4, 0, None),
        (400, 410, 0, THREAD, 5, 1, 0, None), (500, 590, 0, THREAD, 6, 6, 0, None),
    ]  # fmt: skip
    copies = [
        (110, 112, 0, 1, 7, 1, 7 << 24, 4, 2, None, 2, 0),
        (310, 320, 0, 1, 7, 4, 7 << 24, 4096, 1, None, 0, 2),
        (405, 406, 0, 1, 7, 5, 8 << 24, 64, 1, None, 1, 2),  # of another process
        (405, 406, 0, 1, 7, 5, 7 << 24, 128, 1, None, 1, 2),
    ]
    ranges = [
        (90, 450, 59, "step 1", THREAD, None, 0), (450, 600, 60, "step 2", THREAD, None, 0),
        (95, 130, 59, None, THREAD, 5, 0), (96, 97, 34, "a mark", THREAD, None, 0),
    ]  # fmt: skip
    tables: dict[str, list[tuple[Any, ...]]] = {
        "StringIds": list(NAMES.items()),
        "CUPTI_ACTIVITY_KIND_RUNTIME": runtime,
        "CUPTI_ACTIVITY_KIND_MEMCPY": copies,
        "NVTX_EVENTS": ranges,
        "TARGET_INFO_GPU": [(0, "NVIDIA A100-SXM4-80GB")],
    }
    return nsys(path, {**tables, **more})


def test_an_export_of_nsys_is_read(tmp_path: Path) -> None:
    trace = exports.read(exported(tmp_path / "a.sqlite"))
    assert [
        (one.direction.value, one.operation, one.bytes, one.blocked, one.sync, one.pinned) for one in trace.calls
    ] == [
        ("d2h", "aten::_local_scalar_dense", 4, 24, True, False),
        ("h2d", "cuMemcpyHtoD", 4096, 30, True, False),
        ("h2d", "cudaMemcpyAsync", 128, 10, False, True),
        ("none", "cudaDeviceSynchronize", 0, 90, True, None),
    ]
    assert (trace.device, trace.stacks, trace.duration) == ("NVIDIA A100-SXM4-80GB", False, 490)
    assert [name for name, _, _ in trace.steps] == ["step 1", "step 2"]


def test_findings_are_held_against_an_export_of_nsys(project: Path) -> None:
    exported(project / "a.sqlite")
    made = ran("a.sqlite")
    assert made.return_value == 0
    assert "a.sqlite on NVIDIA A100-SXM4-80GB (a trace of it) · 2 steps" in made.stderr
    assert "a.sqlite has no Python stacks" in made.stderr
    assert "unplaced    by operator: cuMemcpyHtoD: once (0.5 a step), h2d, 4.00 KiB" in made.stderr
    assert "partly      train.py:3:13 TL101" in made.stderr
    assert "by operator, without stacks: may be another call site" in made.stderr


def test_other_databases_are_refused_in_one_line(tmp_path: Path) -> None:
    whole = exported(tmp_path / "whole.sqlite").read_bytes()
    for name, made, why in (
        ("other", lambda path: nsys(path, {"TARGET_INFO_GPU": []}), "not one that `nsys export --type sqlite` wrote"),
        ("bare", lambda path: nsys(path, {"StringIds": []}), "has no calls of CUDA"),
        ("cut", lambda path: path.write_bytes(whole[: len(whole) // 3]), "is cut off or damaged"),
    ):
        path = tmp_path / f"{name}.sqlite"
        made(path)
        with pytest.raises(TraceError, match=why) as caught:
            exports.read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_reading_an_export_does_not_change_it(tmp_path: Path) -> None:
    path = exported(tmp_path / "a.sqlite")
    path.chmod(0o444)
    before = path.read_bytes()
    exports.read(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.sqlite"]
