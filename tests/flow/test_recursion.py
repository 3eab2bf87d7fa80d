"""Functions that call one another are placed until what they return no longer changes, whichever is asked first."""

from __future__ import annotations

import itertools

import libcst as cst
import pytest

from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import DEVICE, TENSOR
from transferlint.flow.placement.placement import FilePlacement
from transferlint.syntax.lower import lower
from transferlint.syntax.program import Program

MUTUAL = """
import torch

def even(n):
    if n == 0:
        return torch.ones(3, device="cuda")
    return odd(n - 1)

def odd(n):
    return even(n - 1)

def third(n):
    return odd(n) + 1

def fourth(n):
    return third(n) if n else even(n)
"""


def lowered(source: str) -> Program:
    return lower(cst.parse_module(source), "a.py")


def test_the_first_asked_makes_no_difference() -> None:
    results = set()
    for order in itertools.permutations(range(1, 5)):
        placement = FilePlacement(lowered(MUTUAL), AnalysisOptions())
        for index in order:
            placement.place(index)
        returns = [placement.placed[index].returns for index in range(1, 5)]
        results.add(tuple((value.kinds, value.places) if value is not None else None for value in returns))
    assert results == {((TENSOR, DEVICE),) * 4}


def test_a_function_that_calls_itself_rests_on_its_other_returns() -> None:
    source = "import torch\ndef f(n):\n    if n:\n        return f(n - 1) * 2\n    return torch.zeros(3).cuda()\n"
    placement = FilePlacement(lowered(source), AnalysisOptions())
    placed = placement.place(1)
    assert placed is not None
    assert placed.returns is not None
    assert (placed.returns.kinds, placed.returns.places) == (TENSOR, DEVICE)


def test_endless_recursion_ends() -> None:
    placement = FilePlacement(lowered("def f(x):\n    return g(x)\ndef g(x):\n    return [f(x)]\n"), AnalysisOptions())
    assert placement.place(1) is not None
    assert placement.place(2) is not None


@pytest.mark.parametrize("count", [60, 200])
def test_large_groups_end(count: int) -> None:
    """Every function calls the two after it; the last two call the first."""
    names = [f"f{i}" for i in range(count)]
    lines = [f"def {a}(x):\n    return {b}(x) + {c}(x)" for a, b, c in zip(names, names[1:], names[2:], strict=False)]
    lines += [f"def {name}(x):\n    return f0(x) if x else x.cuda()" for name in names[-2:]]
    placement = FilePlacement(lowered("\n".join(lines) + "\n"), AnalysisOptions())
    assert len(placement.settle()) == count + 1
