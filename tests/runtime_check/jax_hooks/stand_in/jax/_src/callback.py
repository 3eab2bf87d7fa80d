"""Calls of the host."""

from collections.abc import Callable
from typing import Any


def pure_callback(callback: Callable[..., Any], result: Any, *args: Any) -> Any:
    """Call it."""
    return callback(*args)
