"""Events become sums: nothing is lost over threads, and memory stays bounded."""

from __future__ import annotations

import itertools
import random
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_check import sketch
from runtime_check.collect import Collector, Window
from runtime_check.draw import Draw
from runtime_check.events import Event, Frame
from runtime_check.records import OVERFLOW, StepTime
from transferlint.model import Direction, Site

LINE = Frame("/program/train.py", 7, "main", 5, 7, 16)


def event(frame: Frame = LINE, **changes: object) -> Event:
    fields: dict[str, object] = {
        "direction": Direction.D2H,
        "operation": "aten::_local_scalar_dense",
        "bytes": 4,
        "started": 0,
        "blocked": 1000,
        "sync": True,
        "frames": (frame,),
        "thread": "MainThread",
    }
    return Event(**{**fields, **changes})  # type: ignore[arg-type]


def test_events_of_a_site_are_summed() -> None:
    collector = Collector()
    callers = (LINE, Frame("/program/main.py", 3, "run", 1, 3, 9))
    collector(event(frames=callers, blocked=10))
    for _ in range(999):
        collector(event(blocked=1000))
    (record,) = collector.records()
    assert record.site == Site("/program/train.py", 7, 5, 7, 16)
    assert (record.count, record.bytes, record.blocked.total, record.blocked.max) == (1000, 4000, 999_010, 1000)
    assert record.blocked.p50 == pytest.approx(1000, rel=1 / 16)
    assert record.chain == (Site("/program/main.py", 3, 1, 3, 9),)
    assert (record.first_step, record.last_step, record.thread, record.function) == (-1, -1, "MainThread", "main")


@pytest.mark.parametrize(
    "other",
    [
        event(direction=Direction.H2D),
        event(operation="aten::copy_"),
        event(sync=False),
        event(thread="other"),
        event(backward="MulBackward0"),
        event(Frame("/program/train.py", 7, "main", 20, 7, 30)),
        event(Frame("/program/train.py", 8, "main", 5, 8, 16)),
        event(frames=(LINE, Frame("/program/main.py", 3, "run")), user=1),
    ],
    ids=["direction", "operation", "sync", "thread", "backward", "column", "line", "user"],
)
def test_what_differs_is_kept_apart(other: Event) -> None:
    collector = Collector()
    for one in (event(), other, event()):
        collector(one)
    assert [record.count for record in collector.records()] == [2, 1]


def test_the_users_line_is_kept_beside_a_librarys() -> None:
    collector = Collector()
    inner, middle = Frame("/site/lib.py", 1, "f"), Frame("/site/lib.py", 9, "g")
    for line in (3, 4, 3):
        collector(event(frames=(inner, middle, Frame("/program/main.py", line, "run")), user=2))
    records = collector.records()
    assert [(record.site.line, record.user and record.user.line, record.count) for record in records] == [
        (1, 3, 2),
        (1, 4, 1),
    ]


def test_no_event_is_lost_over_threads() -> None:
    collector = Collector()
    frames = [Frame("/program/train.py", line, "f") for line in range(5)]

    def work() -> None:
        for index in range(3000):
            collector(event(frames[index % 5]))
            if index % 500 == 0:
                collector.records()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert [record.count for record in collector.records()] == [2400] * 5
    assert collector.outcome().events == 12_000


def test_an_event_in_the_middle_of_the_work_counts_once() -> None:
    collector: Collector

    class Nested:
        """A model of times that, as a finalizer or a signal handler might, causes an event and asks for sums."""

        left = 3

        def blocked(self, event: Event) -> int:
            if self.left:
                self.left -= 1
                collector(event)
                collector.records()
            return 5

    collector = Collector(Nested())
    for _ in range(10):
        collector(event())
    collector.records()
    (record,) = collector.records()
    assert (record.count, record.blocked.total) == (13, 65)


def test_what_has_no_room_is_summed_and_says_so() -> None:
    collector = Collector(sites=3)
    for line in range(10):
        collector(event(Frame("/program/train.py", line, "f")))
        collector(event(Frame("/program/train.py", line, "f"), direction=Direction.H2D, bytes=100, sync=False))
    records = collector.records()
    assert sum(record.count for record in records) == 20
    rest = [record for record in records if record.site.path == OVERFLOW]
    assert [(record.direction, record.count, record.bytes) for record in rest] == [
        (Direction.H2D, 9, 900),
        (Direction.D2H, 8, 32),
    ]
    assert collector.outcome().overflow == 17


def test_threads_are_named_without_their_numbers() -> None:
    collector = Collector()
    for number in range(5000):
        collector(event(thread=f"Thread-{number} (_pin_memory_loop)"))
    (record,) = collector.records()
    assert record.thread == "Thread (_pin_memory_loop)"


def test_pinned_and_ignored_hints_are_counted() -> None:
    collector = Collector()
    for pinned, dense, asked in [(True, True, True), (False, True, True), (True, False, True), (False, True, False)]:
        for size in (64, 1 << 20):  # what is small takes no longer
            collector(event(direction=Direction.H2D, bytes=size, pinned=pinned, dense=dense, non_blocking=asked))
    (record,) = collector.records()
    assert (record.pinned, record.non_blocking, record.hint_ignored) == (4, 6, 2)


def test_steps_and_full_steps() -> None:
    collector = Collector()
    for events in (5, 2, 2, 3):  # the first holds what sets up, the last what comes after
        for _ in range(events):
            collector(event())
        if events != 3:
            collector.step()
    (record,) = collector.records()
    outcome = collector.outcome()
    assert (record.first_step, record.last_step, record.count, record.stepped) == (0, 3, 12, 4)
    assert (outcome.steps, outcome.full_steps, outcome.events) == (3, 2, 12)


def test_only_the_window_is_recorded() -> None:
    now = [100]
    collector = Collector(window=Window(2, 4), clock=lambda: now[0])
    for step in range(6):
        for _ in range(step + 1):
            collector(event())
        now[0] += 10
        collector.step()
    (record,) = collector.records()
    assert (record.count, record.stepped, record.steps) == (3 + 4, 7, 2)
    assert (record.first_step, record.last_step) == (2, 3)
    outcome = collector.outcome(0)
    assert (outcome.steps, outcome.full_steps, outcome.duration, outcome.status) == (6, 2, 20, 0)


def test_the_first_the_median_and_the_slowest_step_are_told_with_what_crossed_in_them() -> None:
    now = [0]
    collector = Collector(clock=lambda: now[0])
    for step, took in enumerate((50, 10, 30, 20, 11, 12)):
        for _ in range(step):
            collector(event())
        if step == 2:
            collector(event(direction=Direction.H2D, bytes=100))
            collector(event(direction=Direction.NONE, bytes=0))
            collector(event(direction=Direction.NONE, bytes=0, sync=False))  # a move that crosses nothing
        now[0] += took
        collector.step()
    collector(event())  # of no step
    assert collector.outcome().timed == (
        StepTime(0, 50, 0, 0, 0, 0, 0),
        StepTime(5, 12, 5_000, 0, 5, 0, 20),
        StepTime(2, 30, 4_000, 1, 2, 1, 108),
    )
    assert [number for number, _, _ in collector.outcome().marks] == [*range(collector.outcome().steps)]
    assert collector.outcome().marks[:2] == ((0, 0, 50), (1, 50, collector.outcome().marks[2][1] - 50))


def test_steps_are_timed_in_bounded_memory_and_in_the_window_alone() -> None:
    now = [0]
    collector = Collector(clock=lambda: now[0], window=Window(1, 20_001))
    for step in range(30_000):
        now[0] += step
        collector.step()
    first, median, slowest = collector.outcome().timed
    assert (first.number, slowest.number, slowest.wall) == (1, 20_000, 20_000)
    assert abs(median.wall - 10_000) < 20
    assert len(collector._timed._kept) < 4096
    marks = collector.outcome().marks
    assert 128 <= len(marks) < 256
    assert {later[0] - one[0] for one, later in itertools.pairwise(marks[1:])} == {128}
    assert all(start == number * (number - 1) // 2 and wall == number for number, start, wall in marks)


def test_one_of_several_optimizers_leads() -> None:
    collector = Collector()
    for _ in range(10):
        for source in ("generator", "discriminator"):
            collector.step(source)
    assert collector.outcome().steps == 10
    for _ in range(5):
        collector.step("discriminator")
    assert collector.outcome().steps == 15


def test_an_optimizer_that_is_left_alone_takes_the_lead() -> None:
    collector = Collector()
    for source in ("first", "first", "second", "second", "second"):
        collector.step(source)
    assert collector.outcome().steps == 4


def test_changes_are_told_once() -> None:
    collector = Collector()
    collector(event())
    assert [type(change).__name__ for change in collector.changes()] == ["SiteRecord", "RawEvent"]
    assert collector.changes() == ()
    collector(event())
    assert len(collector.changes()) == 2


def test_the_model_gives_the_times() -> None:
    class Model:
        def blocked(self, event: Event) -> int:
            return event.bytes * 10

    collector = Collector(Model())
    collector(event(bytes=8, blocked=123_456))
    assert collector.records()[0].blocked.total == 80
    assert collector.raw()[0].blocked == 80


def test_what_one_call_moves_is_one_execution() -> None:
    collector = Collector()
    for call in (1, 1, 1, 2, 2, 0, 0):
        collector(event(call=call))
    (record,) = collector.records()
    assert (record.count, record.executions) == (7, 4)


def test_an_event_is_found_again_by_its_place_whatever_its_frames_are() -> None:
    collector = Collector(window=Window(1))
    assert collector.number(event()) is None
    collector(event())
    assert collector.number(event()) is None  # outside of the window
    collector.step()
    for _ in range(3):
        collector(event())
        collector(event(Frame("/program/train.py", 8, "main", 5, 8, 16)))
    assert [one.count for one in collector.records()] == [3, 3]
    assert collector.number(event(Frame("/program/train.py", 8, "main", 5, 8, 16))) == 1


def test_every_event_has_the_same_chance_to_be_drawn() -> None:
    counts = [0] * 200
    for seed in range(2000):
        draw = Draw(10, seed)
        for index in range(200):
            draw.offer(index, event(), 0, 0, 0)
        kept = draw.events()
        assert len(kept) == 10
        assert [one.slot for one in kept] == list(range(10))
        for one in kept:
            counts[one.site] += 1
    # 100 expected of each, with a standard deviation below 10
    assert max(counts) < 150
    assert min(counts) > 50
    assert sum(counts[:100]) == pytest.approx(10_000, rel=0.03)


def test_the_draw_leaves_the_programs_random_numbers_alone() -> None:
    random.seed(3)
    state = random.getstate()
    collector = Collector(reservoir=2)
    for _ in range(1000):
        collector(event())
    assert len(collector.raw()) == 2
    assert random.getstate() == state


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60), st.sampled_from([0.5, 0.95, 1.0]))
def test_percentiles_are_within_a_sixteenth(values: list[int], share: float) -> None:
    buckets = sketch.add([[(sketch.bucket(value), 1)] for value in values])
    exact = next(v for n, v in enumerate(sorted(values), start=1) if n >= share * len(values))
    assert abs(sketch.percentile(buckets, share) - exact) * 16 <= exact


@given(st.integers(0, 2**50))
def test_a_bucket_holds_its_middle_and_buckets_are_in_order(value: int) -> None:
    index = sketch.bucket(value)
    assert sketch.bucket(sketch.middle(index)) == index
    assert index <= sketch.bucket(value + 1) <= index + 1


def test_a_sketch_of_nothing_is_zero() -> None:
    assert sketch.percentile({}, 0.5) == 0
    assert sketch.bucket(-5) == 0
