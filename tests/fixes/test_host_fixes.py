"""Fixes of reads and copies: what the host has is read there, what the device has stays there."""

from __future__ import annotations

import importlib.util

import pytest
from showing import module, offered, ran, remaining

from proving import execute, same
from transferlint.model import Safety

HAS_TORCH = importlib.util.find_spec("torch") is not None
X = "x: torch.Tensor"
XL = "x: torch.Tensor, lengths: torch.Tensor"

# code, safety, arguments, body, what the fix makes of it, arguments to run both with ("" for none: another result is
# meant, or there is more to call)
CASES = [
    (
        "TL101",
        Safety.DISPLAY,
        X,
        "k = (x > 0).sum().item()\nif k != n:\n    raise ValueError(f'{k} and not {n}')\n",
        "torch._assert_async((x > 0).sum() == n)\n",
        "torch.ones(3)",
    ),
    ("TL101", Safety.DISPLAY, X, "return (x * 2).tolist()\n", "return (x * 2)\n", ""),
    ("TL101", Safety.DISPLAY, X, "self.kept = x.tolist()\n", "self.kept = x\n", "torch.ones(3)"),
    (
        "TL101",
        Safety.DISPLAY,
        X,
        "y = torch.tensor([one.sum() for one in x], device=x.device)\n",
        "y = torch.stack([one.sum() for one in x])\n",
        "torch.ones(3, 2)",
    ),
    (
        "TL101",
        Safety.DISPLAY,
        X,
        "y = [words.get(e.item()) for e in x]\n",
        "y = [words.get(e.item()) for e in x.cpu()]\n",
        "",
    ),
    (
        "TL101",
        Safety.DISPLAY,
        XL,
        "y = [x[i, : lengths[i].item()] for i in range(n)]\n",
        "lengths_on_host = lengths.cpu()\ny = [x[i, : lengths_on_host[i].item()] for i in range(n)]\n",
        "",
    ),
    ("TL102", Safety.DISPLAY, X, "y = x.cpu()\nz = y.max(1)[0]\n", "y = x\nz = y.max(1)[0]\n", "torch.ones(3, 2)"),
    (
        "TL102",
        Safety.DISPLAY,
        X,
        "y = []\nfor i in range(x.size(0)):\n    n = words(i)\n    y.append(x[i].cpu())\n",
        "y = []\nx_on_host = x.cpu()\nfor i in range(x.size(0)):\n    n = words(i)\n    y.append(x_on_host[i])\n",
        "",
    ),
    (
        "TL305",
        Safety.DISPLAY,
        X,
        "ids = torch.triu_indices(3, 3)\ny = x[ids[0], ids[1]]\n",
        "ids = torch.triu_indices(3, 3, device=x.device)\ny = x[ids[0], ids[1]]\n",
        "torch.ones(3, 3)",
    ),
    ("TL501", Safety.DISPLAY, X, "x.detach().cpu()\ny = x\n", "y = x\n", "torch.ones(3)"),
]


@pytest.mark.parametrize(("code", "safety", "arguments", "body", "fixed", "given"), CASES)
def test_the_text_is_what_the_page_says(
    code: str, safety: Safety, arguments: str, body: str, fixed: str, given: str
) -> None:
    text = module(body, arguments)
    ((found, _, made),) = offered(code, text)
    assert (found, made) == (safety, module(fixed, arguments))
    assert remaining(code, made) <= int("x_on_host = x.cpu()" in fixed)  # one copy, and no more
    if HAS_TORCH and given:
        before, after = ran(text, given), ran(made, given)
        shared = before.keys() & after.keys()
        assert shared
        assert all(same(before[name], after[name]) for name in shared)


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("TL101", "k = x.sum().item()\nif k != n:\n    raise ValueError(k)\ny = words(k)\n"),  # needed further on
        ("TL101", "y = words(x.tolist())\n"),
        ("TL102", "y = x.cpu()\nfor i in range(n):\n    words(y[i])\n"),  # the copy spares many
        ("TL102", "y = x.cpu()\nz = y + torch.ones(3)\n"),  # meets a tensor of the host
        ("TL102", "y = x.cpu()\nz = y.max().numpy()\n"),
        ("TL102", "parts = [x, x + 1]\nout = [one.cpu() for one in parts]\ny = words(*out)\n"),  # of several shapes
        ("TL305", "ids = torch.triu_indices(3, 3)\ny = x[ids[0]] + ids[0].sum()\n"),  # more than an index
        ("TL305", "ids = torch.triu_indices(3, 3)\ny = x * 2\nz = y[ids[0], ids[1]]\n"),  # made before there is a y
    ],
)
def test_nothing_is_written_where_it_is_not_sure(code: str, body: str) -> None:
    assert offered(code, module(body)) == []


def test_numbers_of_several_tensors_come_from_one_copy() -> None:
    text = module("parts = [x.sum(), x.max()]\ny = [words(one.item()) for one in parts]\n")
    ((safety, _, made),) = offered("TL101", text)
    assert safety is Safety.DISPLAY
    assert "for one in torch.stack(parts).cpu()]" in made


BUFFERED = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(3.0)

    def forward(self, x: torch.Tensor):
        return x * self.table.to(x.device)
"""


def test_a_table_becomes_a_buffer() -> None:
    ((safety, title, made),) = offered("TL103", BUFFERED)
    assert (safety, title) == (Safety.DISPLAY, "register a buffer")
    assert 'self.register_buffer("table", torch.arange(3.0), persistent=False)\n' in made
    assert remaining("TL103", made) == 0
    if HAS_TORCH:
        assert same(ran_net(BUFFERED), ran_net(made))


def ran_net(text: str) -> object:
    made = execute(f"{text}\n\nout = Net()(torch.ones(3))\n")
    assert made.error is None, made.error
    return made.values["out"]


@pytest.mark.parametrize(
    "text",
    [
        BUFFERED.replace("torch.nn.Module", "object").replace("        super().__init__()\n", ""),
        BUFFERED.replace("    def forward", "    def reset(self):\n        self.table = None\n\n    def forward"),
        BUFFERED.replace("torch.arange(3.0)", "torch.arange(3.0)  # c"),
    ],
)
def test_no_buffer_where_the_class_is_not_sure(text: str) -> None:
    assert "register_buffer" not in "".join(made for _, _, made in shown_or_none("TL103", text))


def shown_or_none(code: str, text: str) -> list[tuple[Safety, str, str]]:
    return offered(code, text) if remaining(code, text) else []


TWIN = """\
import torch


def run(loader, device):
    for batch in loader:
        moved = batch.to(device)
        if moved.sum().item() > 0:
            print("some")
"""


def test_the_host_reads_what_it_has() -> None:
    text = TWIN
    ((safety, _, made),) = offered("TL202", text)
    assert safety is Safety.DISPLAY
    assert "        moved = batch.to(device)\n        if batch.sum().item() > 0:\n" in made
    assert remaining("TL202", made) == 0
    if HAS_TORCH:
        end = "\n\nrun([torch.ones(3), torch.zeros(3)], torch.device('cpu'))\n"
        assert execute(text + end).printed == execute(made + end).printed == "some\n"


@pytest.mark.parametrize("between", ["moved = moved / 2", "moved[0] = 1", "moved.add_(1)", "moved += 1"])
def test_the_host_does_not_read_what_is_another_by_then(between: str) -> None:
    text = TWIN.replace("(device)\n", f"(device)\n        {between}\n")
    assert shown_or_none("TL202", text) == []
