"""Where host data goes up."""

from collections.abc import Sequence
from typing import Any

from jax._src.array import ArrayImpl


def batched_device_put(
    aval: Any, sharding: Any, xs: Sequence[Any], devices: Sequence[Any], committed: bool = True
) -> Any:
    """Put it there."""
    return ArrayImpl(getattr(xs[0], "_kept", xs[0]), devices[0])
