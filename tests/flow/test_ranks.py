"""How many dimensions a tensor is known to have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import HOST, SEVERAL, dimensions

LookUp = Callable[..., Any]
START = """
import torch
import torch.nn.functional as F
def f(n: int, unknown, *more):
    line = torch.arange(n)
    table = torch.zeros(n, 4)
    cube = table.unsqueeze(0)
    number = line.sum()
    mask = table > 0
"""


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("torch.tensor(1.0)", 0),
        ("torch.tensor([1.0, 2.0])", 1),
        ("torch.tensor([[1.0, n], [2.0, n]])", 2),
        ("torch.tensor([unknown])", SEVERAL),
        ("torch.tensor(unknown)", None),
        ("torch.zeros(n)", 1),
        ("torch.zeros(unknown)", None),
        ("torch.zeros(*more)", None),
        ("torch.full((n, n), 0.0)", 2),
        ("line * 2 + number", 1),
        ("line + table", 2),
        ("line + unknown", SEVERAL),
        ("number + unknown", None),
        ("table @ table.T", 2),
        ("table @ line", 1),
        ("line @ line", 0),
        ("line[0]", 0),
        ("line[n - 1]", 0),
        ("line[1:]", 1),
        ("line[None]", 2),
        ("line[unknown]", None),
        ("line[mask[0]]", 1),
        ("table[mask]", 1),
        ("table[number]", 1),
        ("table[line]", 2),
        ("table[:, line]", 2),
        ("table[..., 0]", 1),
        ("table[[0, 1]]", 2),
        ("unknown[line]", None),
        ("table.sum(0)", 1),
        ("table.sum(0, keepdim=True)", 2),
        ("table.sum(unknown)", None),
        ("table.sum(dim=(0, 1))", None),
        ("torch.argmax(line, 0)", 0),
        ("table.max(1).values", 1),
        ("table.view(-1)", 1),
        ("table.view(2, 2, -1)", 3),
        ("table.view(unknown)", None),
        ("table.reshape((2, n))", 2),
        ("torch.stack([line, line])", 2),
        ("torch.cat([line, line])", 1),
        ("torch.bucketize(number, line)", 0),
        ("torch.searchsorted(line, number)", 0),
        ("torch.where(mask, table, 0)", 2),
        ("torch.where(mask)[0]", 1),
        ("mask.nonzero()", 2),
        ("mask.nonzero(as_tuple=True)[0]", 1),
        ("F.one_hot(line)", 2),
        ("torch.FloatTensor([1.0, 2.0])", 1),
        ("torch.LongTensor(2, 3)", 2),
        ("torch.LongTensor(unknown)", None),
        ("line.new_tensor([1, 2])", 1),
        ("cube.flatten()", 1),
        ("cube.flatten(1)", 2),
        ("cube.flatten(0, 1)", SEVERAL),
        ("table.norm()", 0),
        ("table.norm(2)", 0),
        ("table.norm(2, 1)", 1),
        ("table.norm(dim=1, keepdim=True)", 2),
        ("line.repeat(2, 1)", 2),
        ("line.expand(unknown)", SEVERAL),
        ("number.expand(unknown)", None),
        ("line.tile(2)", SEVERAL),
        ("line.repeat_interleave(2)", SEVERAL),
        ("line.view_as(table)", 2),
        ("cube.squeeze()", None),
        ("cube.squeeze_()", None),
        ("table.cuda()", 2),
        ("line.double().clone().requires_grad_()", 1),
        ("unknown.squeeze()", None),
    ],
)
def test_dimensions(look: LookUp, expression: str, count: int | None) -> None:
    found = look(f"{START}    seen = {expression}\n").value(expression)
    assert dimensions(found.flags) == count


@pytest.mark.parametrize(
    ("statements", "name", "count"),
    [
        ("for one in line:\n        seen = one", "one", 0),
        ("for one in table:\n        seen = one", "one", 1),
        ("for one in unknown:\n        seen = one", "one", None),
        ("values, order = table.sort()\n    seen = order", "order", 2),
        ("if n:\n        line = table\n    seen = line", "line", SEVERAL),
        ("if n:\n        line = number\n    seen = line", "line", None),
    ],
)
def test_dimensions_of_variables(look: LookUp, statements: str, name: str, count: int | None) -> None:
    found = look(f"{START}    {statements}\n").value(name)
    assert dimensions(found.flags) == count


def test_every_call_gives_them_to_a_parameter(look: LookUp) -> None:
    text = """
    import torch
    def pick(table: torch.Tensor, at):
        return table[at]
    def f(table):
        for index in torch.arange(3, device="cuda"):
            pick(table, index)
        {}
    """
    assert len(look(text.format("pass")).transfers("number")) == 1
    assert look(text.format("pick(table, torch.tensor([0], device='cuda'))")).transfers("number") == []


def test_a_number_by_its_annotation_that_is_given_a_tensor(look: LookUp) -> None:
    """It has no dimensions; where some call gives a number, it may be either."""
    text = """
    import torch
    class Scheduler:
        def step(self, table: torch.Tensor, at: int):
            if at > 0:
                return table[at]
    def train_step(scheduler: Scheduler, table, given):
        for t in torch.arange(3, device="cuda").view(given):
            scheduler.step(table, t)
        {}
    """
    found = look(text.format("pass"))
    assert sorted(one.kind for one in found.transfers()) == ["number", "truth"]
    found = look(text.format("scheduler.step(table, 3)"))
    assert [one.kind for one in found.transfers()] == ["truth"]
    found = look(text.format("pass").replace('device="cuda"', ""))
    assert found.transfers() == []


def test_what_is_taken_to_be_on_the_device_learns_that_it_is_a_tensor(look: LookUp) -> None:
    found = look(
        """
        import torch
        class Loss(torch.nn.Module):
            def boxes(self, out, rows):
                return out[rows].sum()
            def labels(self, out):
                best = out.sum(1).argmax()
                return out[best].mean()
            def forward(self, out: torch.Tensor, rows: list[int]):
                return self.boxes(out, torch.as_tensor(rows)) + self.labels(out)
        """
    )
    assert [one.api for one in found.at("out[rows]")] == ["x[host tensor]"]
    assert [one.kind for one in found.at("out[best]")] == ["number"]
    rows = found.value("rows", nth=0)
    assert (rows.places, dimensions(rows.flags)) == (HOST, SEVERAL)
