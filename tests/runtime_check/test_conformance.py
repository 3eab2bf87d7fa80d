"""The conformance run: its judgement, its reading of a driver's trace, and the simulated device held against every
row of knowledge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated import need_accelerator

from runtime_check.conformance import calls, driver, probe, running, tables
from runtime_check.conformance.calls import Call
from runtime_check.conformance.claims import HOST, NOTHING, OF_EFFECT
from runtime_check.conformance.known import KNOWN
from runtime_check.conformance.running import AGREE, DISAGREE, NOT_CALLED, Outcome
from transferlint.knowledge import catalogue
from transferlint.knowledge.api import Api, Effect

TESTED = "torch Tensor numpy builtins".split()


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """What became of torch's, numpy's and Python's names on the simulated device."""
    need_accelerator()
    return running.run([name for name in running.names() if name.partition(".")[0] in TESTED])


def test_the_simulated_device_does_what_the_rows_say_but_for_what_is_known(outcomes: list[Outcome]) -> None:
    shown = [f"{one.call.name}: {one.call.text}: {one.why}" for one in tables.unexpected(outcomes, simulated=True)]
    assert shown == []
    assert tables.counts(outcomes)[AGREE] > 600


def test_what_is_known_to_disagree_does(outcomes: list[Outcome]) -> None:
    found = {one.call.name: one.verdict for one in outcomes if one.call.name in KNOWN}
    assert [name for name, verdict in found.items() if verdict == AGREE] == []
    assert KNOWN.keys() - catalogue.rows().keys() == set()


def test_what_is_not_called_says_why(outcomes: list[Outcome]) -> None:
    reasons = {one.why for one in outcomes if one.verdict == NOT_CALLED}
    assert "" not in reasons
    assert not any("internal error" in why for why in reasons)


def test_every_name_has_a_call_or_a_reason() -> None:
    lacking = [name for name in running.names() for call in calls.of(name, catalogue.rows()[name])
               if "has been written" in call.why]  # fmt: skip
    assert lacking == []
    used = {row.effect.name for row in catalogue.rows().values()}
    assert used - OF_EFFECT.keys() == set()


def test_a_row_with_a_condition_is_called_on_both_sides() -> None:
    name = "torch.nn.utils.clip_grad_norm_"
    without, given = calls.of(name, catalogue.rows()[name])
    assert (without.given, without.claim) == ((), OF_EFFECT["KEEP"])
    assert (given.given, given.claim) == (("error_if_nonfinite",), OF_EFFECT["CHECK"])


@pytest.mark.parametrize(
    ("effect", "seen", "wrong"),
    [
        ("SCALAR", {"d2h", "sync"}, ()),
        ("SCALAR", set(), ("no d2h", "no sync")),
        ("KEEP", {"sync"}, ("unexpected sync",)),
        ("DATA", {"h2d"}, ()),
        ("DATA", {"h2d", "sync"}, ()),
        ("SHAPE", {"sync"}, ()),
        ("SHAPE", set(), ("no sync",)),
        ("SYNCHRONIZE", {"sync", "d2h"}, ("unexpected d2h",)),
    ],
)
def test_a_claim_says_what_must_and_must_not_be_seen(effect: str, seen: set[str], wrong: tuple[str, ...]) -> None:
    assert OF_EFFECT[effect].wrong(seen) == wrong


def call(claim: Any = NOTHING, **fields: Any) -> Call:
    return Call("torch.f", Effect.KEEP, claim, "F(x)", **fields)


def test_the_driver_decides_where_there_is_one() -> None:
    answer = {"seen": [], "bytes": 0, "place": "host"}
    assert running.judge(call(), answer).verdict == AGREE
    found = running.judge(call(), {**answer, "driver": ["sync"]})
    assert (found.verdict, found.why) == (DISAGREE, "unexpected sync")
    assert running.unlike(found)


def test_a_result_must_be_where_the_row_says() -> None:
    answer = {"seen": [], "bytes": 0, "place": "device"}
    assert running.judge(call(HOST), answer).why == "result on the device"
    assert running.judge(call(HOST), {**answer, "place": ""}).verdict == AGREE


def test_what_could_not_be_called_is_no_disagreement() -> None:
    for outcome in (
        running.judge(call(why="needs two devices"), None),
        running.judge(call(), None),
        running.judge(call(), {"error": "ImportError: torch.f"}),
    ):
        assert outcome.verdict == NOT_CALLED
        assert outcome.why


def test_names_are_resolved_to_what_they_stand_for() -> None:
    found, owner = probe.resolve("collections.OrderedDict.popitem")
    import collections

    assert (found, owner) == (collections.OrderedDict.popitem, collections.OrderedDict)
    assert probe.resolve("collections.OrderedDict.made_later") == (None, collections.OrderedDict)
    with pytest.raises(ImportError):
        probe.resolve("no_such_package.function")


def annotation(name: str, start: float, length: float) -> dict[str, Any]:
    return {"cat": "user_annotation", "name": f"conformance {name}", "ts": start, "dur": length}


def test_a_trace_is_read_by_stretch_and_by_who_asked() -> None:
    events = [
        annotation("0", 10, 5),
        annotation("1", 20, 5),
        annotation("2", 30, 5),
        {"cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": 11, "args": {"correlation": 7}},
        # the copy itself runs while the next stretch has begun
        {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "ts": 21, "args": {"correlation": 7}},
        {"cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "ts": 22, "args": {"correlation": 8}},
        {"cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": 31, "args": {}},
        {"cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": 90, "args": {}},  # in no stretch
    ]
    assert driver.parse(events) == {"0": {"h2d"}, "1": frozenset(), "2": {"sync"}}


def test_a_process_that_dies_costs_the_names_after_it_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def batch(questions: Any, seconds: float) -> tuple[list[dict[str, Any]], str]:
        numbers = [number for number, _, _ in questions]
        asked.append(numbers)
        answered = [number for number in numbers if number != 1][: 1 if 1 in numbers[1:] else None]
        if numbers[0] == 1:
            return [], "Segmentation fault"
        return [{"number": number, "seen": [], "bytes": 0, "place": ""} for number in answered], ""

    monkeypatch.setattr(running, "_batch", batch)
    rows = {f"torch.f{index}": Api((f"torch.f{index}",), Effect.HOST, "") for index in range(3)}
    monkeypatch.setattr(catalogue, "rows", lambda: rows)
    found = running.run(rows)
    assert asked == [[0, 1, 2], [1, 2], [2]]
    assert [one.verdict for one in found] == [AGREE, NOT_CALLED, AGREE]
    assert "Segmentation fault" in found[1].why


def test_the_page_names_disagreements_and_what_is_known(tmp_path: Path) -> None:
    outcome = Outcome(call(), DISAGREE, "unexpected sync", (), ("sync", "d2h"))
    page = tables.markdown([outcome], {"device": "X", "torch": "2"})
    assert "| `torch.f` | `F(x)` | nothing | d2h, sync | unexpected sync |" in page
    assert "Recorder and driver differ" in page
    assert tables.unexpected([outcome], simulated=False) == [outcome]
    assert json.loads(json.dumps(tables.data([outcome], {})))["counts"][DISAGREE] == 1


def test_the_command_prints_and_writes(outcomes: list[Outcome], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "runtime_check.conformance", "--match", "Tensor.item", "-o", str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "agree: 1; disagree: 0; not callable here: 0 (Simulated CUDA device)\n"
    (row,) = json.loads((tmp_path / "conformance.json").read_text())["calls"]
    assert (row["seen"], row["bytes"], row["driver"]) == (["d2h", "sync"], 4, None)
    assert "`Tensor.item`" in (tmp_path / "conformance.md").read_text()
