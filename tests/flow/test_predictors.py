"""The predictors of frequency: what was measured of each, and what each does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proving import check_bytes, default_rules
from transferlint.flow.frequency.predictors import PREDICTORS
from transferlint.model import Confidence, Level

MEASURED = json.loads(
    (Path(__file__).parents[2] / "benchmarks" / "results" / "predictors.json").read_text(encoding="utf-8")
)


def test_table_and_measurement_agree() -> None:
    assert {row.id: row.rate for row in PREDICTORS} == {name: row["rate"] for name, row in MEASURED.items()}


@pytest.mark.parametrize("row", [row for row in PREDICTORS if row.decides], ids=lambda row: row.id)
def test_what_decides_was_measured_in_five_packages(row: Any) -> None:
    assert MEASURED[row.id]["packages"] >= 5


TAKES = "x: torch.Tensor):\n"
PRIVATE = "class A:\n    def g(self):\n        self._f(given())\n    def _f(self, "
COMPUTES = "(x * 2).sum()\n"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (f"def f({TAKES}    {COMPUTES}", "entry-function"),
        (f"class A:\n    def f(self, {TAKES}        {COMPUTES}", "plain-method"),
        (f"class A(nn.Module):\n    def f(self, {TAKES}        {COMPUTES}", "module-method"),
        (f"def g():\n    f(given())\ndef f({TAKES}    {COMPUTES}", "called-function"),
        (f"{PRIVATE}{TAKES}        {COMPUTES}", "called-function"),
        ("def f(n):\n    return n + 1\n", ""),
    ],
)  # fmt: skip
def test_the_row_of_a_function(look: Callable[..., Any], source: str, wanted: str) -> None:
    heat = look("import torch\nfrom torch import nn\n" + source).facts.heat
    assert [row.id for row in heat.predicted.values()] == ([wanted] if wanted else [])
    for index, row in heat.predicted.items():
        assert heat.base(index).level is Level.PER_STEP
        assert heat.base(index).weak is not row.decides


def test_an_explicit_wait_in_what_nobody_is_seen_to_call_is_possible() -> None:
    text = """\
import torch


def march(rays: torch.Tensor, steps: int):
    torch.cuda.synchronize()
    return rays.cumsum(0) * steps
"""
    (found,) = check_bytes("march.py", text.encode(), default_rules(), Confidence.POSSIBLE)
    assert (found.code, found.confidence) == ("TL306", Confidence.POSSIBLE)
