"""The two operators in which every copy and every read of a scalar ends, seen at the accelerator's key.

`torch.library.get_kernel` keeps torch's kernel, and `Library.impl` puts ours before it; the dispatcher goes back to
torch's when the library is destroyed. This sees all threads, custom backward and calls made inside of C++, costs
host-only operations nothing, and leaves compiled graphs as they are.
"""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from runtime_check.events import STAGED
from runtime_check.hooks import device
from runtime_check.hooks.observer import Observer
from transferlint.model import Direction

Kernel = Callable[..., Any]
_COPY = "aten::copy_"
_READ = "aten::_local_scalar_dense"


def available() -> bool:
    """Whether this torch can have its kernels kept and overridden (2.10 can)."""
    import torch

    return hasattr(torch.library, "get_kernel") and hasattr(torch._C, "_dispatch_get_computed_kernel_for_dispatch_key")


def install(observer: Observer, key: str) -> Callable[[], None]:
    """Override both at a dispatch key ("CUDA"), and give what undoes it."""
    simulation = device.simulation()
    replaced = {} if simulation is None else simulation.changes.kernels
    library = _library()
    with _no_warning():
        for operator, make, keyless in ((_COPY, copying, _keyless_copy), (_READ, reading, _keyless_read)):
            function = replaced.get((operator, key))
            ours = make(observer, _original(operator, key)) if function is None else keyless(observer, function)
            library.impl(_name(operator), ours, key, with_keyset=function is None, allow_override=True)

    def undo() -> None:
        library._destroy()
        if simulation is not None:
            _remember(simulation.changes.kernels, key)

    return undo


def _original(operator: str, key: str) -> Kernel:
    import torch

    kernel: Kernel = torch.library.get_kernel(operator, key).call_boxed
    return kernel


def _keyless_copy(observer: Observer, kernel: Kernel) -> Kernel:
    """Ours for a kernel that is itself a Python function. It is called, and not by the dispatcher, which would not get
    to it while a dispatch mode is on: it then takes the latest Python function of an operator and key, ours
    (python_op_registration_trampoline). So no keyset is needed, and the time that it takes to hand one over is saved.
    """
    copy_ = copying(observer, lambda _, target, source, non_blocking: kernel(target, source, non_blocking), above=1)
    return lambda target, source, non_blocking=False: copy_(None, target, source, non_blocking)


def _keyless_read(observer: Observer, kernel: Kernel) -> Kernel:
    """The same for the read of a scalar."""
    read = reading(observer, lambda _, tensor: kernel(tensor), above=1)
    return lambda tensor: read(None, tensor)


def _remember(kernels: Any, key: str) -> None:
    """Make the kernels that are there again the latest Python functions of their operators."""
    library = _library()
    with _no_warning():
        for operator in (_COPY, _READ):
            if (operator, key) in kernels:
                library.impl(_name(operator), kernels[operator, key], key, allow_override=True)
    library._destroy()


@contextlib.contextmanager
def _no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*previously registered kernel")
        yield


def _library() -> Any:
    import torch

    registry: Any = torch.library
    return registry.Library("aten", "IMPL")


def _name(operator: str) -> str:
    return operator.partition("::")[2]


def copying(observer: Observer, original: Kernel, above: int = 0) -> Kernel:
    """`aten::copy_` that tells what it moves; `original` is called with the same arguments. `above` it are so many
    frames of ours."""
    import torch

    tensor, plain = torch.Tensor, frozenset((torch.Tensor, torch.nn.Parameter))
    number, host_device = torch.ops.aten.scalar_tensor.default, torch.device("cpu")
    dtypes = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    depth, disabled = torch._C._len_torch_function_stack, torch._C.DisableTorchFunction
    local, clock = observer.local, time.perf_counter_ns
    h2d, d2h, d2d = Direction.H2D, Direction.D2H, Direction.D2D
    caller = above + 3
    capturing: Callable[[], bool] = torch.cuda.is_current_stream_capturing if torch.cuda.is_available() else _never

    def copy_(keyset: Any, target: Any, source: Any, non_blocking: bool = False) -> Any:
        if type(source) not in plain or type(target) not in plain or depth():
            return unusual(keyset, target, source, non_blocking)
        upload = source.is_cpu
        if upload == target.is_cpu and (upload or source.device == target.device):
            return original(keyset, target, source, non_blocking)
        return crossing(keyset, target, source, non_blocking, upload)

    def unusual(keyset: Any, target: Any, source: Any, non_blocking: bool) -> Any:
        with disabled():
            if not isinstance(source, tensor):  # the dispatcher hands wrapped numbers on unwrapped, and takes none back
                source = number(source, dtype=dtypes[type(source)], device=host_device)
            upload = source.is_cpu
            if upload == target.is_cpu and (upload or source.device == target.device):
                return original(keyset, target, source, non_blocking)
            return crossing(keyset, target, source, non_blocking, upload)

    def crossing(keyset: Any, target: Any, source: Any, non_blocking: bool, upload: bool) -> Any:
        mine = local.mine
        if mine.inside or not target.numel():
            return original(keyset, target, source, non_blocking)
        host = source if upload else target if target.is_cpu else None
        pinned = host is not None and host.is_pinned()
        dense = not non_blocking or host is None or _dense(target, source, upload)
        keeps = not (non_blocking and pinned and dense) and host is not None
        if not keeps and capturing():  # what a CUDA graph records does not run yet; torch refuses the others
            return original(keyset, target, source, non_blocking)
        direction = h2d if upload else d2d if host is None else d2h
        size = target.nbytes if target.dtype == source.dtype else _converted(target, source, non_blocking, upload)
        sync = keeps and not (upload and non_blocking and size <= STAGED)
        event = observer.begin(mine, direction, _COPY, size, sync, caller)
        if event is None:
            return original(keyset, target, source, non_blocking)
        if observer.warned and not non_blocking:
            observer.cover(event)
        ends = observer.ends
        if ends is not None:
            event.source = ends.of(source, upload)
        mine.inside = True
        try:
            event.started = started = clock()
            result = original(keyset, target, source, non_blocking)
            event.blocked = clock() - started
        finally:
            mine.inside = False
        event.pinned, event.dense, event.non_blocking = pinned, dense, non_blocking
        if ends is not None:
            event.target = ends.of(target, host is target and sync, mine.writes)
            if upload:
                event.value = mine.sent
                mine.uploaded = True
        observer.finish(mine, event)
        return result

    return copy_


def reading(observer: Observer, original: Kernel, above: int = 0) -> Kernel:
    """`aten::_local_scalar_dense` that tells what it reads; as `copying`."""
    caller = above + 2
    local, clock, d2h = observer.local, time.perf_counter_ns, Direction.D2H

    def local_scalar_dense(keyset: Any, tensor: Any) -> Any:
        mine = local.mine
        if mine.inside:
            return original(keyset, tensor)
        event = observer.begin(mine, d2h, _READ, tensor.element_size(), True, caller)
        if event is None:
            return original(keyset, tensor)
        if observer.warned:
            observer.cover(event)
        ends = observer.ends
        if ends is not None:
            event.source = ends.of(tensor, False)
        mine.inside = True
        try:
            event.started = started = clock()
            result = original(keyset, tensor)
            event.blocked = clock() - started
        finally:
            mine.inside = False
        observer.finish(mine, event)
        return result

    return local_scalar_dense


def _converted(target: Any, source: Any, non_blocking: bool, upload: bool) -> int:
    """Bytes on the bus of a copy that changes the type: it is converted on the device if the copy need not be waited
    for, and on the host otherwise (aten/src/ATen/native/cuda/Copy.cu, copy_kernel_cuda). Between two devices of which
    one reaches the other's memory, a kernel of the source's writes the result there (copy_device_to_device)."""
    if not upload and not target.is_cpu and _peers(source.device, target.device):
        return int(target.nbytes)
    host, device = (source, target) if upload else (target, source)
    crossing = host if non_blocking else device
    return int(target.numel() * crossing.element_size())


@functools.cache
def _peers(source: Any, target: Any) -> bool:
    """Whether a device reaches another's memory, as torch asks it (aten/src/ATen/cuda/PeerToPeerAccess.cpp)."""
    import torch

    return source.type == "cuda" and torch.cuda.can_device_access_peer(source, target)


def _never() -> bool:
    return False


def _dense(target: Any, source: Any, upload: bool) -> bool:
    """Whether the host side goes as it lies in memory, without a pageable copy between (copy_requires_temporaries)."""
    if target.dtype == source.dtype:
        if target.is_contiguous() and source.is_contiguous():
            return bool(target.numel() == source.numel())
        return bool(target.stride() == source.stride() and _fills(target))
    host = source if upload else target
    return bool(host.is_contiguous() and source.shape == target.shape)


def _fills(tensor: Any) -> bool:
    """Whether a view's elements fill the memory they span, each once, as a transposed tensor's do."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True
