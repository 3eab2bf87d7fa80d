"""Device tensors made of host memory.

A capsule of the DLPack protocol that says `kDLCUDA` over host memory gives an ordinary `torch.Tensor` on which C++
itself sees `device() == cuda:0`, or another number. One descriptor serves all: torch reads it while it makes the tensor
and keeps only the pointer to its deleter, which is NULL. The host tensor that owns the memory hangs on the device
storage's Python object, which torch keeps as long as the storage lives.
"""

from __future__ import annotations

import ctypes
import dataclasses
import struct
import threading
from collections.abc import Callable
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

from runtime_check.simulate import layouts, ordinals, quantized
from runtime_check.simulate.captures import Captures
from runtime_check.simulate.changes import keep_for_ever
from runtime_check.simulate.internals import C, Tensor, aten, torch

MOST_DIMENSIONS = 64
OWNER = "_simulated_owner"
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
    "start method"
)
FORKED_READ = "CUDA error: initialization error"


class DLDevice(ctypes.Structure):
    """dlpack.h, as are the next three."""

    _fields_ = (("type", c_int32), ("index", c_int32))


class DLDataType(ctypes.Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", DLDevice),
        ("dimensions", c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p))


KDL_CPU, KDL_CUDA = 1, 2
ELEMENTS = {  # dtype to DLPack's code and bits
    "float32": (2, 32),
    "float64": (2, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "int64": (0, 64),
    "int32": (0, 32),
    "int16": (0, 16),
    "int8": (0, 8),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "bool": (6, 8),
    "complex64": (5, 64),
    "complex128": (5, 128),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Forge:
    """`device(host tensor, number)` gives a tensor of that device over the same memory (without a number: of device 0),
    `host(device tensor)` the host tensor under it, `rebind(device tensor, host tensor)` lets the first stand for the
    second's memory from now on. `close()` makes them raise what CUDA raises in a forked process. `captures` says
    whether a CUDA graph is being captured."""

    device: Callable[..., Any]
    host: Callable[[Any], Any]
    rebind: Callable[[Any, Any], None]
    close: Callable[[], None]
    captures: Captures


def make() -> Forge:
    """A forge of this process. Its functions are closures: they run once an operation and more."""
    managed, shape, strides = DLManagedTensor(), (c_int64 * MOST_DIMENSIONS)(), (c_int64 * MOST_DIMENSIONS)()
    managed.tensor.shape, managed.tensor.strides = shape, strides
    keep_for_ever(managed)
    fill = struct.Struct("=QiiiBBH").pack_into  # data, device and its index, dimensions, code, bits, lanes
    fill_numbers = [struct.Struct(f"={count}q").pack_into for count in range(MOST_DIMENSIONS + 1)]
    address = ctypes.addressof(managed)
    elements = {getattr(torch, name): (code, bits, bits // 8) for name, (code, bits) in ELEMENTS.items()}

    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
    from_dlpack = C._from_dlpack
    at_cpu = C.DispatchKeySet(C.DispatchKey.CPU)
    view = aten.as_strided.default._handle.redispatch_boxed
    view_as = aten.view.dtype._handle.redispatch_boxed
    carriers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    set_storage = aten.set_.source_Storage_storage_offset._handle.redispatch_boxed
    view_of_host, empty_host = aten.as_strided.default._op, aten.empty.memory_format._op
    strided, cpu = torch.strided, torch.device("cpu")
    places = [torch.device("cuda", number) for number in range(ordinals.count())]
    base = C.TensorBase
    size_of, stride_of, offset_of, storage_of = base.size, base.stride, base.storage_offset, base.untyped_storage
    lock = threading.RLock()

    def device(tensor: Any, number: int = 0) -> Any:
        element = elements.get(tensor.dtype)
        if element is None or tensor.layout is not strided or tensor.is_nested:
            return made_of_parts(tensor, number) if layouts.special(tensor) else carried(tensor, number)
        if tensor.is_neg() or (tensor.dtype.is_complex and tensor.is_conj()):
            tensor = tensor.resolve_conj().resolve_neg()
        storage, size, offset, stride = storage_of(tensor), size_of(tensor), offset_of(tensor), stride_of(tensor)
        bytes_ = storage.nbytes()
        with lock:
            # The capsule first: from filling the descriptor until torch has read it, nothing may run a finalizer.
            capsule = new_capsule(address, b"dltensor", None)
            code, bits, itemsize = element
            whole = offset == 0 and tensor.numel() * itemsize == bytes_
            if whole:  # the usual new result: its shape goes straight through
                dimensions = len(size)
                fill_numbers[dimensions](shape, 0, *size)
                fill_numbers[dimensions](strides, 0, *stride)
            else:
                dimensions, shape[0], strides[0] = 1, bytes_ // itemsize, 1
            fill(managed, 0, storage.data_ptr(), KDL_CUDA, number, dimensions, code, bits, 1)
            forged = from_dlpack(capsule)
        storage_of(forged)._simulated_owner = tensor, tensor.dtype, size, stride, offset
        return forged if whole else view(at_cpu, forged, size, stride, offset)

    def made_of_parts(tensor: Any, number: int) -> Any:
        return layouts.rebuild(tensor, lambda part: device(part, number), places[number])

    def carried(tensor: Any, number: int) -> Any:
        """A tensor of a type that DLPack does not know, over one of integers of the same size."""
        if tensor.is_quantized:
            memory = storage_of(device(quantized.integers(tensor, whole=True), number))
            return quantized.over(tensor, memory, lambda part: device(part, number), places[number])
        integers = carriers.get(tensor.element_size())
        if integers is None or tensor.layout is not strided:
            raise NotImplementedError(
                f"the simulated CUDA device has no tensors of {tensor.dtype} with layout {tensor.layout}"
            )
        whole = tensor.as_strided((storage_of(tensor).nbytes() // tensor.element_size(),), (1,), 0)
        forged = view_as(at_cpu, device(whole.view(integers), number), tensor.dtype)
        return view(at_cpu, forged, size_of(tensor), stride_of(tensor), offset_of(tensor))

    def host(tensor: Any) -> Any:
        try:
            storage, size, stride, offset = storage_of(tensor), size_of(tensor), stride_of(tensor), offset_of(tensor)
        except RuntimeError:  # sparse tensors have no storage, nested ones no sizes
            if not layouts.special(tensor):
                raise
            return layouts.rebuild(tensor, host, cpu)
        owner, dtype, its_size, its_stride, its_offset = getattr(storage, OWNER, None) or adopted(storage)
        if dtype is tensor.dtype:
            if its_size == size and its_stride == stride and its_offset == offset:
                found = owner
            else:
                found = view_of_host(owner, size, stride, offset)
        elif tensor.is_quantized:
            return quantized.over(tensor, storage_of(owner), host, cpu)
        else:
            found = empty_host((0,), dtype=tensor.dtype, device=cpu)
            found.set_(storage_of(owner), offset, size, stride)
        if tensor.is_conj():
            found = found.conj()
        return torch._neg_view(found) if tensor.is_neg() else found

    def adopted(storage: Any) -> Any:
        """The memory of a device storage that torch made itself, over that of one of ours (`from_dlpack`, unpickling).
        Whatever owns it belongs to the storage, so the host tensor need not."""
        with lock:
            capsule = new_capsule(address, b"dltensor", None)
            shape[0], strides[0] = storage.nbytes(), 1
            fill(managed, 0, storage.data_ptr(), KDL_CPU, 0, 1, *ELEMENTS["uint8"], 1)
            owner = from_dlpack(capsule)
        record = owner, owner.dtype, size_of(owner), stride_of(owner), 0
        setattr(storage, OWNER, record)
        return record

    def rebind(tensor: Any, memory: Any) -> None:
        forged = device(memory, tensor.device.index)
        if layouts.special(tensor):
            layouts.follow(tensor, forged)
            return
        set_storage(at_cpu, tensor, storage_of(forged), offset_of(forged), size_of(forged), stride_of(forged))

    def close() -> None:
        nonlocal from_dlpack, storage_of

        def refuse_new(_capsule: Any) -> Any:
            raise RuntimeError(FORKED)

        def refuse_device(tensor: Any) -> Any:
            if tensor.is_cuda:
                raise RuntimeError(FORKED_READ)
            return base.untyped_storage(tensor)

        from_dlpack, storage_of = refuse_new, refuse_device

    return Forge(device, host, rebind, close, Captures())


def is_device(value: Any) -> bool:
    """Whether `value` is a tensor on the simulated device."""
    return isinstance(value, Tensor) and bool(value.is_cuda)
