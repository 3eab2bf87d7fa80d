"""Budgets and baselines: what passes, what fails and with which words, and that a baseline only falls."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_check import budgets
from runtime_check.budgets import Baseline, Budget, BudgetError
from runtime_check.findings import FoundFinding
from runtime_check.records import Blocked, Executed, Header, Outcome, Run, SiteRecord
from runtime_check.verdicts import Judgement, judge
from transferlint.model import Direction, Site

HEADER = Header(("train.py",), "", "a device", "1", "2.13.0", "3.12.1", "trace", "measured")
READ = SiteRecord(
    id=0,
    site=Site("/program/train.py", 7, 5, 7, 16),
    direction=Direction.D2H,
    operation="aten::copy_",
    count=101,
    bytes=404,
    sync=True,
    blocked=Blocked(50_000_000, 1, 1, 1),
    stepped=100,
    function="main",
)
UP = dataclasses.replace(
    READ, id=1, site=Site("/program/train.py", 9, 5, 9, 16), direction=Direction.H2D, sync=False, stepped=150
)
RUN = Run(HEADER, (READ, UP), outcome=Outcome(101, 100, 252, 10**9, 10**9, 0))
FINDING = FoundFinding("TL102", "a-rule", READ.site, "train.py", "it does", fingerprint="abc")


def judged(run: Run = RUN, *findings: FoundFinding) -> Judgement:
    return judge(findings, run, root="/program")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5%", Budget(blocked_share=0.05)),
        (" 0.5 % ", Budget(blocked_share=0.005)),
        ("200ms", Budget(blocked_ns=200_000_000)),
        ("1.5s", Budget(blocked_ns=1_500_000_000)),
        ("10us", Budget(blocked_ns=10_000)),
    ],
)
def test_limits_of_waiting_are_read(text: str, expected: Budget) -> None:
    assert budgets.parse_blocked(text) == expected


@pytest.mark.parametrize("text", ["", "5", "-5%", "five%", "5%%", "1 h", "."])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(BudgetError, match=r"a share of the run \(5%\) or a time"):
        budgets.parse_blocked(text)


def test_counts_a_step_are_read() -> None:
    assert budgets.parse_per_step(["d2h=0,h2d = 2.5", "sync=1"]) == {"d2h": 0, "h2d": 2.5, "sync": 1}
    for text in ("d2h", "d2h=", "d2h=-1", "d2d=1", ""):
        with pytest.raises(BudgetError, match="h2d, d2h, sync, with a count"):
            budgets.parse_per_step([text])


def test_verdicts_that_fail_are_read() -> None:
    assert budgets.parse_fail_on(["confirmed, missed", "not-reached"]) == {"confirmed", "missed", "not-reached"}
    assert budgets.parse_fail_on(["never"]) == frozenset()
    with pytest.raises(BudgetError, match="--fail-on refused: confirmed, partly, refuted, not-reached, missed, never"):
        budgets.parse_fail_on(["refused"])


def test_counts_of_a_step_leave_out_what_sets_up() -> None:
    assert budgets.per_step(RUN) == {"h2d": 1.5, "d2h": 1.0, "sync": 1.0}


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget(), ()),
        (Budget(blocked_share=0.1), ()),
        (Budget(blocked_share=0.05), ("the host was blocked for 10.0 % of the run, allowed are 5.0 %",)),
        (Budget(blocked_ns=100_000_000), ()),
        (Budget(blocked_ns=99_000_000), ("the host was blocked for 100 ms, allowed are 99.0 ms",)),
        (Budget(per_step={"d2h": 1, "h2d": 2}), ()),
        (Budget(per_step={"d2h": 0}), ("1 d2h a step, allowed are 0",)),
        (
            Budget(per_step={"sync": 0.5, "h2d": 1}),
            ("1.5 h2d a step, allowed are 1", "1 sync a step, allowed are 0.5"),
        ),
    ],
)
def test_what_goes_beyond_is_said(budget: Budget, expected: tuple[str, ...]) -> None:
    assert budgets.breaches(budget, RUN, judged()) == expected


def test_a_share_of_modelled_times_cannot_be_judged() -> None:
    modelled = dataclasses.replace(RUN, header=dataclasses.replace(HEADER, time_source="modelled"))
    with pytest.raises(BudgetError, match="because times are modelled"):
        budgets.breaches(Budget(blocked_share=0.05), modelled, judged(modelled))
    (said,) = budgets.breaches(Budget(blocked_ns=1), modelled, judged(modelled))
    assert said == "the host was blocked for 100 ms (modelled), allowed are 1 ns"


def test_without_steps_there_is_nothing_to_count_by() -> None:
    stepless = dataclasses.replace(RUN, outcome=Outcome(1, 0, 252, 10**9, 10**9, 0))
    with pytest.raises(BudgetError, match="no two steps were seen"):
        budgets.breaches(Budget(per_step={"d2h": 0}), stepless, judged(stepless))


def test_verdicts_fail_where_asked() -> None:
    ran = dataclasses.replace(RUN, executed=(Executed("/program/train.py", (50,)),))
    idle = dataclasses.replace(FINDING, site=Site("/program/train.py", 50, 1, 50, 9), fingerprint="def")
    judgement = judged(ran, FINDING, idle)
    every = frozenset(budgets.FAIL_ON)
    assert budgets.breaches(Budget(fail_on=every), ran, judgement) == ("1 finding confirmed", "1 finding refuted")
    assert budgets.breaches(Budget(fail_on=frozenset({"partly"})), ran, judgement) == ()
    assert budgets.breaches(Budget(fail_on=every), RUN, judged()) == ("1 hot site without a finding",)


def test_a_baseline_is_passed_by_the_run_that_made_it() -> None:
    for findings in ((), (FINDING,)):
        made = budgets.baseline_of(RUN, judged(RUN, *findings), "/program")
        assert budgets.compare(made, made) == ((), made)
    assert budgets.baseline_of(RUN, judged(RUN, FINDING), "/program").findings == {"abc"}
    assert budgets.baseline_of(RUN, judged(), "/program").missed == {"train.py main d2h aten::copy_"}


def test_a_missed_site_is_known_again_when_its_line_moves() -> None:
    elsewhere = dataclasses.replace(READ, site=Site("/program/train.py", 70, 1, 70, 9))
    moved = dataclasses.replace(RUN, sites=(elsewhere, UP))
    before, after = (budgets.baseline_of(run, judged(run), "/program") for run in (RUN, moved))
    assert budgets.compare(before, after) == ((), before)


def test_a_baseline_takes_what_is_better_and_names_what_is_worse() -> None:
    old = Baseline({"h2d": 2.0, "d2h": 1.0}, frozenset({"a", "b"}), frozenset({"x"}))
    now = Baseline({"h2d": 1.5, "d2h": 3.0, "sync": 3.0}, frozenset({"b", "c"}), frozenset({"x", "y"}))
    worse, kept = budgets.compare(old, now)
    assert worse == (
        "3 d2h a step, 1 in the baseline",
        "a confirmed finding that is not in the baseline: c",
        "a missed site that is not in the baseline: y",
    )
    assert kept == Baseline({"h2d": 1.5, "d2h": 1.0, "sync": 3.0}, frozenset({"b"}), frozenset({"x"}))


names = st.frozensets(st.sampled_from("abcd"))
baselines = st.builds(Baseline, st.dictionaries(st.sampled_from(budgets.COUNTED), st.floats(0, 100)), names, names)


@given(baselines, st.lists(baselines, max_size=4))
def test_a_baseline_never_rises(first: Baseline, later: list[Baseline]) -> None:
    kept = first
    for now in later:
        before, (worse, kept) = kept, budgets.compare(kept, now)
        assert all(kept.per_step[name] <= count for name, count in before.per_step.items())
        assert kept.findings <= before.findings
        assert kept.missed <= before.missed
        if not worse:
            assert now.findings <= before.findings
        assert budgets.compare(kept, kept)[0] == ()


def test_a_baseline_survives_the_way_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    made = budgets.baseline_of(RUN, judged(RUN, FINDING), "/program")
    budgets.write_baseline(path, made)
    assert budgets.read_baseline(path) == made
    assert [one.name for one in tmp_path.iterdir()] == ["baseline.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 1, "per_step": [], "findings": 1}'])
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BudgetError, match=r"not a baseline of `transferlint verify`") as caught:
        budgets.read_baseline(path)
    assert str(caught.value).startswith(str(path))


def test_a_newer_baseline_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text('{"version": 2, "per_step": {}, "findings": [], "missed": []}', encoding="utf-8")
    with pytest.raises(BudgetError, match="a baseline of version 2, this one reads 1"):
        budgets.read_baseline(path)
