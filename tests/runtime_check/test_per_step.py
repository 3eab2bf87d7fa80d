"""What each step moves is counted of all threads, handed out as means, and limited with the lines that did it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from simulated import in_fork, in_simulation

from runtime_check import cost
from runtime_check.per_step import PerStep
from runtime_check.scalars import Scalars
from transferlint.runtime import TransferLimitExceeded, watch

pytest.importorskip("torch")


def read(times: int = 1) -> None:
    import torch

    x = torch.ones(3, device="cuda").sum()
    for _ in range(times):
        x.item()


def send() -> None:
    import torch

    torch.ones(3).to("cuda")


@in_simulation
def test_scalars_are_means_over_the_steps_since_they_were_asked_for() -> None:
    transfers = PerStep()
    read()  # nobody counts yet
    transfers.start()
    for times in (1, 3):
        send()
        read(times)
        transfers.end()
    read(50)  # of a step that has not ended
    model = cost.default()
    kept = model.h2d_pageable.time(12) + 2 * model.d2h_pageable.time(4)
    assert transfers.scalars() == {
        "transfers/h2d": 1.0,
        "transfers/d2h": 2.0,
        "transfers/sync": 3.0,
        "transfers/h2d_bytes": 12.0,
        "transfers/d2h_bytes": 8.0,
        "transfers/blocked_ms_modelled": pytest.approx(kept / 1e6),
    }
    assert transfers.scalars() == {}
    transfers.end()
    assert transfers.scalars()["transfers/d2h"] == 50.0
    transfers.stop()
    transfers.stop()
    read()
    assert (transfers.steps, sum(record.count for record in transfers.records())) == (3, 56)


@in_simulation
def test_what_is_between_steps_or_held_is_of_none() -> None:
    with_limit = PerStep(d2h=2, warmup=0)
    for transfers in (PerStep(), with_limit):
        transfers.start()
        read()
        transfers.begin()
        read()
        with transfers.pause():
            read(5)
            with transfers.pause():
                read(6)
        read()
        assert transfers.end().d2h == 2
        transfers.stop()
        transfers.start()  # again
        assert transfers.end().d2h == 0
        transfers.stop()


@in_simulation
def test_a_limit_is_told_with_the_lines_of_its_step_alone() -> None:
    transfers = PerStep(d2h=1, warmup=2)
    transfers.start()

    def go(times: int) -> None:
        read(times)
        with transfers.pause():
            read(7)
        transfers.end()

    go(3)
    go(3)
    go(1)
    with pytest.raises(TransferLimitExceeded) as caught:
        go(2)
    first, line = str(caught.value).splitlines()
    assert first == "step 4 transferred too often: d2h 2, limit 1"
    assert line.startswith("  ")
    at = read.__code__.co_firstlineno + 5
    assert line.endswith(f"test_per_step.py:{at}: d2h 2 times, 8 bytes (aten::_local_scalar_dense)")
    read(2)
    assert transfers.end(excused=("d2h",)).d2h == 2
    transfers.stop()


def test_wrong_limits_are_refused_in_one_line() -> None:
    for limits, said in (({"d2h": -1}, "d2h=-1: a number of transfers, 0 or more"), ({"sync": 0.5}, "sync=0.5: ")):
        with pytest.raises(ValueError, match=said):
            PerStep(**limits)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="warmup=-1"):
        PerStep(warmup=-1)


@in_simulation
def test_all_threads_count_and_reading_counts_moves_nothing() -> None:
    transfers = PerStep(d2h=100)
    transfers.start()
    with watch(threads="all") as seen:
        thread = threading.Thread(target=read, args=(4,))
        thread.start()
        thread.join()
        transfers.end()
        before = seen.totals()
        transfers.scalars()
        transfers.begin()
        transfers.records()
        assert seen.totals() == before
    assert before.d2h == 4
    transfers.stop()


@in_fork
def test_where_there_is_no_accelerator_that_is_said_once() -> None:
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("runtime_check").addHandler(handler)
    transfers = PerStep()
    transfers.start()
    transfers.start()
    transfers.end()
    assert len(said) == 1
    assert "torch finds no accelerator" in said[0]
    assert transfers.scalars()["transfers/blocked_ms"] == 0.0


class Writer:
    """As a SummaryWriter of TensorBoard is written to."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, int]] = []

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.rows.append((name, value, step))


class Run:
    """As a run of Weights & Biases is logged to."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def log(self, values: dict[str, Any]) -> None:
        self.rows.append(values)


@in_simulation
def test_scalars_are_written_to_what_takes_them() -> None:
    writer, run, called = Writer(), Run(), []
    with (
        Scalars(writer, every=2) as first,
        Scalars(run) as second,
        Scalars(lambda values, step: called.append((values["transfers/d2h"], step))) as third,
    ):
        for times in (1, 2, 3):
            read(times)
            for scalars in (first, second, third):
                scalars.step()
    assert [(value, step) for name, value, step in writer.rows if name == "transfers/d2h"] == [(1.5, 2), (3.0, 3)]
    assert [(row["transfers/step"], row["transfers/d2h"]) for row in run.rows] == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert called == [(1.0, 1), (2.0, 2), (3.0, 3)]
    assert all(type(value) in (int, float) for row in run.rows for value in row.values())


@in_simulation
def test_a_step_that_goes_beyond_its_limit_is_written_nonetheless() -> None:
    run = Run()
    with Scalars(run, d2h=0) as scalars:
        read()
        scalars.step()
        read()
        with pytest.raises(TransferLimitExceeded, match="step 2"):
            scalars.step()
    assert [row["transfers/d2h"] for row in run.rows] == [1.0, 1.0]


def test_scalars_refuses_what_it_cannot_write_to() -> None:
    with pytest.raises(TypeError, match=r"Scalars\(int\): a SummaryWriter, a run of wandb, or a function"):
        Scalars(3)
    with pytest.raises(ValueError, match="every=0"):
        Scalars(lambda values, step: None, every=0)
