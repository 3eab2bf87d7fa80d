"""Runs as a program that trains leaves them, with what `check` found in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from runtime_check.records import (
    Blocked,
    Executed,
    Header,
    Link,
    LinkKind,
    Outcome,
    RawEvent,
    Run,
    SiteRecord,
)
from runtime_check.reports import shown
from runtime_check.reports.shown import Shown
from runtime_check.verdicts import FoundFinding, judge
from transferlint.model import Direction, Site

SOURCE = """\
import torch

model.to("cuda")  # <script>alert("x & y")</script>
for x in loader:
    loss = model(x.to("cuda")).sum()
    total += loss.item()
    back = x.cpu()
    again = back.to("cuda") if wanted else None
    shape = x.shape, "a long line" + "{blanks}"
"""
STEPS = 20
STEP = 10_000_000  # nanoseconds
BEGAN = 2_000_000_000
COPY = "aten::copy_"


def header(pid: int = 7, rank: int = 0, ranks: int = 1, started: str = "2026-01-02T03:04:05.000000+00:00") -> Header:
    return Header(
        ("train.py", "--name", "<b>"),
        started,
        "Simulated CUDA device",
        "",
        "2.13.0",
        "3.12.1",
        "simulate",
        "modelled",
        pid=pid,
        rank=rank,
        ranks=ranks,
    )


def run(path: str, head: Header | None = None) -> Run:
    """Setup on line 3, then steps that cross at lines 5, 6, 7 and 8; what left on line 7 came back on line 8."""
    sites = (
        _record(0, path, 3, Direction.H2D, 4, first=0, last=0),
        _record(1, path, 5, Direction.H2D, STEPS),
        _record(2, path, 6, Direction.D2H, STEPS),
        _record(3, path, 7, Direction.D2H, STEPS),
        _record(4, path, 8, Direction.H2D, STEPS),
    )
    raw = [RawEvent(number, 0, 1_000_000_000 + 100_000 * number, 10_000, 64) for number in range(4)]
    for step in range(STEPS):
        at = BEGAN + step * STEP
        raw += [RawEvent(len(raw) + n, n + 1, at + 1_000_000 * n, 20_000, 64, step) for n in range(4)]
    marks = tuple((step, BEGAN + step * STEP if step else 0, STEP if step else BEGAN + STEP) for step in range(STEPS))
    whole = BEGAN + STEPS * STEP
    count = sum(record.count for record in sites)
    outcome = Outcome(STEPS, STEPS - 1, count, whole, whole, 0, marks=marks)
    return Run(
        head or header(),
        sites,
        (Link(LinkKind.DEVICE_HOST_DEVICE, 3, 4, STEPS, STEPS * 64, False),),
        raw=tuple(raw),
        outcome=outcome,
    )


def page(folder: Path, more: Sequence[FoundFinding] = (), executed: Sequence[Executed] = ()) -> Shown:
    """The run with its findings: lines 6 and 7 confirmed, 8 being the other end of 7, and 9 refuted."""
    path = str(folder / "train.py")
    (folder / "train.py").write_text(SOURCE.replace("{blanks}", " " * 300))
    one = run(path)
    findings = (
        found("TL101", path, 6, "`loss.item()` makes the host wait <per step>"),
        found("TL201", path, 7, "`x.cpu()` copies what is uploaded again"),
        found("TL102", path, 9, "`x.shape` is <i>harmless</i>"),
        *more,
    )
    judgement = judge(findings, one, [Executed(path, (6, 7, 9)), *executed], str(folder))
    return shown.of(one, judgement, str(folder), version="9")


def found(code: str, path: str, line: int, message: str) -> FoundFinding:
    return FoundFinding(code, code.lower(), site(path, line), Path(path).name, message, fingerprint=f"{code}{line}")


def site(path: str, line: int) -> Site:
    return Site(path, line, 5, line, 30)


def again(one: Shown, **changes: object) -> Shown:
    """The same page of another run."""
    other = dataclasses.replace(one.run, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(one, run=other, judgement=judge((), other, [], one.folder))


def _record(
    number: int, path: str, line: int, way: Direction, count: int, first: int = 0, last: int = STEPS - 1
) -> SiteRecord:
    blocked = Blocked(20_000 * count, 20_000, 20_000, 20_000)
    operation = COPY if line != 6 else "aten::_local_scalar_dense"
    return SiteRecord(
        number, site(path, line), way, operation, count, 64 * count, True, blocked, first_step=first, last_step=last,
        stepped=STEPS - 1 if last else 0, steps=STEPS - 1 if last else 0, thread="MainThread",
    )  # fmt: skip
