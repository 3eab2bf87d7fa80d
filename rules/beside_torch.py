"""The examples of rules for frameworks beside torch."""

from __future__ import annotations

from transferlint.rule import Example

from .examples_cupy import EXAMPLES as OF_CUPY
from .examples_jax import EXAMPLES as OF_JAX
from .examples_tensorflow import EXAMPLES as OF_TENSORFLOW


def examples(code: str) -> tuple[Example, ...]:
    """Those of one rule."""
    return tuple(example for of, example in (*OF_JAX, *OF_TENSORFLOW, *OF_CUPY) if of == code)
