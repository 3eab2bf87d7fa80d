"""An allocator of device memory, for the one place in C++ that asks CUDA's hooks for it: quantised tensors
(aten/src/ATen/quantized/Quantizer.cpp: new_qtensor).

It is the CPU's own with its `allocate` replaced: what that gives is said to lie on the device. See
c10/core/Allocator.h; a `DataPtr` is a pointer, its owner with its deleter, and the device, and comes back by address
because it has a destructor (Itanium C++ ABI).
"""

from __future__ import annotations

import ctypes
from ctypes import c_int8, c_size_t, c_void_p

from runtime_check.simulate import ordinals
from runtime_check.simulate.changes import keep_for_ever

KINDS = 1  # of devices: DeviceType::CUDA
WORD = ctypes.sizeof(c_void_p)
FUNCTIONS = 8  # of the table, and two words of type information before them
ALLOCATE = 2  # after the two destructors
HOST = (0, -1)  # DeviceType::CPU, and no number


class DataPtr(ctypes.Structure):
    """c10::DataPtr."""

    _fields_ = (("data", c_void_p), ("owner", c_void_p * 2), ("kind", c_int8), ("index", c_int8))


Allocate = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t)


def make(host_allocator: int) -> int:
    """The address of such an allocator; `host_allocator` is that of the CPU's. 0 where its answers look otherwise."""
    before = c_void_p.from_address(host_allocator).value or 0
    table = (c_void_p * (2 + FUNCTIONS))()
    ctypes.memmove(table, before - 2 * WORD, ctypes.sizeof(table))
    on_host = Allocate(table[2 + ALLOCATE] or 0)

    def allocate(result: int, _: int, size: int) -> int:
        on_host(result, host_allocator, size)
        found = DataPtr.from_address(result)
        found.kind, found.index = KINDS, ordinals.current()
        return result

    probe = DataPtr(kind=7, index=7)
    on_host(ctypes.addressof(probe), host_allocator, 64)
    if not probe.data or probe.data not in list(probe.owner) or (probe.kind, probe.index) != HOST:
        return 0
    ours = Allocate(allocate)
    table[2 + ALLOCATE] = ctypes.cast(ours, c_void_p).value
    made = (c_void_p * 1)(ctypes.addressof(table) + 2 * WORD)
    for one in (table, ours, made):
        keep_for_ever(one)
    return ctypes.addressof(made)
