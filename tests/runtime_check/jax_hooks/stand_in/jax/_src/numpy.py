"""Functions of jax.numpy."""

from typing import Any

from jax._src.api import jit

_stage = jit(lambda value: value)


def asarray(value: Any) -> Any:
    """Make an array of it."""
    return _stage(value)
