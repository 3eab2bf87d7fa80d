"""Arithmetic put in the place of one operand has parentheses where the operators beside it would take it apart."""

from __future__ import annotations

import ast
import types
from typing import cast

import pytest

from transferlint.flow.facts import FunctionFacts
from transferlint_rules.code.statement_text import in_place

BARE = (
    "y = X\n",
    "y = X + 3",
    "f(X, 3)",
    "f(a, X\n)",
    "y = X if c else d",
    "y = 3 if X > 2 else 5",
    "def f():\n    return X\n\n@d\ndef g(): ...",
    "y = [X for _ in z]",
    "y: int = X  # *",
    "y = X\n\n\n@d\nclass A: ...",
)
CLOSED = (
    "y = X * 3",
    "y = 2 - X",
    "y = 2 * X",
    "y = X.to(d)",
    "y = (a\n  * X)",
    "y = -X",
    "y = ~X",
    "y = (a *  # b\n X)",
    "y = X[0]",
    "y = X(1)",
    "f(X\n  .to(3))",
    "f(X\n   @ b)",
    "y = a ** X",
    "y = X ** 2",
    "y = X \\\n / 2",
    "async def f():\n    await X",
)


def placed(text: str) -> str:
    """The text with a sum where its `X` stands."""
    at = text.index("X")
    function = cast(FunctionFacts, types.SimpleNamespace(file=types.SimpleNamespace(text=text)))
    return text[:at] + in_place(function, at, at + 1, "m + s") + text[at + 1 :]


@pytest.mark.parametrize("text", BARE + CLOSED)
def test_the_sum_is_one_operand_as_what_it_stands_for_was(text: str) -> None:
    assert ("(m + s)" in placed(text)) is (text in CLOSED)
    assert ast.dump(ast.parse(placed(text))) == ast.dump(ast.parse(text.replace("X", "(m + s)")))
