"""The `profile` level: a window of steps, and what a trace says of the transfers in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from simulated import in_simulation

from runtime_check import phrases
from runtime_check.events import Event, Frame
from runtime_check.profiled import Row, Window, summary
from runtime_check.records import BusTime, Header, Profile, Run, read, write
from transferlint.model import Direction

US = 1000
FRAMES = (Frame("/program/train.py", 7, "main"),)
# As Kineto gives them: the operator, the driver's call and the copy on the device, which has the call's id.
ROWS = [
    Row("aten::copy_", False, 100 * US, 60 * US, 1),
    Row("cudaMemcpyAsync", False, 110 * US, 5 * US, 71),
    Row("Memcpy HtoD (Pageable -> Device)", True, 120 * US, 20 * US, 71),
    Row("aten::mm", False, 200 * US, 50 * US, 2),
    Row("cudaLaunchKernel", False, 210 * US, 5 * US, 72),
    Row("gemm", True, 230 * US, 100 * US, 72),
    Row("Memcpy DtoD (Device -> Device)", True, 320 * US, 20 * US, 73),
    Row("cudaMemcpyAsync", False, 900 * US, 5 * US, 74),
    Row("Memcpy DtoH (Device -> Pageable)", True, 910 * US, 30 * US, 74),
]


def event(started: int, blocked: int) -> Event:
    return Event(Direction.H2D, "aten::copy_", 4, started, blocked, True, FRAMES)


def test_a_copy_belongs_to_the_transfer_that_asked_for_it() -> None:
    found = summary(ROWS, [(105 * US, 50 * US, 3), (600 * US, 20 * US, 4)], True, 2, 5, "trace.json")
    assert found.copies == (BusTime(3, 1, 20 * US),)  # nobody was seen to ask for the second
    assert found.copied == 50 * US
    assert (found.operators, found.host) == (2, 110 * US)
    assert found.device == (20 + 110 + 30) * US  # what overlaps counts once
    assert (found.first, found.steps, found.duration, found.trace) == (2, 5, 840 * US, "trace.json")


def test_an_empty_trace_is_a_profile_too() -> None:
    found = summary([], [], False, 1, 0, "")
    assert (found.duration, found.operators, found.copies) == (0, 0, ())


class Fake:
    """A profiler that notes when it runs."""

    device = True

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.done: list[str] = []

    def start(self) -> None:
        if self.fails:
            raise RuntimeError(self.fails)
        self.done.append("start")

    def stop(self, path: str) -> list[Row]:
        self.done.append(path)
        return ROWS


def window(fake: Fake, first: int = 2, count: int = 3) -> Window:
    return Window(first, count, lambda: fake, lambda _: 3, "out/profile-0-1.json")


def test_the_window_is_of_steps_of_one_optimizer() -> None:
    fake = Fake()
    one = window(fake)
    one(event(105 * US, 50 * US))
    for _ in range(2):
        one.step("first")
        one.step("second")
    assert fake.done == ["start"]
    one(event(105 * US, 50 * US))
    for _ in range(9):
        one.step("first")
    assert fake.done == ["start", "out/profile-0-1.json"]
    assert one.problem == ""
    assert one.result is not None
    assert (one.result.first, one.result.steps, one.result.copies) == (2, 3, (BusTime(3, 1, 20 * US),))


def test_a_program_that_ends_within_the_window_is_profiled_so_far() -> None:
    one = window(Fake())
    for _ in range(3):
        one.step("first")
    one.end()
    assert one.result is not None
    assert one.result.steps == 1


def test_what_cannot_be_profiled_says_why() -> None:
    short = window(Fake())
    short.step("first")
    short.end()
    assert short.result is None
    assert short.problem == "nothing was profiled: the program made fewer than 2 steps"
    busy = window(Fake("Profiler is already enabled\non this thread"))
    for _ in range(9):
        busy.step("first")
    busy.end()
    assert busy.problem == "nothing was profiled: Profiler is already enabled on this thread"


def test_it_is_written_and_read_and_told(tmp_path: Path) -> None:
    profile = summary(ROWS, [(105 * US, 50 * US, 3)], True, 2, 5, "profile-0-1.json")
    header = Header(("train.py",), "", "a device", "", "2.13", "3.12", "profile", "measured")
    path = tmp_path / "0-1.jsonl"
    write(path, Run(header, profiles=(profile,)))
    assert read(path).profiles == (profile,)
    told = phrases.profiled(profile)
    assert told.startswith("profiled after step 2: 5 steps in 840 µs; the device was idle for 680 µs (81.0 %)")
    assert "copies took 50.0 µs (1 of the copies" in told
    simulated = phrases.profiled(dataclasses.replace(profile, on_device=False))
    assert "a simulated device has no timeline" in simulated
    assert "idle" not in simulated
    assert phrases.profiled(Profile(0, 0, 0, 0, 0, problem="nothing was profiled: why")) == "nothing was profiled: why"


@in_simulation
def test_torchs_profiler_sees_the_operators_of_the_window() -> None:
    import json
    import tempfile

    import torch

    from runtime_check.hooks.profiler import Profiler

    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "profile.json")
        one = Window(1, 2, Profiler, lambda _: None, path)
        x = torch.ones(3, device="cuda")
        for _ in range(4):
            x = x * 2
            one.step("first")
        assert one.problem == ""
        assert one.result is not None
        assert not one.result.on_device
        assert one.result.operators >= 2
        assert 0 < one.result.host <= one.result.duration
        assert json.loads(Path(path).read_text())["traceEvents"]


@pytest.mark.parametrize("trace", [False, True])
def test_what_an_event_costs_is_measured(trace: bool) -> None:
    pytest.importorskip("torch")
    from runtime_check.hooks import calibration

    assert calibration.per_event(trace) > 0
