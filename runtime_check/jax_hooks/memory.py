"""Which memory is which: arrays that were read, host memory that went up, and on which device an array lies."""

from __future__ import annotations

import itertools
import sys
import weakref
import zlib
from typing import TYPE_CHECKING, Any

from runtime_check.events import Memory

if TYPE_CHECKING:
    from runtime_check.jax_hooks.tap import Tap

HOST = "cpu"  # the platform whose device is the host itself
_CHECKED = 4 << 20  # bytes; the content of what is larger is not summed


class Read:
    """Which arrays have been read: an accelerator's array keeps what the host was given, and a second read of the same
    array crosses nothing (jax/_src/array.py: `_npy_value`). On the CPU JAX keeps nothing, so it is kept here."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}

    def add(self, array: Any) -> None:
        """It has been read."""
        key, known = id(array), self._known
        known[key] = weakref.ref(array, lambda _: known.pop(key, None))

    def __contains__(self, array: Any) -> bool:
        found = self._known.get(id(array))
        return (found is not None and found() is array) or getattr(array, "_npy_value", None) is not None


class Serials:
    """A number for the object that owns an array's memory, as long as it lives; below 0, so that none is one of torch's
    storages."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._next = itertools.count(-1, -1).__next__

    def of(self, array: Any) -> int:
        """The number of the array that owns the memory; 0 where something else owns it."""
        owner = array
        while getattr(owner, "base", None) is not None:
            owner = owner.base
        known, key = self._known, id(owner)
        found = known.get(key)
        if found is not None and found[1]() is owner:
            return found[0]
        try:
            end = weakref.ref(owner, lambda _: known.pop(key, None))
        except TypeError:  # bytes, a memory map's file
            return 0
        number = self._next()
        known[key] = number, end
        return number


def memory_of(serials: Serials, value: Any) -> Memory | None:
    """Where an array of numpy's lies, and its content's checksum, for provenance; None for what is no such array."""
    numpy: Any = sys.modules["numpy"]
    if not isinstance(value, numpy.ndarray) or not value.size or value.dtype.hasobject:
        return None
    plain = value.view(numpy.ndarray)  # JAX has a class of its own for those that it was given
    pointer = plain.ctypes.data
    return Memory(
        pointer,
        pointer,
        plain.nbytes,
        plain.nbytes,
        tuple(plain.shape),
        tuple(stride // plain.itemsize for stride in plain.strides),
        str(plain.dtype),
        0,
        serials.of(value),
        zlib.crc32(numpy.ascontiguousarray(plain).tobytes()) if plain.nbytes <= _CHECKED else None,
    )


def sent_bytes(value: Any, wide: bool) -> int:
    """How many bytes of host data go up. Unless `wide` (`jax_enable_x64`), JAX makes 32 bits of 64 (docs.jax.dev
    'Default dtypes and the X64 flag')."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return 8 if wide else 4
    item = int(dtype.itemsize)
    narrowed = not wide and dtype.kind in "iufc" and item == (16 if dtype.kind == "c" else 8)
    return int(getattr(value, "size", 1)) * (item // 2 if narrowed else item)


def platform_of(tap: Tap, array: Any) -> str:
    """The platform whose memory an array lies in; "" where that is the host's though its device is not the host, or
    where the array is gone."""
    try:
        device = next(iter(array.devices()))
        kind = getattr(array.sharding, "memory_kind", None) or ""
    except (RuntimeError, StopIteration, AttributeError):
        return ""
    platform = tap.seen_on(device)
    return "" if platform != HOST and "host" in str(kind) else platform
