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

UNIQUE = {("v", "TL304"), ("i", "TL304")}  # what is between

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
        "TL302",
        Safety.DISPLAY,
        XL,
        "y = x.narrow(1, 0, int(lengths.max())) + 1\n",
        "y = x + 1\n",
        "torch.ones(2, 3), torch.tensor([3, 1])",
    ),
    (
        "TL302",
        Safety.DISPLAY,
        XL,
        "whole = (lengths * x.shape[1]).round().long()\n"
        "y = torch.arange(whole.max(), device=x.device)[None] < whole[:, None]\n",
        "whole = (lengths * x.shape[1]).round().long()\n"
        "y = torch.arange(x.shape[1], device=x.device)[None] < whole[:, None]\n",
        "torch.ones(2, 3), torch.tensor([1.0, 0.5])",
    ),
    (
        "TL302",
        Safety.DISPLAY,
        XL,
        "longest = max(lengths)\ny = torch.arange(longest, device=x.device)\n",
        "longest = lengths.max()\ny = torch.arange(longest, device=x.device)\n",
        "torch.ones(2, 3), torch.tensor([3, 1])",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        X,
        "large = x[x > 1]\nif large.numel() > 0:\n    y = large.mean()\n",
        "kept = x > 1\ny = torch.where(kept, x, 0).sum() / kept.sum()\n",
        "torch.arange(5.)",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        X,
        "x = x[x > 1]\nif x.nelement() > 0:\n    x = x.sum()\n",
        "kept = x > 1\nx = torch.where(kept, x, 0).sum()\n",
        "torch.arange(5.)",
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
        XL,
        "m = lengths > 1\nrows = torch.ones(1, 3)\nx = x.clone()\nx[m] = rows.reshape(-1, 3)\n",
        "m = lengths > 1\n"
        "rows = torch.ones(1, 3)\n"
        "x = x.clone()\n"
        "x.masked_scatter_(m.unsqueeze(-1), rows.reshape(-1, 3))\n",
        "torch.zeros(2, 3), torch.tensor([3, 1])",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        X,
        "v, i = torch.unique(x, return_inverse=True, dim=0)\ny = (v * 2)[i]\n",
        "v, i = x, torch.arange(x.shape[0], device=x.device)\ny = (v * 2)[i]\n",
        "torch.ones(3, 2)",
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
    assert remaining(code, made) == int("= lengths.max()" in fixed)  # the read is one, and no more
    if HAS_TORCH and given:
        before, after = ran(text, given), ran(made, given)
        shared = before.keys() & after.keys()
        assert shared
        assert all(same(before[name], after[name]) for name in shared if (name, code) not in UNIQUE)


def wrapped(call: str) -> str:
    """A module that asks a function for a mask, which finds the longest itself where nobody says it."""
    return (
        "import torch\n\n\n"
        "def mask_of(lengths, max_len=None):\n"
        "    if max_len is None:\n"
        "        max_len = int(lengths.max().item())\n"
        "    return torch.arange(max_len, device=lengths.device)[None] < lengths[:, None]\n\n\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor, parts: torch.Tensor):\n"
        "        whole = torch.round(parts * x.shape[1])\n"
        f"        return {call}\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "y = x[lengths.min() :]\n",  # another end
        "y = x[: lengths.max() : 2]\n",
        "whole = lengths * n\ny = torch.arange(whole.max(), device=x.device)\n",  # no size
        "whole = lengths * x.shape[0]\nx = x[1:]\ny = torch.arange(whole.max(), device=x.device)\n",
    ],
)
def test_no_length_is_replaced_where_no_size_is_known(body: str) -> None:
    assert [title for _, title, _ in offered("TL302", module(body, XL)) if "size" in title or "padding" in title] == []


@pytest.mark.parametrize(
    "body",
    [
        "y = x[x > 1]\n",
        "y = x[x > 1]\nn = 4\nif y.numel() > 0:\n    y = y.mean()\n",  # not the next statement
        "y = x[x > 1]\nif y.numel() > 0:\n    y = y.mean()\nelse:\n    n = 4\n",
        "y = x[x > 1]\nif y.numel() > 0:\n    y = y.mean(dim=0)\n",
        "m = x > 1\ny = x * 2\ny[m] = x[x > 2]\n",  # another mask
        "v, i = torch.unique(x, return_inverse=True, dim=0)\ny = i + 1\n",  # more than an index
        "v, c = torch.unique(x, return_counts=True, dim=0)\n",
    ],
)
def test_no_selection_is_replaced_where_it_is_not_sure(body: str) -> None:
    assert offered("TL304", module(body)) == []
