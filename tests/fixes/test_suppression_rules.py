"""TL002: what is judged, what is not, and what becomes of the comment."""

from __future__ import annotations

import dataclasses

import pytest

from proving import all_rules, default_rules
from transferlint.engine import pipeline
from transferlint.engine.plan import Plan
from transferlint.fixes.rounds import fix_text
from transferlint.model import Confidence

RULES = {rule.code: rule for rule in all_rules()}
USUAL = frozenset(rule.code for rule in RULES.values() if rule.default)
ALL = Plan(default_rules(), usual=USUAL)


def plan(*codes: str, **changes: object) -> Plan:
    """A run of these rules and TL002, where all others are installed."""
    return Plan(tuple(RULES[code] for code in (*codes, "TL002")), usual=USUAL, **changes)  # type: ignore[arg-type]


def line(text: str, used: bool = False) -> str:
    """A line of a hot loop, with a device value that is read where the comment is to be `used`."""
    body = "total += loss.item()" if used else "total += loss.detach()"
    head = "import torch\n\n\ndef train(model, loader, device):\n    total = 0\n    for x in loader:\n"
    return f"{head}        loss = model(x.to(device)).mean()\n        {body}{text}\n    return total\n"


def unused(text: str, planned: Plan = ALL, ignored: tuple[str, ...] = ()) -> list[str]:
    checked = pipeline.check_text("a.py", text, planned, ignored)
    assert checked.troubles == ()
    return [finding.message for finding in checked.findings if finding.code == "TL002"]


def fixed(text: str) -> str:
    def check(now: str):
        return [found for found in pipeline.check_text("a.py", now, ALL).findings if found.code == "TL002"]

    made = fix_text("a.py", text, check, False)
    assert (made.remaining, made.refused) == ((), ())
    return made.text


@pytest.mark.parametrize("comment", ["ignore[TL101] why", "ignore[TL1] why", "ignore why"])
def test_what_silences_something_is_used(comment):
    assert unused(line(f"  # transferlint: {comment}", used=True)) == []
    assert len(unused(line(f"  # transferlint: {comment}"))) == 1


def test_a_code_is_judged_where_its_rule_ran():
    text = line("  # transferlint: ignore[TL101, TL401] why")
    assert unused(text, plan("TL101")) == ["the suppression of TL101 has no effect"]
    assert unused(text, plan("TL401")) == ["the suppression of TL401 has no effect"]
    assert unused(text, plan("TL301")) == []
    assert unused(text, plan("TL101", "TL401")) == ["the suppression of TL101, TL401 has no effect"]
    assert unused(text, plan("TL101", "TL401"), ("TL101",)) == ["the suppression of TL401 has no effect"]


@pytest.mark.parametrize("comment", ["ignore[TL1]", "ignore"])
def test_a_beginning_and_a_blanket_wait_for_every_usual_rule(comment):
    text = line(f"  # transferlint: {comment} why")
    assert unused(text, plan("TL101")) == []
    some = [code for code in sorted(USUAL) if not code.startswith("TL0")]
    assert unused(text, plan(*some[:-1])) == ([] if comment == "ignore" else unused(text))
    assert len(unused(text, plan(*some))) == 1


def test_a_rule_that_broke_did_not_run():
    def broken(facts):
        raise ZeroDivisionError("no luck")
        yield

    text = line("  # transferlint: ignore[TL101] why")
    rules = (dataclasses.replace(RULES["TL101"], detect=broken), RULES["TL002"])
    checked = pipeline.check_text("a.py", text, Plan(rules, usual=USUAL))
    assert [finding.code for finding in checked.findings] == []
    assert len(checked.troubles) == 1


def test_what_is_below_the_least_confidence_is_silenced_all_the_same():
    text = line("  # transferlint: ignore[TL101] why", used=True)
    assert unused(text, dataclasses.replace(ALL, min_confidence=Confidence.CERTAIN)) == []


def test_a_finding_that_speaks_for_its_neighbour_uses_both_comments():
    mark = "  # transferlint: ignore[TL101] why"
    text = line(f"{mark}\n        total += loss.item(){mark}", used=True)
    assert unused(text) == []


def test_only_its_own_code_silences_it():
    assert len(unused(line("  # transferlint: ignore[TL0, TL101] why"))) == 1
    assert unused(line("  # transferlint: ignore[TL002, TL101] why")) == []
    assert unused("# transferlint: ignore-file[TL002] x\n" + line("  # transferlint: ignore[TL101] why")) == []


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("  # transferlint: ignore[TL101] why", ""),
        ("  # transferlint: ignore", ""),
        ("  # a  # transferlint: ignore[TL101] why", "  # a"),
        ("  # transferlint: ignore[TL101] why  # b", "  # b"),
        ("  # a  # transferlint: ignore[TL101] why  # b", "  # a  # b"),
        ("  # noqa: TL101", ""),
        ("  # noqa: E501, TL101, F401", "  # noqa: E501, F401"),
        ("  # noqa: E501 TL101 - long", "  # noqa: E501 - long"),
        ("  # noqa: TL101 - why  # transferlint: ignore[TL102] y", ""),
        ("  # transferlint: ignore[TL101, TL002] why", "  # transferlint: ignore[TL101, TL002] why"),
        ("  # transferlint: ignore[XYZ1, TL101] why", "  # transferlint: ignore[XYZ1] why"),
        ("\n        # transferlint: ignore[TL101] alone", ""),
        ("\n\n        # transferlint: ignore[TL101] alone\n", "\n\n"),
    ],
)
def test_what_is_left_of_the_comment(comment, left):
    assert fixed(line(comment)) == line(left)


def test_line_ends_stay():
    text = "# transferlint: ignore-file[TL105]\n" + line("  # transferlint: ignore[TL101] why")
    assert fixed(text.replace("\n", "\r\n")) == line("").replace("\n", "\r\n")


def test_a_used_code_stays():
    text = line("  # transferlint: ignore[TL101, TL102, TL201] why", used=True)
    assert fixed(text) == line("  # transferlint: ignore[TL101] why", used=True)
