"""Every call of the tables, made in processes of their own, and judged."""

from __future__ import annotations

import collections
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from runtime_check.conformance import calls
from runtime_check.conformance.calls import Call
from transferlint.knowledge import catalogue

AGREE, DISAGREE, NOT_CALLED = "agree", "disagree", "not callable here"


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call. `seen` is what the recorder saw of h2d, d2h and sync, `driver` what the CUDA driver did
    (None where there is none), `place` where the result is; `why` says what disagrees, or why it was not called."""

    call: Call
    verdict: str
    why: str = ""
    seen: tuple[str, ...] = ()
    driver: tuple[str, ...] | None = None
    place: str = ""
    bytes: int = 0


def names(match: str = "") -> list[str]:
    """The qualified names of all tables, those that hold `match`."""
    listed = [name for table in catalogue.TABLES for row in table for name in row.names if not name.endswith(".*")]
    return [name for name in dict.fromkeys(listed) if match in name]


def run(wanted: Iterable[str], seconds: float = 600.0) -> list[Outcome]:
    """Call the names, each with every side of its row's condition; what was not reached in time is not called."""
    rows = catalogue.rows()
    listed = [(name, index, call) for name in wanted for index, call in enumerate(calls.of(name, rows[name]))]
    answers = _answers([(name, index, call) for name, index, call in listed], time.monotonic() + seconds)
    return [judge(call, answers.get(number)) for number, (_, _, call) in enumerate(listed)]


def judge(call: Call, answer: dict[str, Any] | None) -> Outcome:
    """Hold what was seen against the claim: by the driver where one told, else by the recorder."""
    if call.why:
        return Outcome(call, NOT_CALLED, call.why)
    if answer is None:
        return Outcome(call, NOT_CALLED, "the process that called it ended")
    if "error" in answer:
        return Outcome(call, NOT_CALLED, answer["error"])
    seen, place = tuple(answer["seen"]), str(answer["place"])
    driver = tuple(answer["driver"]) if "driver" in answer else None
    wrong = list(call.claim.wrong(seen if driver is None else driver))
    if call.claim.place and place and call.claim.place != place:
        wrong.append(f"result on the {place}")
    return Outcome(
        call, DISAGREE if wrong else AGREE, ", ".join(wrong), seen, driver, place, int(answer["bytes"])
    )  # fmt: skip


def unlike(outcome: Outcome) -> bool:
    """Whether recorder and driver saw different things. What a kernel reads back by itself is told as a wait alone."""
    if outcome.driver is None:
        return False
    seen, driver = set(outcome.seen), set(outcome.driver)
    if "sync" in seen and "d2h" not in seen:
        driver.discard("d2h")
    return seen != driver


def _answers(listed: Sequence[tuple[str, int, Call]], end: float) -> dict[int, dict[str, Any]]:
    """Number of a call to what its process answered."""
    left = collections.deque((number, name, index) for number, (name, index, call) in enumerate(listed) if not call.why)
    found: dict[int, dict[str, Any]] = {}
    while left and time.monotonic() < end:
        before = len(left)
        got, error = _batch(list(left), end - time.monotonic())
        for answer in got:
            found.setdefault(answer.pop("number"), {}).update(answer)
        done = [number for number, _, _ in left if number in found]
        while left and left[0][0] in found:
            left.popleft()
        if left and (not done or len(left) == before):  # it ended before its first answer, or in it
            number, _, _ = left.popleft()
            found[number] = {"error": f"the process ended: {error}"}
    return found


def _batch(batch: Sequence[tuple[int, str, int]], seconds: float) -> tuple[list[dict[str, Any]], str]:
    questions = "".join(json.dumps(one) + "\n" for one in batch)
    command = [sys.executable, "-m", "runtime_check.conformance.probe"]
    try:
        made = subprocess.run(
            command, input=questions.encode(), capture_output=True, timeout=max(seconds, 1), check=False,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        out, err = made.stdout, made.stderr
    except subprocess.TimeoutExpired as late:
        out, err = late.stdout or b"", b"no time was left"
    answers = []
    for line in out.decode(errors="replace").splitlines():
        try:
            answers.append(json.loads(line))
        except ValueError:
            continue
    said = err.decode(errors="replace").strip().splitlines()
    return answers, said[-1][:200] if said else "no words"
