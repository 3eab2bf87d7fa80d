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
        "loss = x.sum()\nif n > 0 and loss < 99:\n    loss.backward()\nelse:\n    n = 0\n",
        "loss = x.sum()\nloss = torch.where(loss < 99, loss, 0)\nif n > 0:\n    loss.backward()\nelse:\n    n = 0\n",
        "",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "total = x.sum() * 0\n"
        "loss = x.sum()\n"
        "if torch.isfinite(loss):\n"
        "    total += loss\n"
        "else:\n"
        "    print('not finite')\n",
        "total = x.sum() * 0\nloss = x.sum()\nloss = torch.where(torch.isfinite(loss), loss, 0)\ntotal += loss\n",
        "torch.ones(3)",
    ),
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
    ("TL301", Safety.DISPLAY, X, "if all(x > 0):\n    n = 1\n", "if torch.all(x > 0):\n    n = 1\n", "torch.ones(3)"),
    (
        "TL301",
        Safety.DISPLAY,
        X,
        "k = torch.randint(0, 1, (1,), device=x.device)\n"
        "if k == 0:\n"
        "    n = 4\n"
        "y = torch.zeros((2, k), device=x.device)\n",
        "k = torch.randint(0, 1, (1,))\nif k == 0:\n    n = 4\ny = torch.zeros((2, k), device=x.device)\n",
        "torch.ones(3)",
    ),
    (
        "TL301",
        Safety.DISPLAY,
        XL,
        "longest = lengths.max()\nif x.shape[1] != longest:\n    x = x.narrow(1, 0, longest)\nn = 4\n",
        "longest = lengths.max()\nn = 4\n",
        "torch.ones(2, 3), torch.tensor([3, 1])",
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
    assert remaining(code, made) == int("torch.all(" in fixed)  # once, not for every element
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
        "loss = x.sum()\nif loss < 9:\n    n = words(loss)\n",
        "a = x.sum()\nif a < 9:\n    b = x.sum()\n    b.backward()\n",
        "longest = x.max()\nif n != longest:\n    x = x.narrow(0, 0, longest)\n",  # not a size of x
    ],
)
def test_no_branch_goes_where_it_is_not_sure(body: str) -> None:
    assert offered("TL301", module(body)) == []


@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_a_loss_that_is_left_out_has_no_gradient() -> None:
    body = "x.requires_grad_()\nloss = x.sum()\nif n > 0 and loss < 2:\n    loss.backward()\ng = x.grad\n"
    ((_, _, made),) = offered("TL301", module(body))
    for given in ("torch.ones(3)", "torch.ones(1)"):
        before, after = ran(module(body), given)["g"], ran(made, given)["g"]
        assert after is not None
        assert same(before if before is not None else after * 0, after)
