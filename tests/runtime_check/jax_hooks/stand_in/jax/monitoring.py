"""jax.monitoring."""

from collections.abc import Callable
from typing import Any

_listeners: list[Callable[..., Any]] = []


def register_event_duration_secs_listener(callback: Callable[..., Any]) -> None:
    """Call it with an event's name and its seconds."""
    _listeners.append(callback)


def unregister_event_duration_listener(callback: Callable[..., Any]) -> None:
    """Call it no more."""
    _listeners.remove(callback)


def record_event_duration_secs(event: str, duration: float) -> None:
    """Tell all of them."""
    for callback in _listeners:
        callback(event, duration)
