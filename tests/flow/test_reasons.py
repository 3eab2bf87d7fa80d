"""Every reason can be told, and every one is given by something."""

from __future__ import annotations

from pathlib import Path

import pytest

from transferlint.reasons import Cause, Reason, is_a
from transferlint.wording import words

FLOW = Path(__file__).parents[2] / "transferlint" / "flow"
CODE = "".join(path.read_text(encoding="utf-8") for path in FLOW.rglob("*.py"))


@pytest.mark.parametrize("cause", Cause, ids=lambda one: one.name)
def test_a_cause_is_worded_and_given(cause: Cause) -> None:
    inner = Reason(Cause.ERROR)
    told = words(Reason(cause, "subject", inner))
    assert told
    assert "{" not in told
    assert f"Cause.{cause.name}" in CODE


def test_no_reason_has_no_words() -> None:
    assert words(None) == ""
    assert not is_a(None, Cause.ERROR)


def test_a_chain_is_told_whole_and_decided_on_by_its_end() -> None:
    found = Reason(Cause.RARE_CALLERS, of=Reason(Cause.SWITCH, "verbose"))
    assert words(found) == "called only from code that runs rarely (only if `verbose` is set)"
    assert found.root == Reason(Cause.SWITCH, "verbose")
    assert is_a(found, Cause.RARE_CALLERS)
    assert not is_a(found, Cause.SWITCH)
