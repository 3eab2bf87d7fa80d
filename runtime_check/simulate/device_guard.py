"""C++ finds devices of a type through a guard object; a CPU build of torch has none for CUDA.

Torch itself ships a guard for CUDA devices that are only pretended (`NoOpDeviceGuardImpl<CUDA>`) and installs it with
`torch._C._ensureCUDADeviceGuardSet`, but only over a guard that answers "no devices". So a table is planted that
answers so, torch's own call replaces it, and nothing of ours stays behind. See c10/core/impl/DeviceGuardImplInterface.h
(the registry, indexed by device type) and torch/csrc/Module.cpp (the call).
"""

from __future__ import annotations

import ctypes

from runtime_check.simulate.changes import Changes, keep_for_ever
from runtime_check.simulate.internals import FOLDER, C
from runtime_check.simulate.native_interface import slots
from runtime_check.simulate.refused import Refused

REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
FIRST_SLOTS = ("type", "exchangeDevice", "getDevice", "setDevice", "uncheckedSetDevice")
WORD = ctypes.sizeof(ctypes.c_void_p)
TABLE_WORDS = 50


def install(changes: Changes, has_cuda: bool) -> None:
    """Make C++ know one CUDA device. `has_cuda`: torch was built with CUDA. Raises Refused."""
    if not hasattr(C, "_ensureCUDADeviceGuardSet"):
        raise Refused("torch._C._ensureCUDADeviceGuardSet is missing")
    if has_cuda:
        C._ensureCUDADeviceGuardSet()
        return
    registry = _registry()
    cuda, meta = int(C._autograd.DeviceType.CUDA), int(C._autograd.DeviceType.Meta)
    entry = registry + cuda * WORD
    if not _word(registry) or not _word(registry + meta * WORD) or _word(entry):
        raise Refused("the registry of device guards is laid out in another way")
    order = slots(FOLDER / "include/c10/core/impl/DeviceGuardImplInterface.h")
    if tuple(order)[:5] != FIRST_SLOTS or "deviceCount" not in order:
        raise Refused("the header of device guards is missing or in another order")
    table = _word(_word(registry + meta * WORD))
    if _type(table) != meta:
        raise Refused("a device guard's first function is not type()")
    planted = _without_devices(table, order["deviceCount"])
    changes.pointer(entry, planted)
    C._ensureCUDADeviceGuardSet()
    if _word(entry) == planted:
        raise Refused("torch did not replace the planted device guard")
    if _type(_word(_word(entry))) != cuda:
        raise Refused("torch's own guard for pretended devices is not CUDA's")


def _registry() -> int:
    library = ctypes.CDLL(str(FOLDER / "lib/libc10.so"))
    try:
        return ctypes.addressof(ctypes.c_void_p.in_dll(library, REGISTRY))
    except ValueError:
        raise Refused("libc10.so has no registry of device guards") from None


def _word(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


def _type(table: int) -> int:
    """What `type()` answers; the function reads nothing of its object."""
    function = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)(_word(table))
    return int(function(None))


def _without_devices(table: int, device_count: int) -> int:
    """An object whose functions are those of `table`, but which counts no devices. Lives for ever."""
    words = (ctypes.c_void_p * TABLE_WORDS)()
    ctypes.memmove(words, table - 2 * WORD, ctypes.sizeof(words))  # two words of type information come first
    words[2 + device_count] = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value  # answers 0
    guard = (ctypes.c_void_p * 4)(ctypes.addressof(words) + 2 * WORD)
    keep_for_ever(words)
    keep_for_ever(guard)
    return ctypes.addressof(guard)
