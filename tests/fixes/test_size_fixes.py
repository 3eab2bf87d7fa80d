"""Fixes of sizes that the device decides, and of the length of the longest: the text, and that it computes the same."""

from __future__ import annotations

import importlib.util

import pytest
from showing import module, offered, ran, remaining

from proving import same
from transferlint.model import Safety

HAS_TORCH = importlib.util.find_spec("torch") is not None
X = "x: torch.Tensor"
XL = "x: torch.Tensor, lengths: torch.Tensor"

# code, safety, arguments, body, what the fix makes of it, arguments to run both with ("" for none: another result is
# meant, or there is more to call)
CASES = [
    (
        "TL302",
        Safety.DISPLAY,
        XL,
        "x = x[:, : lengths.max()]\ny = x * 2\n",
        "y = x * 2\n",
        "torch.ones(2, 3), torch.tensor([3, 1])",
    ),
    ("TL302", Safety.DISPLAY, XL, "y = x[:, : lengths.max()]\n", "y = x\n", "torch.ones(2, 3), torch.tensor([3, 1])"),
    (
        "TL302",
        Safety.DISPLAY,
        XL,
        "y = x[n:, : lengths.max()]\n",
        "y = x[n:, :]\n",
        "torch.ones(2, 3), torch.tensor([3, 1])",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        X,
        "m = x > 1\ny = torch.zeros_like(x)\ny[m] += x[m]\n",
        "m = x > 1\ny = torch.zeros_like(x)\ny.copy_(torch.where(m, y + x, y))\n",
        "torch.arange(5.)",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        X,
        "m = x > 1\ny = torch.zeros_like(x)\ny[~m] = x[~m]\n",
        "m = x > 1\ny = torch.zeros_like(x)\ny.copy_(torch.where(~m, x, y))\n",
        "torch.arange(5.)",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        X,
        "y = []\nfor k in range(x.shape[0]):\n    y.append(x[k].nonzero().tolist())\n",
        "y = []\nx_on_host = x.cpu()\nfor k in range(x.shape[0]):\n    y.append(x_on_host[k].nonzero().tolist())\n",
        "torch.ones(3, 2)",
    ),
]


@pytest.mark.parametrize(("code", "safety", "arguments", "body", "fixed", "given"), CASES)
def test_the_text_is_what_the_page_says(
    code: str, safety: Safety, arguments: str, body: str, fixed: str, given: str
) -> None:
    text = module(body, arguments)
    ((found, _, made),) = offered(code, text)
    assert (found, made) == (safety, module(fixed, arguments))
    assert remaining(code, made) == 0
    if HAS_TORCH and given:
        before, after = ran(text, given), ran(made, given)
        shared = before.keys() & after.keys()
        assert shared
        assert all(same(before[name], after[name]) for name in shared)


@pytest.mark.parametrize(
    "body",
    [
        "y = x[lengths.min() :]\n",  # another end
        "y = x[: lengths.max() : 2]\n",
    ],
)
def test_no_other_slice_is_left_out(body: str) -> None:
    assert [title for _, title, _ in offered("TL302", module(body, XL)) if "padding" in title] == []


@pytest.mark.parametrize(
    "body",
    [
        "y = x[x > 1]\n",
        "m = x > 1\ny = x * 2\ny[m] = x[x > 2]\n",  # another mask
    ],
)
def test_no_selection_is_replaced_where_it_is_not_sure(body: str) -> None:
    assert offered("TL304", module(body)) == []
