"""The examples of rules for frameworks beside torch: read where somebody wants to see or to try them."""

from __future__ import annotations

import functools
from collections.abc import Callable

from transferlint.rule import Example


def examples(code: str) -> Callable[[], tuple[Example, ...]]:
    """What gives those of one rule."""
    return functools.partial(_examples, code)


def _examples(code: str) -> tuple[Example, ...]:
    # Long texts, of which a check has no use.
    from .examples_cupy import EXAMPLES as OF_CUPY
    from .examples_jax import EXAMPLES as OF_JAX
    from .examples_tensorflow import EXAMPLES as OF_TENSORFLOW

    return tuple(example for of, example in (*OF_JAX, *OF_TENSORFLOW, *OF_CUPY) if of == code)
