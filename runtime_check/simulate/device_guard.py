"""C++ finds devices of a type through a guard object; a CPU build of torch has none for CUDA.

Torch itself ships a guard for CUDA devices that are only pretended (`NoOpDeviceGuardImpl<CUDA>`) and installs it with
`torch._C._ensureCUDADeviceGuardSet`, but only over a guard that answers "no devices". So a table is planted that
answers so, torch's own call replaces it, and nothing of ours stays behind. See c10/core/impl/DeviceGuardImplInterface.h
(the registry, indexed by device type) and torch/csrc/Module.cpp (the call).

That guard knows one device. For several, it gets a copy of its table with three functions of ours, which count them and
keep the current one of each thread. Guards of scopes in C++ still change nothing: their destructors may run while a
Python exception is set, when no Python may.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

from runtime_check.simulate import ordinals
from runtime_check.simulate.changes import Changes, keep_for_ever
from runtime_check.simulate.internals import FOLDER, C
from runtime_check.simulate.native_interface import slots
from runtime_check.simulate.refused import Refused

REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
FIRST_SLOTS = ("type", "exchangeDevice", "getDevice", "setDevice", "uncheckedSetDevice")
WORD = ctypes.sizeof(ctypes.c_void_p)
TABLE_WORDS = 50


def install(changes: Changes, has_cuda: bool) -> None:
    """Make C++ know the CUDA devices. `has_cuda`: torch was built with CUDA. Raises Refused."""
    if not hasattr(C, "_ensureCUDADeviceGuardSet"):
        raise Refused("torch._C._ensureCUDADeviceGuardSet is missing")
    if has_cuda:
        C._ensureCUDADeviceGuardSet()
    else:
        _plant(changes)
    if ordinals.count() > 1:
        _count_several(changes)


def _plant(changes: Changes) -> None:
    """Have torch's own guard put into the empty place for CUDA's."""
    registry = _registry()
    cuda, meta = int(C._autograd.DeviceType.CUDA), int(C._autograd.DeviceType.Meta)
    entry = registry + cuda * WORD
    if not _word(registry) or not _word(registry + meta * WORD) or _word(entry):
        raise Refused("the registry of device guards is laid out in another way")
    table = _word(_word(registry + meta * WORD))
    if _type(table) != meta:
        raise Refused("a device guard's first function is not type()")
    planted = _without_devices(table, _order()["deviceCount"])
    changes.pointer(entry, planted)
    C._ensureCUDADeviceGuardSet()
    if _word(entry) == planted:
        raise Refused("torch did not replace the planted device guard")
    if _type(_word(_word(entry))) != cuda:
        raise Refused("torch's own guard for pretended devices is not CUDA's")


def _order() -> Mapping[str, int]:
    order = slots(FOLDER / "include/c10/core/impl/DeviceGuardImplInterface.h")
    if tuple(order)[:5] != FIRST_SLOTS or "deviceCount" not in order:
        raise Refused("the header of device guards is missing or in another order")
    return order


def _count_several(changes: Changes) -> None:
    """Let the guard count devices, and remember which is whose current one. A `c10::Device` is two bytes, its type and
    its number, and is handed over in a register (c10/core/Device.h; System V ABI)."""
    order, kind = _order(), int(C._autograd.DeviceType.CUDA)
    guard = _word(_registry() + kind * WORD)
    table = _word(guard)
    if _type(table) != kind:
        raise Refused("the guard for pretended devices is not CUDA's")

    answers: dict[str, Callable[..., int]] = {
        "getDevice": lambda _, __: kind | ordinals.current() << 8,
        "setDevice": lambda _, given: ordinals.use(ctypes.c_int8(given >> 8).value),
        "deviceCount": lambda _, __: ordinals.count(),
    }
    words = _copy(table)
    for name, answer in answers.items():
        function = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_void_p, ctypes.c_uint16)(answer)
        keep_for_ever(function)
        words[2 + order[name]] = ctypes.cast(function, ctypes.c_void_p).value
    changes.pointer(guard, ctypes.addressof(words) + 2 * WORD)


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
    words = _copy(table)
    words[2 + device_count] = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value  # answers 0
    guard = (ctypes.c_void_p * 4)(ctypes.addressof(words) + 2 * WORD)
    keep_for_ever(guard)
    return ctypes.addressof(guard)


def _copy(table: int) -> ctypes.Array[ctypes.c_void_p]:
    """A copy of a table of functions, with the two words of type information before it. Lives for ever."""
    words = (ctypes.c_void_p * TABLE_WORDS)()
    ctypes.memmove(words, table - 2 * WORD, ctypes.sizeof(words))
    keep_for_ever(words)
    return words
