"""Functions that programs call."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jax import monitoring
from jax._src.array import DEVICE, ArrayImpl
from jax._src.interpreters import pxla


class PjitFunction:
    """A compiled function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        monitoring.record_event_duration_secs("/jax/core/compile/backend_compile_duration", 0.25)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        def plain(value: Any) -> Any:
            return getattr(value, "_kept", value)

        return ArrayImpl(self._function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()}))


def jit(function: Callable[..., Any]) -> PjitFunction:
    """Compile it."""
    return PjitFunction(function)


def device_put(x: Any, device: Any = DEVICE) -> Any:
    """Send it."""
    return pxla.batched_device_put(None, None, [x], [device])


def device_get(x: Any) -> Any:
    """Fetch it."""
    if isinstance(x, list):
        return [device_get(one) for one in x]
    return np.asarray(x.__array__())


def block_until_ready(x: Any) -> Any:
    """Wait for it."""
    return x
