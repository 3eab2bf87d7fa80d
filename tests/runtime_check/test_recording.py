"""What was seen is on the disk: while the program runs, after it was killed, from forked children, of several ranks."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from runtime_check import recording, records
from runtime_check.collect import Collector
from runtime_check.events import Event, Frame
from runtime_check.merging import merge, read_folder
from runtime_check.recording import Recording
from runtime_check.records import (
    Blocked,
    Executed,
    Header,
    Link,
    LinkKind,
    Missing,
    Outcome,
    RawEvent,
    RecordError,
    Run,
    SiteRecord,
)
from transferlint.model import Direction, Site

HEADER = Header(("train.py",), "", "simulated", "", "2.13.0", "3.11", "simulate", "modelled")
LINE = Frame("/program/train.py", 7, "main", 5, 7, 16)
READ = SiteRecord(
    id=4,
    site=Site("/program/train.py", 7, 5, 7, 16),
    direction=Direction.D2H,
    operation="aten::_local_scalar_dense",
    count=3,
    bytes=12,
    sync=True,
    blocked=Blocked(300, 100, 100, 100, ((38, 3),)),
    first_step=0,
    last_step=2,
    thread="MainThread",
    stepped=1,
)


def event(line: int = 7, **changes: object) -> Event:
    read = Event(Direction.D2H, "aten::_local_scalar_dense", 4, 0, 1000, True, (dataclasses.replace(LINE, line=line),))
    return dataclasses.replace(read, **changes)  # type: ignore[arg-type]


def test_a_run_is_on_the_disk_when_it_ends(tmp_path: Path) -> None:
    collector = Collector()
    kept = Recording(tmp_path / "run", HEADER, collector, executed=lambda: [Executed("/program/train.py", (7, 9))])
    kept.start()
    for _ in range(1000):
        collector(event())
    collector.step()
    collector.missing("DataLoader worker 3", "it was spawned", 2)
    kept.stop(3)
    run = records.read(tmp_path / "run" / f"0-{os.getpid()}.jsonl")
    assert run.sites == collector.records()
    assert run.sites[0].count == 1000
    assert len(run.raw) == 1000
    assert run.executed == (Executed("/program/train.py", (7, 9)),)
    assert run.outcome is not None
    assert (run.outcome.steps, run.outcome.status, run.outcome.events) == (1, 3, 1000)
    assert run.outcome.missing == (Missing("DataLoader worker 3", "it was spawned", 2),)
    assert run.outcome.duration > 0
    assert run.header.pid == os.getpid()
    assert run.header.started.endswith("+00:00")
    assert run.header.clock == collector.origin
    assert kept.problem == ""


def test_off_means_off(tmp_path: Path) -> None:
    before = threading.active_count()
    for _ in range(3):
        kept = Recording(tmp_path, HEADER, Collector())
        kept.start()
        assert threading.active_count() == before + 1
        kept.stop(0)
        kept.stop(1)
        assert threading.active_count() == before
    runs = read_folder(tmp_path).runs
    assert [run.outcome and run.outcome.status for run in runs] == [0, 0, 0]


def test_a_thread_writes_it_twice_a_second(tmp_path: Path) -> None:
    assert inspect.signature(Recording).parameters["interval"].default <= 0.5
    collector = Collector()
    kept = Recording(tmp_path, HEADER, collector)
    kept.start()
    try:
        collector(event())
        deadline = time.monotonic() + 600  # however slow the machine
        while not records.read(kept.path).sites and time.monotonic() < deadline:
            time.sleep(0.02)
        run = records.read(kept.path)
        assert run.sites[0].count == 1
        assert run.outcome is not None
        assert run.outcome.status is None
    finally:
        kept.stop()


PROGRAM = """
    import sys, time
    from pathlib import Path
    from runtime_check.collect import Collector
    from runtime_check.events import Event, Frame
    from runtime_check.recording import Recording
    from runtime_check.records import Header
    from transferlint.model import Direction

    def event(line):
        return Event(Direction.D2H, "aten::copy_", 4, 0, 1000, True, (Frame("/program/train.py", line, "main"),))

    collector = Collector()
    kept = Recording(sys.argv[1], Header(("a.py",), "", "d", "", "2", "3", "trace", "measured"), collector)
    kept.start()
"""


def program(text: str, folder: Path) -> subprocess.Popen[str]:
    code = textwrap.dedent(PROGRAM) + textwrap.dedent(text)
    return subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_killed_process_loses_what_was_not_written_and_no_more(tmp_path: Path) -> None:
    running = program(
        """
        done, flush = 0, kept.flush
        def told_flush():
            before = done
            flush()
            print(before, flush=True)  # so many were worked off before the thread wrote
        kept.flush = told_flush
        while True:
            collector(event(done % 50))
            done += 1
            if done % 20 == 0:
                time.sleep(0.01)
        """,
        tmp_path,
    )
    assert running.stdout is not None
    told = [int(running.stdout.readline()) for _ in range(3)]
    running.kill()
    told += [int(line) for line in running.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    assert running.wait() == -signal.SIGKILL
    whole = read_folder(tmp_path).whole
    assert sum(record.count for record in whole.sites) >= max(told) > 0
    assert whole.outcome is not None
    assert whole.outcome.status is None
    assert whole.outcome.duration > 0


def test_a_kill_at_any_moment_leaves_a_file_that_is_read(tmp_path: Path) -> None:
    """Also in the middle of writing a file anew: with a limit of nothing, every flush does."""
    choose = random.Random(1)
    for number in range(6):
        folder = tmp_path / str(number)
        running = program(
            """
            import runtime_check.recording as recording
            recording._SMALLEST, recording._GROWTH, kept._limit = 0, 1, 0
            print("running", flush=True)
            done = 0
            while True:
                collector(event(done % 300))
                done += 1
                if done % 100 == 0:
                    kept.flush()
                    print(done, flush=True)
            """,
            folder,
        )
        assert running.stdout is not None
        while not running.stdout.readline().strip().isdigit():
            pass
        time.sleep(choose.random() * 0.1)
        running.kill()
        told = [int(line) for line in running.stdout.read().split("\n")[:-1] if line.isdigit()]
        running.wait()
        run = read_folder(folder).whole
        assert sum(record.count for record in run.sites) >= max(told, default=100)


def test_a_process_that_ends_without_stopping_writes_all(tmp_path: Path) -> None:
    assert program("collector(event(1)); sys.exit(4)", tmp_path).wait() == 4
    assert read_folder(tmp_path).whole.sites[0].count == 1


def test_the_file_does_not_grow_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_SMALLEST", 20_000)
    collector = Collector(reservoir=20)
    kept = Recording(tmp_path, HEADER, collector, interval=100)
    kept.start()
    monkeypatch.setattr(kept, "_limit", 20_000)
    sizes = []
    for _ in range(400):
        for line in range(10):
            collector(event(line))
        kept.flush()
        sizes.append(kept.path.stat().st_size)
    kept.stop(0)
    least = kept.path.stat().st_size
    assert max(sizes) < 20_000 + 5 * least
    assert any(after < before for before, after in itertools.pairwise(sizes))
    assert [record.count for record in records.read(kept.path).sites] == [400] * 10
    assert [path.name for path in tmp_path.iterdir()] == [kept.path.name]


def test_a_half_written_line_does_not_spoil_what_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector()
    kept = Recording(tmp_path, HEADER, collector, interval=100)
    kept.start()
    real = os.write
    collector(event(1))
    monkeypatch.setattr(os, "write", lambda file, text: real(file, text[: len(text) // 2]))
    kept.flush()
    assert records.read(kept.path).truncated
    monkeypatch.setattr(os, "write", real)
    collector(event(2))
    kept.flush()
    run = records.read(kept.path)
    kept.stop()
    assert not run.truncated
    assert [record.site.line for record in run.sites] == [1, 2]


def test_a_disk_that_takes_nothing_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector()
    kept = Recording(tmp_path, HEADER, collector, interval=100)
    kept.start()

    def full(file: int, text: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    collector(event())
    kept.flush()
    monkeypatch.undo()
    kept.stop()
    assert kept.problem == f"{kept.path}: not all of the run could be recorded: No space left on device"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("leave", ["sys.exit(0)", "os._exit(0)"])
def test_a_forked_child_writes_its_own(tmp_path: Path, leave: str) -> None:
    running = program(
        f"""
        import os
        for _ in range(5): collector(event(1))
        child = os.fork()
        if child == 0:
            for _ in range(3): collector(event(2))
            while "{leave}" == "os._exit(0)":  # it cannot say goodbye: what the thread has written is there
                if any('"count":3' in path.read_text() for path in Path(sys.argv[1]).glob(f"*-{{os.getpid()}}.jsonl")):
                    break
                time.sleep(0.01)
            {leave}
        os.waitpid(child, 0)
        silent = os.fork()
        if silent == 0:
            sys.exit(0)
        os.waitpid(silent, 0)
        collector(event(1))
        kept.stop(0)
        """,
        tmp_path,
    )
    assert running.wait() == 0
    folder = read_folder(tmp_path)
    runs = {run.header.parent: run for run in folder.runs}
    assert set(runs) == {0, running.pid}
    assert len(folder.runs) == 2
    assert [(record.site.line, record.count) for record in runs[0].sites] == [(1, 6)]
    assert [(record.site.line, record.count) for record in runs[running.pid].sites] == [(2, 3)]
    assert folder.whole.header.parent == 0
    assert folder.whole.outcome is not None
    assert folder.whole.outcome.status == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_multiprocessing_writes_its_last_second(tmp_path: Path) -> None:
    running = program(
        """
        import multiprocessing
        def work():
            collector(event(2))
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start(); child.join()
        kept.stop(0)
        """,
        tmp_path,
    )
    assert running.wait() == 0
    assert [(record.site.line, record.count) for record in read_folder(tmp_path).whole.sites] == [(2, 1)]


def rank(number: int, **changes: object) -> Run:
    header = dataclasses.replace(
        HEADER, rank=number, ranks=2, pid=100 + number, started=f"2026-01-01T00:00:0{number}+00:00"
    )
    back = dataclasses.replace(READ, id=9, direction=Direction.H2D, operation="aten::copy_", count=1)
    run = Run(
        header,
        (dataclasses.replace(READ, id=4 + number), back),
        (Link(LinkKind.DEVICE_HOST_DEVICE, 4 + number, 9, 1, 4, True),),
        raw=(RawEvent(0, 9, 500, 10, 4, 1),),
        outcome=Outcome(3, 2, 4, 1000 + number, 1000 + number, 0),
        executed=(Executed("/program/train.py", (7, 8 + number)),),
    )
    return dataclasses.replace(run, **changes)  # type: ignore[arg-type]


def test_ranks_merge() -> None:
    whole = merge([rank(1), rank(0)])
    assert [(one.id, one.count, one.bytes, one.stepped, one.processes) for one in whole.sites] == [
        (0, 6, 24, 2, 2),
        (1, 2, 24, 2, 2),
    ]
    assert whole.sites[0].blocked == Blocked(600, 100, 100, 100, ((38, 6),))
    assert whole.links == (Link(LinkKind.DEVICE_HOST_DEVICE, 0, 1, 2, 8, True),)
    assert whole.raw == (RawEvent(0, 1, 500, 10, 4, 1), RawEvent(1, 1, 1_000_000_500, 10, 4, 1))
    assert whole.outcome == Outcome(3, 4, 8, 1001, 2001, 0)
    assert whole.executed == (Executed("/program/train.py", (7, 8, 9)),)
    assert whole.header.rank == 0


@pytest.mark.parametrize(("statuses", "expected"), [((0, 0), 0), ((0, -9), -9), ((0, None), None), ((2, None), 2)])
def test_the_worst_status_is_that_of_all(statuses: tuple[int | None, ...], expected: int | None) -> None:
    runs = [rank(number, outcome=Outcome(status=status)) for number, status in enumerate(statuses)]
    outcome = merge(runs).outcome
    assert outcome is not None
    assert outcome.status == expected


@pytest.mark.parametrize(("status", "missing"), [(0, 0), (1, 0), (None, 1)])
def test_a_spawned_process_that_was_ended_from_outside_was_cut_short(status: int | None, missing: int) -> None:
    child = Run(
        dataclasses.replace(HEADER, pid=9, parent=7, spawned=True),
        outcome=Outcome(events=1, duration=5, processes=5, status=status),
    )
    for forked in (child, dataclasses.replace(child, header=dataclasses.replace(child.header, spawned=False))):
        outcome = merge([rank(0), forked]).outcome
        assert outcome is not None
        assert [one.process for one in outcome.missing] == ["process 9"] * (missing if forked is child else 0)


def test_one_run_merges_to_itself() -> None:
    run = rank(0)
    whole = merge([run])
    assert [dataclasses.replace(one, id=4 if one.id == 0 else 9) for one in whole.sites] == list(run.sites)
    assert whole.outcome == run.outcome


def test_a_link_whose_end_was_lost_is_left_out() -> None:
    assert merge([rank(0, sites=(READ,))]).links == ()


def test_files_that_are_no_records_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no records of a run"):
        read_folder(tmp_path)
    (tmp_path / "0-1.jsonl").write_text("loss\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"0-1.jsonl:1: not a record of a run"):
        read_folder(tmp_path)
    records.write(tmp_path / "1-2.jsonl", rank(1))
    folder = read_folder(tmp_path)
    assert len(folder.runs) == 1
    assert [problem.split(":")[0] for problem in folder.problems] == [str(tmp_path / "0-1.jsonl")]
    with pytest.raises(RecordError, match="no such file"):
        read_folder(tmp_path / "none")


def test_one_file_is_read_as_a_folder_of_one(tmp_path: Path) -> None:
    records.write(tmp_path / "a.jsonl", rank(0))
    assert read_folder(tmp_path / "a.jsonl").whole.header.rank == 0


def test_every_kind_of_record_survives_the_way_to_a_file(tmp_path: Path) -> None:
    run = rank(0)
    user = dataclasses.replace(READ, id=11, user=Site("/program/main.py", 1, 2, 3, 4), function="f", backward="Mul")
    run = dataclasses.replace(run, sites=(*run.sites, user))
    records.write(tmp_path / "a.jsonl", run)
    assert records.read(tmp_path / "a.jsonl") == run


def test_a_file_of_before_the_later_fields_is_read(tmp_path: Path) -> None:
    old = (
        '{"record":"header","program":["a.py"],"started":"","device":"","driver":"","torch":"2","python":"3",'
        '"level":"trace","time_source":"measured","overhead_ns":0,"rank":0,"ranks":1,"pid":1,"version":1}\n'
        '{"record":"site","id":0,"site":{"path":"a.py","line":1,"column":1,"end_line":1,"end_column":2},'
        '"direction":"d2h","operation":"o","count":1,"bytes":4,"sync":true,'
        '"blocked":{"total":1,"p50":1,"p95":1,"max":1},"pinned":0,"non_blocking":0,"first_step":-1,"last_step":-1,'
        '"thread":"","chain":[]}\n'
    )
    (tmp_path / "a.jsonl").write_text(old, encoding="utf-8")
    run = records.read(tmp_path / "a.jsonl")
    assert (run.sites[0].user, run.sites[0].processes, run.outcome, run.raw) == (None, 1, None, ())
