"""C++ asks an object of hooks whether CUDA is built and present; a CPU build's answers no to everything.

The autograd engine wants to know it (it asserts streams for any other accelerator), so do indexing and pinned memory.
The hooks object gets a copy of its own table of virtual functions with a few answers changed: yes, one device, number
0. Which slot is which is found twice, by behaviour (`isBuilt`) and from the shipped header, and both must agree.
See aten/src/ATen/detail/CUDAHooksInterface.h and AcceleratorHooksInterface.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from runtime_check.simulate import allocator, ordinals
from runtime_check.simulate.changes import Changes, keep_for_ever
from runtime_check.simulate.internals import FOLDER, C
from runtime_check.simulate.native_interface import slots
from runtime_check.simulate.refused import Refused

HOOKS = "_ZN2at6detail12getCUDAHooksEv"
PLAIN_TABLE = "_ZTVN2at18CUDAHooksInterfaceE"
CPU_ALLOCATOR = "_ZN3c1015GetCPUAllocatorEv"
CPU_GENERATOR = "_ZN2at6detail22getDefaultCPUGeneratorEv"
DEVICE_ALLOCATOR = "getCUDADeviceAllocator"
WORD = ctypes.sizeof(ctypes.c_void_p)
TABLE_WORDS = 62
YES = ("isAvailable", "hasPrimaryContext", "init", "deviceCount", "setCurrentDevice")
ZERO = ("getCurrentDevice", "exchangeDevice", "maybeExchangeDevice")


def install(changes: Changes, has_cuda: bool) -> None:
    """Make C++ see a CUDA accelerator. Raises Refused."""
    core = ctypes.CDLL(str(FOLDER / "lib/libc10.so"))
    library = ctypes.CDLL(str(FOLDER / "lib/libtorch_cpu.so"))
    try:
        get_hooks = getattr(library, HOOKS)
        host_allocator = _address(getattr(core, CPU_ALLOCATOR))
        generator = _address(getattr(library, CPU_GENERATOR))
    except AttributeError as error:
        raise Refused(f"a symbol is missing: {error}") from None
    order = slots(FOLDER / "include/ATen/detail/AcceleratorHooksInterface.h")
    wanted = {"isBuilt", *YES, *ZERO, "getPinnedMemoryAllocator", "getDefaultGenerator"}
    if not wanted <= order.keys() or not next(iter(order)).startswith("~"):
        raise Refused("the header of accelerator hooks is missing or has other functions")
    get_hooks.restype = ctypes.c_void_p
    hooks = int(get_hooks())
    before = ctypes.c_void_p.from_address(hooks).value or 0
    if not has_cuda and before != _plain_table(library):
        raise Refused("the CUDA hooks of this build are not the plain interface")
    table = (ctypes.c_void_p * TABLE_WORDS)()
    ctypes.memmove(table, before - 2 * WORD, ctypes.sizeof(table))  # two words of type information come first
    keep_for_ever(table)
    changes.pointer(hooks, ctypes.addressof(table) + 2 * WORD)
    one = _address(ctypes.pythonapi.Py_IsInitialized)  # any argument, answers 1
    zero = _address(ctypes.CDLL(None).sched_yield)  # any argument, answers 0
    found = _slot_of_is_built(table, has_cuda, one, zero)
    if found != order["isBuilt"]:
        raise Refused(f"the header says isBuilt() is function {order['isBuilt']}, its behaviour says {found}")
    for name in ("isBuilt", *YES):
        table[2 + order[name]] = one
    for name in ZERO:
        table[2 + order[name]] = zero
    for name, function in _several().items():
        table[2 + order[name]] = function
    table[2 + order["getPinnedMemoryAllocator"]] = host_allocator
    table[2 + order["getDefaultGenerator"]] = generator
    memory = _memory_allocator(getattr(core, CPU_ALLOCATOR))
    last = _last_slot(order)
    if memory and last is not None:
        table[2 + last] = memory


def _several() -> dict[str, int]:
    """Where there are several devices: who answers which of them there are, and which is the current one."""
    if ordinals.count() == 1:
        return {}
    answers: dict[str, Any] = {
        "deviceCount": lambda _, __: ordinals.count(),
        "getCurrentDevice": lambda _, __: ordinals.current(),
        "setCurrentDevice": lambda _, index: ordinals.use(index),
    }
    found = {}
    for name, answer in answers.items():
        function = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p, ctypes.c_int8)(answer)
        keep_for_ever(function)
        found[name] = _address(function)
    return found


def _last_slot(order: Mapping[str, int]) -> int | None:
    """The slot of `getCUDADeviceAllocator`: functions that CUDA's hooks add stand behind those of all hooks."""
    added = [name for name in slots(FOLDER / "include/ATen/detail/CUDAHooksInterface.h") if name not in order]
    return 1 + len(order) + added.index(DEVICE_ALLOCATOR) if DEVICE_ALLOCATOR in added else None


def _memory_allocator(of_host: Any) -> int:
    """The address of a function that gives our allocator; 0 where there is none."""
    of_host.restype = ctypes.c_void_p
    made = allocator.make(of_host())
    give = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: made)
    keep_for_ever(give)
    return _address(give) if made else 0


def _slot_of_is_built(table: ctypes.Array[ctypes.c_void_p], has_cuda: bool, one: int, zero: int) -> int:
    """The slot that decides whether C++ names CUDA as its accelerator; -1 where none does."""
    for slot in range(2, 10):
        before = table[2 + slot]
        table[2 + slot] = zero if has_cuda else one
        accelerator = C._accelerator_getAccelerator()
        table[2 + slot] = before
        named = accelerator is not None and accelerator.type == "cuda"
        if named != has_cuda:
            return slot
    return -1


def _plain_table(library: ctypes.CDLL) -> int:
    try:
        return ctypes.addressof((ctypes.c_void_p * 2).in_dll(library, PLAIN_TABLE)) + 2 * WORD
    except ValueError:
        raise Refused("libtorch_cpu.so has no table of CUDA hooks") from None


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
