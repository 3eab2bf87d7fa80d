"""What a loop leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.invariance import Invariance

LookUp = Callable[..., Any]
BEFORE = """
import torch

class Job:
    def run(self, rows, device, table, other, n):
        limit = 3
        for row in rows:
            local = row
            self.count = local
            other.value = local
            n += 1
            table.fill_(0)
            self.kept[row] = local
            global COUNTER
            COUNTER = local
"""


def holds(look: LookUp, expression: str, makes: bool = False, body: str = BEFORE) -> bool:
    found = look(f"{body}            probe = {expression}\n")
    function, reg = found.find(expression)
    return Invariance(function, function.loops(reg)[0]).holds(reg, makes)


@pytest.mark.parametrize(
    "expression",
    [
        "1",
        "'cuda'",
        "None",
        "limit",
        "device",
        "self.steady",
        "self.model.weight",
        "MODULE_LEVEL",
        "device.type",
        "rows[0]",
        "rows[1:limit]",
        "rows[0, None]",
        "limit + 1",
        "-limit",
        "[limit, device]",
        "self.steady.to(device)",
        "self.steady.cuda()",
        "rows[0].to(device, non_blocking=True)",
        "self.steady.view(-1).float().to(device)",
        "torch.device('cuda')",
        "self.steady.cpu()",
    ],
)
def test_what_the_loop_leaves_alone(look: LookUp, expression: str) -> None:
    assert holds(look, expression)


@pytest.mark.parametrize(
    "expression",
    [
        "row",
        "local",
        "self",
        "self.count",
        "other.value",
        "n",
        "n + 1",
        "table",
        "table.to(device)",
        "self.kept",
        "self.kept.to(device)",
        "COUNTER",
        "rows[n]",
        "self.steady.to(row)",
        "row.to(device)",
        "self.steady[row]",
        "[limit, row]",
        "make()",
        "self.make()",
        "self.steady.pop()",
        "torch.randn(3)",
        "torch.rand_like(limit)",
        "[limit for limit in rows]",
        "lambda: limit",
        "limit if row else 1",
    ],
)
def test_what_it_changes_or_may_change(look: LookUp, expression: str) -> None:
    assert not holds(look, expression)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.tensor(1.0, device=device)",
        "torch.zeros(limit, device=device)",
        "torch.arange(3)",
        "torch.from_numpy(limit)",
    ],
)
def test_makers_of_tensors_count_where_they_are_asked_for(look: LookUp, expression: str) -> None:
    assert holds(look, expression, makes=True)
    assert not holds(look, expression)


@pytest.mark.parametrize(
    "expression", ["torch.randn(3)", "torch.randperm(limit)", "torch.tensor(row)", "torch.zeros(n)"]
)
def test_makers_of_what_differs_never_do(look: LookUp, expression: str) -> None:
    assert not holds(look, expression, makes=True)


def test_of_nested_loops_each_has_its_own_answer(look: LookUp) -> None:
    found = look(
        "def run(rows, device, t):\n    for row in rows:\n        for other in row:\n            x = row.to(device)\n"
    )
    function, reg = found.find("row.to(device)")
    inner, outer = function.loops(reg)
    assert Invariance(function, inner).holds(reg)
    assert not Invariance(function, outer).holds(reg)


def test_what_a_nested_loop_or_branch_writes_is_written(look: LookUp) -> None:
    found = look(
        "def run(rows, t, d):\n    for row in rows:\n        if row:\n"
        "            for q in row:\n                t = q\n        x = t.to(d)\n"
    )
    function, reg = found.find("t.to(d)")
    assert not Invariance(function, function.loops(reg)[0]).holds(reg)


@pytest.mark.parametrize(
    "write",
    [
        "with f() as t:\n            pass",
        "try:\n            pass\n        except E as t:\n            pass",
        "(t := row)",
        "del t",
        "import t",
    ],
)
def test_every_binding_is_a_write(look: LookUp, write: str) -> None:
    found = look(f"def run(rows, t, d, f):\n    for row in rows:\n        {write}\n        x = t.to(d)\n")
    function, reg = found.find("t.to(d)")
    assert not Invariance(function, function.loops(reg)[0]).holds(reg)
