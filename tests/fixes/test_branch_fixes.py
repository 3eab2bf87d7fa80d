"""Fixes of branches and loops on a device value, and of calls that check their data: the text, that it computes the
same, and that nothing is written where that is not to be had."""

from __future__ import annotations

import importlib.util

import pytest
from showing import module, offered, ran, remaining

from proving import same
from transferlint.model import Safety

HAS_TORCH = importlib.util.find_spec("torch") is not None
X = "x: torch.Tensor"
XL = "x: torch.Tensor, lengths: torch.Tensor"
XO = "x: torch.Tensor, other: torch.Tensor"

# code, safety, arguments, body, what the fix makes of it, arguments to run both with ("" for none: another result is
# meant, or there is more to call)
CASES = [
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "m = x > 9\nif m.any():\n    # where it is large\n    y = torch.where(m, x, 0)\n    x = x - y\n",
        "m = x > 9\n# where it is large\ny = torch.where(m, x, 0)\nx = x - y\n",
        "torch.arange(12.)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "m = x > 9\nif words is None and m.any():\n    x = torch.where(m, 0, x)\n",
        "m = x > 9\nif words is None:\n    x = torch.where(m, 0, x)\n",
        "torch.arange(12.)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "m = x > 9\nif not m.any():\n    return {'x': x}\nx = torch.where(m, 0, x)\n",
        "m = x > 9\nx = torch.where(m, 0, x)\n",
        "",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "m = x > 9\nif m.sum() == 0:\n    return {'x': x}\nx = torch.where(m, 0, x)\n",
        "m = x > 9\nx = torch.where(m, 0, x)\n",
        "",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "m = x.sum()\ny = x[0] if m > 1 else x[1]\n",
        "m = x.sum()\ny = torch.where(m > 1, x[0], x[1])\n",
        "torch.arange(5.)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "y = torch.linalg.solve(x, x)\n",
        "y = torch.linalg.solve_ex(x, x).result\n",
        "torch.eye(3)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "y = torch.inverse(x) + x.inverse()\n",
        "y = torch.linalg.inv_ex(x).inverse + torch.linalg.inv_ex(x).inverse\n",
        "torch.eye(3)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "y = torch.linalg.cholesky(x, upper=True)\n",
        "y = torch.linalg.cholesky_ex(x, upper=True).L\n",
        "torch.eye(3)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "y = torch.distributions.Normal(x, x.exp()).mean\n",
        "y = torch.distributions.Normal(x, x.exp(), validate_args=False).mean\n",
        "torch.ones(3)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "y = torch.normal(torch.zeros_like(x), torch.ones_like(x)) * 0\n",
        "y = torch.randn_like(x) * 0\n",
        "torch.ones(3)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "y = torch.normal(x, x.exp()) * 0\n",
        "y = (x + x.exp() * torch.randn_like(x.exp())) * 0\n",
        "torch.ones(3)",
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
        "if x.sum() > 0:\n    x = x.narrow(0, 0, 2)\n",  # no mask
        "m = x > 0\nif m.any():\n    words(x)\n",  # nothing to do with the mask
        "m = x > 0\nif m.any():\n    return {'m': m}\n",
        "m = x > 0\nif m.any():\n    x = torch.where(m, 0, x)\n    n = 4\nelse:\n    x = x + 1\n",
        "m = x > 0\nif not m.any():\n    return {}\nx = x + 1\n",  # the rest does not ask the mask
        "m = x > 0\nwhile m.any():\n    assert n\n    m = m & (x > n)\n",
        "m = x > 0\nwhile m.any():\n    m = m & (x > 1)\nelse:\n    n = 0\n",
        "k = x.sum()\nwhile k > 0:\n    k = k - 1\n",  # a number, and no mask
        "for i in range(n):\n    x = x + 1\n    if i >= x.sum():\n        break\n",  # the turn itself
        "for one in words:\n    x = x + one\n    if x[0] > 9:\n        break\n",  # may be so in one turn alone
        "y = x + 1 if x else x\n",  # no condition that torch.where takes
    ],
)
def test_no_branch_goes_where_it_is_not_sure(body: str) -> None:
    assert offered("TL301", module(body)) == []
