"""The two ends of a transfer as plain numbers, and the lives of the storages that they lie in.

Torch keeps the Python object of a storage as long as the storage (THPStorage_tryPreserve), so a weak reference to it
ends when the memory is freed or handed on.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
import zlib
from collections.abc import Callable
from typing import Any

from runtime_check.events import Memory

_COPIED = 1 << 14  # bytes that are copied in less time than it takes to look at them where they are
CHECKED = 4 << 20  # bytes; the content of what is larger is not summed: it would cost more than the copy


class Ends:
    """Describes tensors. `note("gone", serial)` is called when a host storage is freed."""

    def __init__(self, note: Callable[[str, int], None]) -> None:
        import torch

        self._note = note
        self._serials: dict[int, tuple[int, weakref.ref[Any]]] = {}  # by address of the storage's C++ object
        self._names: dict[Any, str] = {}
        self._next = itertools.count(1).__next__
        self._storage = torch._C.TensorBase.untyped_storage  # not the method, which is wrapped
        self._pointer = torch._C.TensorBase.data_ptr
        self._inference = torch.Tensor.is_inference
        self._strided = torch.strided

    def forget(self) -> None:
        """Let go of all storages, without telling."""
        self._serials.clear()

    def of(self, tensor: Any, content: bool, written: int = 0) -> Memory | None:
        """One end of a copy; None for what has no strides. `content`: it lies in host memory, and is summed; `written`
        is how far its version will have risen when the call has returned."""
        if tensor.layout is not self._strided:
            return None
        storage, pointer = self._storage(tensor), self._pointer(tensor)
        return Memory(
            pointer,
            storage.data_ptr(),
            storage.nbytes(),
            tensor.nbytes,
            tuple(tensor.shape),
            tensor.stride(),
            self._names.get(tensor.dtype) or self._name(tensor.dtype),
            0 if self._inference(tensor) else tensor._version + written,
            self._serial(storage, tensor.is_cpu),
            checksum(tensor, pointer) if content and tensor.nbytes <= CHECKED else None,
        )

    def _name(self, dtype: Any) -> str:
        return self._names.setdefault(dtype, str(dtype).rpartition(".")[2])

    def _serial(self, storage: Any, host: bool) -> int:
        address = storage._cdata
        found = self._serials.get(address)
        if found is None:
            number = self._next()
            end = weakref.ref(storage, lambda _: self._freed(address, number, host))
            found = self._serials[address] = (number, end)
        return found[0]

    def _freed(self, address: int, number: int, host: bool) -> None:
        if self._serials.get(address, (0,))[0] == number:
            del self._serials[address]
            if host:  # of a device's storage nobody needs to know
                self._note("gone", number)


def checksum(tensor: Any, pointer: int) -> int:
    """The CRC-32 of a host tensor's elements in their order, whatever its strides; its first lies at `pointer`."""
    if not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg():
        import torch

        tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
        pointer = torch._C.TensorBase.data_ptr(tensor)  # not by the method, which is wrapped
    if tensor.nbytes <= _COPIED:
        return zlib.crc32(ctypes.string_at(pointer, tensor.nbytes))
    return zlib.crc32((ctypes.c_char * tensor.nbytes).from_address(pointer))
