"""The class of arrays."""

from types import SimpleNamespace
from typing import Any

import numpy as np

DEVICE = SimpleNamespace(platform="cpu", device_kind="cpu")


class ArrayImpl:
    """An array on a device."""

    def __init__(self, value: Any, device: Any = DEVICE) -> None:
        self._kept = np.array(value)
        self._device = device
        self._npy_value = None
        self.nbytes = self._kept.nbytes
        self.sharding = SimpleNamespace(memory_kind="device")

    @property
    def _value(self) -> Any:
        return self._kept

    def devices(self) -> list[Any]:
        """Where it lies."""
        return [self._device]

    def block_until_ready(self) -> "ArrayImpl":
        """Wait for it."""
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._value, dtype=dtype)

    def __float__(self) -> float:
        return float(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)
