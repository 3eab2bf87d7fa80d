"""Fixes that a person should look at, and those that are only shown: the text they make, that it is Python, that it
computes the same where the docstring of the rule says so, and that nothing is left to find."""

from __future__ import annotations

import ast
import importlib.util

import pytest
from showing import RULES, module, ran

from proving import check_bytes, fix, same
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Safety

HAS_TORCH = importlib.util.find_spec("torch") is not None


def shown(code: str, text: str) -> tuple[Safety, str]:
    """How safe the fix of the only finding is, and the text that it makes."""
    (found,) = check_bytes("example.py", text.encode(), [RULES[code]])
    assert found.fix is not None
    made = apply_edits(text, found.fix.edits)
    ast.parse(made)
    assert not check_bytes("example.py", made.encode(), [RULES[code]]), "still found"
    if found.fix.safety is Safety.DISPLAY:
        assert fix(text, RULES[code], unsafe=True).text == text, "what is only shown was applied"
    return found.fix.safety, made


# code, safety, body, what the fix makes of it, arguments to run both with ("" for none: another result is meant)
ONES = "torch.ones(3)"
CASES = [
    (
        "TL301",
        Safety.DISPLAY,
        'assert torch.all(x == 1), "ones"\n',
        'torch._assert_async(torch.all(x == 1), "ones")\n',
        ONES,
    ),
    ("TL301", Safety.DISPLAY, "assert (\n    x.sum() > 0\n)\n", "torch._assert_async(x.sum() > 0)\n", ONES),
    (
        "TL301",
        Safety.DISPLAY,
        "if torch.any(x.isnan()):\n    raise ValueError('no number')\n",
        "torch._assert_async(~torch.any(x.isnan()), 'no number')\n",
        ONES,
    ),
    (
        "TL301",
        Safety.DISPLAY,
        "if torch.any(x.isnan()):\n    raise ValueError(f'{n}')\n",
        "torch._assert_async(~torch.any(x.isnan()))\n",
        ONES,
    ),
    (
        "TL301",
        Safety.DISPLAY,
        "if not (x > 0).all() or x.isnan().any():\n    raise ValueError()\n",
        "torch._assert_async((x > 0).all() & ~x.isnan().any())\n",
        ONES,
    ),
    (
        "TL301",
        Safety.DISPLAY,
        "if (x < 0).any():\n    raise ValueError()\n",
        "torch._assert_async((x >= 0).all())\n",
        ONES,
    ),
    (
        "TL301",
        Safety.DISPLAY,
        "if torch.logical_not(torch.all(x == 1)):\n    raise ValueError()\n",
        "torch._assert_async(torch.all(x == 1))\n",
        ONES,
    ),
    ("TL301", Safety.DISPLAY, "m = x > 2\nif m.any():\n    x[m] = 0\n", "m = x > 2\nx[m] = 0\n", "torch.arange(5.)"),
    ("TL301", Safety.DISPLAY, "m = x > 9\nif m.any():\n    x[m] += 1\n", "m = x > 9\nx[m] += 1\n", "torch.arange(5.)"),
    (
        "TL301",
        Safety.DISPLAY,
        "c = x.sum()\nif c < 4:\n    c = c * 2\n",
        "c = x.sum()\nc = torch.where(c < 4, c * 2, c)\n",
        ONES,
    ),
    (
        "TL301",
        Safety.DISPLAY,
        "c = x.sum()\nif c < 1:\n    y = c * 0.0\nelse:\n    y = x.sum() / c\n",
        "c = x.sum()\ny = torch.where(c < 1, c * 0.0, x.sum() / c)\n",
        ONES,
    ),
    (
        "TL304",
        Safety.DISPLAY,
        "m = x > 1\ny = x[m].sum()\n",
        "m = x > 1\ny = torch.where(m, x, 0).sum()\n",
        "torch.arange(5.)",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        "y = 1 + x.masked_select(x > 1).mean()\n",
        "y = 1 + torch.where(x > 1, x, 0).sum() / (x > 1).sum()\n",
        "torch.arange(5.)",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        "y = x.clone()\ny[y > 1] = x.sum()\n",
        "y = x.clone()\ny.masked_fill_(y > 1, x.sum())\n",
        "torch.arange(5.)",
    ),
    (
        "TL304",
        Safety.DISPLAY,
        "t = x.sum()\nm = x > 1\nx = x + 1\nx[m] -= t\n",
        "t = x.sum()\nm = x > 1\nx = x + 1\nx = torch.where(m, x - t, x)\n",
        "torch.arange(5.)",
    ),
    (
        "TL104",
        Safety.UNSAFE,
        "y = torch.zeros(5, 2, device=x.device)\ny[x.argsort(), 1] = -0.5\n",
        "y = torch.zeros(5, 2, device=x.device)\ny[x.argsort(), 1] = y.new_full((), -0.5)\n",
        "torch.arange(5.)",
    ),
    (
        "TL104",
        Safety.UNSAFE,
        "y = torch.ones(5, 2, device=x.device)\ny[x.argsort()] = 0\n",
        "y = torch.ones(5, 2, device=x.device)\ny[x.argsort()] = y.new_zeros(())\n",
        "torch.arange(5.)",
    ),
    (
        "TL104",
        Safety.UNSAFE,
        "y = torch.ones((5, 2), dtype=torch.long, device=x.device)\ny[-1, 0] = 2.5\n",
        "y = torch.ones((5, 2), dtype=torch.long, device=x.device)\ny[-1, 0].fill_(2.5)\n",
        "torch.arange(5.)",
    ),
    (
        "TL107",
        Safety.DISPLAY,
        "y = 0\nfor v in x:\n    if v > 1:\n        y += 1\n",
        "y = 0\nfor v in x.cpu():\n    if v > 1:\n        y += 1\n",
        "",
    ),
    (
        "TL107",
        Safety.DISPLAY,
        "y = []\nfor i in range(n):\n    if x[i] > 1:\n        y.append(x[i].item())\n",
        "y = []\nx_on_host = x.cpu()\nfor i in range(n):\n    if x_on_host[i] > 1:\n"
        "        y.append(x_on_host[i].item())\n",
        "torch.arange(5.)",
    ),
    # elements of one tensor, all at once
    (
        "TL104",
        Safety.DISPLAY,
        "y = x + torch.tensor(self.words, device=x.device)\n",
        "y = x + torch.tensor(self.words).to(x.device, non_blocking=True)\n",
        "",
    ),
    (
        "TL104",
        Safety.UNSAFE,
        "y = x + torch.tensor([n] * x.size(0), dtype=x.dtype, device=x.device)\n",
        "y = x + torch.full((x.size(0),), n, dtype=x.dtype, device=x.device)\n",
        ONES,
    ),
    (
        "TL104",
        Safety.SAFE,
        "y = x + torch.tensor(x.shape[0], device=x.device)\n",
        "y = x + torch.full((), x.shape[0], device=x.device)\n",
        ONES,
    ),
    (
        "TL104",
        Safety.SAFE,
        "y = x + torch.tensor([-math.pi], device=x.device)\n",
        "y = x + torch.full((1,), -math.pi, device=x.device)\n",
        ONES,
    ),
    (
        "TL401",
        Safety.UNSAFE,
        "y = torch.Tensor([0]).to(x.device)\n",
        "y = torch.zeros(1, device=x.device)\n",
        ONES,
    ),
    (
        "TL401",
        Safety.DISPLAY,
        "y = torch.LongTensor(\n    [n] * x.size(0),\n).to(x.device)\n",
        "y = torch.full(\n    (x.size(0),),\n    n,\n    dtype=torch.long,\n    device=x.device,\n)\n",
        ONES,
    ),
    (
        "TL401",
        Safety.UNSAFE,
        "y = torch.LongTensor(n, 2).to(x.device).zero_()\n",
        "y = torch.zeros(n, 2, dtype=torch.long, device=x.device)\n",
        ONES,
    ),
    (
        "TL401",
        Safety.DISPLAY,  # a statement goes
        "y = torch.zeros(n, 2)\ny[:, 0] = 1.0\ny = y.to(x.device)\n",
        "y = torch.zeros(n, 2, device=x.device)\ny[:, 0] = 1.0\n",
        ONES,
    ),
    (
        "TL401",
        Safety.DISPLAY,
        "y = (torch.ones(n) * 2.5).long().to(x.device)\n",
        "y = (torch.ones(n, device=x.device) * 2.5).long()\n",
        ONES,
    ),
    (
        "TL401",
        Safety.DISPLAY,
        "y = torch.LongTensor(sorted(words)).to(x.device)\n",
        "y = torch.LongTensor(sorted(words)).to(x.device, non_blocking=True)\n",
        "",
    ),
    (
        "TL401",
        Safety.DISPLAY,
        "y = torch.tensor(2.5).to(x)\n",
        "y = torch.tensor(2.5, device=x.device, dtype=x.dtype)\n",
        "torch.ones(3)",
    ),
]


@pytest.mark.parametrize(("code", "safety", "body", "fixed", "argument"), CASES)
def test_the_text_is_what_the_page_says(code: str, safety: Safety, body: str, fixed: str, argument: str) -> None:
    text = module(body)
    assert shown(code, text) == (safety, module(fixed))
    if HAS_TORCH and argument:
        assert same(ran(text, argument), ran(module(fixed), argument))


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("TL301", "if x.sum() > 0:  # most of the time\n    x = x * 2\n"),
        ("TL301", "if x.sum() > 0:\n    x = x.narrow(0, 0, 2)\n"),
        ("TL301", "if x.sum() > 0:\n    x = x * 2\n    y = x\n"),
        ("TL301", "if x.sum() > 0:\n    x = x * 2\n# so much for that\n    n += 1\n"),
        ("TL301", "if words:\n    pass\nelif x.sum() > 0:\n    x = x * 2\n"),
        ("TL301", "while x.sum() > 0:\n    x = x - 1\n"),
        ("TL301", "assert x.sum() > 0, (  # why\n    'words')\n"),
        ("TL304", "m = x > 1\ny = x[m]\n"),
        ("TL304", "y = x.nonzero()\n"),
        ("TL107", "y = 0\nfor v in x:\n    if v > 1:\n        y = y + v\n"),
        ("TL401", "y = torch.zeros(n, 2)\nz = y + 1\ny = y.to(x.device)\n"),
        ("TL401", "y = torch.zeros(n, 2)\nd = x.device\ny = y.to(d)\n"),
        ("TL401", "y = torch.FloatTensor(2,  # two\n).to(x.device)\n"),
        ("TL401", "y = (torch.ones(2) * torch.rand(2)).to(x.device)\n"),
    ],
)
def test_nothing_is_written_where_it_is_not_sure(code: str, body: str) -> None:
    found = check_bytes("example.py", module(body).encode(), [RULES[code]])
    assert found
    assert [one.fix for one in found] == [None] * len(found)
