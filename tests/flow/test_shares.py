"""In which share of the steps a place is expected to run: what was measured, and which rows apply."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transferlint.flow.frequency import shares
from transferlint.flow.frequency.warmth import Warmth
from transferlint.model import Level

RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "shares.json"
MEASURED = json.loads(RESULT.read_text(encoding="utf-8"))
HEAD = """import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x, mask=None, size=1):
"""


def test_table_and_measurement_agree() -> None:
    assert {row.id: row.weight for row in shares.ROWS} == {
        name: row["weight"] for name, row in MEASURED["rows"].items()
    }
    assert MEASURED["bias"] == shares.BIAS
    rare = {"cold": shares.COLD, "amortised": shares.AMORTISED, "once": shares.ONCE}
    assert rare == {name: row["share"] for name, row in MEASURED["not hot"].items()}


@pytest.mark.parametrize("row", shares.ROWS, ids=lambda row: row.id)
def test_a_row_was_measured_in_five_packages(row: shares.Row) -> None:
    assert MEASURED["rows"][row.id]["packages"] >= 5


def test_packages_that_were_left_out_bear_the_estimates_out() -> None:
    for tenth in MEASURED["left out"]["tenths"].values():
        assert abs(tenth["estimated"] - tenth["measured"]) <= 0.07


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("{}", {"straight": 1}),
        ("if self.wide:\n {}", {"object-option": 1}),
        ("if size > 3:\n {}", {"condition": 1}),
        ("if mask is not None:\n {}", {}),
        ("if x.ndim == 3:\n {}", {}),
        ("if size > 3:\n return x\n{}", {"after-exit": 1}),
        ("if size > 3:\n raise ValueError\n{}", {"after-exit": 1}),
        ("for one in x:\n {}", {"straight": 1}),
        ("if size:\n if size > 1:\n  if size > 2:\n   {}", {"condition": 2}),
    ],
)
def test_the_rows_of_a_place(look: Callable[..., Any], body: str, wanted: dict[str, int]) -> None:
    text = HEAD + textwrap.indent(body.format("y = x.cuda()"), " " * 8)
    function = next(one for one in look(text).facts.functions if one.transfers)
    reg = function.transfers[0].register
    assert dict(function.file.heat.rows(function.index, reg)) == {
        "every-batch": 1,
        **wanted,
    }


def test_what_is_called_is_expected_as_often_as_what_calls_it(look: Callable[..., Any]) -> None:
    text = HEAD + "        for one in x:\n            helped(one)\ndef helped(y):\n    return y.cuda()\n"
    facts = look(text).facts
    function = next(one for one in facts.functions if one.function.name == "helped")
    reg = function.transfers[0].register
    found = function.file.heat.rows(function.index, reg)
    assert found["every-batch"] == found["straight"] == found["called-in-a-loop"] == 1


def test_what_is_not_hot_is_expected_as_often_as_was_measured() -> None:
    assert shares.share(Warmth(Level.ONCE, True), {}) == shares.ONCE


def test_a_step_is_a_turn_of_the_loop_over_them(look: Callable[..., Any]) -> None:
    text = """import torch
def run(model, loader, quiet=False):
    if not quiet:
        for x in loader:
            y = model(x.cuda())
            if y.size:
                print(y.item())
"""
    (function,) = [one for one in look(text).facts.functions if one.transfers]
    found = {one.kind: function.file.heat.rows(function.index, one.register) for one in function.transfers}
    assert found["move"] == {"straight": 1, "every-batch": 1}
    assert "straight" not in found["scalar-read"]
    shares_of = {one.kind: function.file.heat.share(function.index, one.register) for one in function.transfers}
    assert shares_of["move"] == 1 > shares_of["scalar-read"]
