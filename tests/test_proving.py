"""The measure itself: marks are read exactly, and running an example tells equal from unequal."""

from __future__ import annotations

from collections import Counter

import pytest

from proving import execute, marks, same, without_marks


def test_marks_are_counted_by_line() -> None:
    text = "a  # expect: TL101\nb\n\nc  # expect: TL101, TL101,TL303\n"
    assert marks(text) == Counter({(1, "TL101"): 1, (4, "TL101"): 2, (4, "TL303"): 1})
    assert without_marks(text) == "a\nb\n\nc\n"


@pytest.mark.parametrize("line", ["# expects: TL101", "# expect TL101", "x = 'expect: TL101'", "# expect: 101"])
def test_what_only_looks_like_a_mark_is_none(line: str) -> None:
    assert marks(line + "\n") == Counter()
    assert without_marks(line + "\n") == line + "\n"


def test_marks_leave_line_ends_alone() -> None:
    assert without_marks("a\t# expect: TL101\r\nb\r\n") == "a\r\nb\r\n"
    assert marks("a\r\nb # expect: TL101 \r\n") == Counter({(2, "TL101"): 1})


def test_an_example_runs_on_the_cpu_and_random_numbers_repeat() -> None:
    pytest.importorskip("torch")
    text = 'import torch\nx = torch.rand(3).to("cuda:0")\nprint(x.cuda().device)\n'
    one, two = execute(text), execute(text)
    assert one.error is None
    assert one.printed == "cpu\n"
    assert same(one.values["x"], two.values["x"])
    assert not same(one.values["x"], execute(text, seed=1).values["x"])


def test_an_error_is_kept() -> None:
    pytest.importorskip("torch")
    made = execute("a = 1\nb = undefined\n")
    assert isinstance(made.error, NameError)
    assert made.values == {"a": 1}


def test_same_is_exact() -> None:
    torch = pytest.importorskip("torch")
    nan = float("nan")
    assert same({"a": [1, nan, "x"]}, {"a": [1, nan, "x"]})
    assert same(torch.tensor([1.0, nan]), torch.tensor([1.0, nan]))
    assert not same(1, 1.0)
    assert not same(torch.zeros(2), torch.zeros(2, dtype=torch.float64))
    assert not same(torch.zeros(2), torch.zeros(2, 1))
    assert not same(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    assert not same([1], [1, 2])
