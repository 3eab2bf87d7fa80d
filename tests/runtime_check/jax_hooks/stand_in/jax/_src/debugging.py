"""Calls of the host, for debugging."""

from collections.abc import Callable
from typing import Any


def debug_callback(callback: Callable[..., Any], *args: Any) -> None:
    """Call it."""
    callback(*args)


def debug_print(fmt: str, *args: Any) -> None:
    """Print it."""
    _format_print_callback(fmt, *args)


def _format_print_callback(fmt: str, *args: Any) -> None:
    fmt.format(*(one._value for one in args))
