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
        for operator, make in ((_COPY, copying), (_READ, reading)):
            kernel = replaced.get((operator, key)) or _original(operator, key)
            library.impl(_name(operator), make(observer, kernel), key, allow_override=True)

    def undo() -> None:
        library._destroy()
        if simulation is not None:
            _remember(simulation.changes.kernels, key)

    return undo


def _original(operator: str, key: str) -> Kernel:
    """Torch's kernel. It is called as for its own key alone, whatever the operator was called with: what runs at a
    backend's key looks at no others, and to be handed them makes a copy a tenth slower."""
    import torch

    native: Any = torch._C
    keys = native.DispatchKeySet(getattr(native.DispatchKey, key))
    return functools.partial(torch.library.get_kernel(operator, key).call_boxed, keys)


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


def copying(observer: Observer, original: Kernel) -> Kernel:
    """`aten::copy_` that tells what it moves; `original` is called with the same arguments. Where that is a Python
    function, it is called and not dispatched: while a dispatch mode is on, the dispatcher would take the latest Python
    function of the operator and key, ours (python_op_registration_trampoline)."""
    import torch

    tensor, plain = torch.Tensor, frozenset((torch.Tensor, torch.nn.Parameter))
    number, host_device = torch.ops.aten.scalar_tensor.default, torch.device("cpu")
    dtypes = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    depth, disabled = torch._C._len_torch_function_stack, torch._C.DisableTorchFunction
    local, clock = observer.local, time.perf_counter_ns
    h2d, d2h, d2d = Direction.H2D, Direction.D2H, Direction.D2D
    caller = 3
    capturing: Callable[[], bool] = torch.cuda.is_current_stream_capturing if torch.cuda.is_available() else _never

    def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
        if type(source) not in plain or type(target) not in plain or depth():
            return unusual(target, source, non_blocking)
        upload = source.is_cpu
        if upload == target.is_cpu and (upload or source.device == target.device):
            return original(target, source, non_blocking)
        return crossing(target, source, non_blocking, upload)

    def unusual(target: Any, source: Any, non_blocking: bool) -> Any:
        with disabled():
            if not isinstance(source, tensor):  # the dispatcher hands wrapped numbers on unwrapped, and takes none back
                source = number(source, dtype=dtypes[type(source)], device=host_device)
            upload = source.is_cpu
            if upload == target.is_cpu and (upload or source.device == target.device):
                return original(target, source, non_blocking)
            return crossing(target, source, non_blocking, upload)

    def crossing(target: Any, source: Any, non_blocking: bool, upload: bool) -> Any:
        mine = local.mine
        if mine.inside or not target.numel():
            return original(target, source, non_blocking)
        host = source if upload else target if target.is_cpu else None
        pinned = host is not None and host.is_pinned()
        dense = not non_blocking or host is None or _dense(target, source, upload)
        keeps = not (non_blocking and pinned and dense) and host is not None
        if not keeps and capturing():  # what a CUDA graph records does not run yet; torch refuses the others
            return original(target, source, non_blocking)
        direction = h2d if upload else d2d if host is None else d2h
        size = target.nbytes if target.dtype == source.dtype else _converted(target, source, non_blocking, upload)
        sync = keeps and not (upload and non_blocking and size <= STAGED)
        event = observer.begin(mine, direction, _COPY, size, sync, caller)
        if event is None:
            return original(target, source, non_blocking)
        if observer.warned and not non_blocking:
            observer.cover(event)
        ends = observer.ends
        if ends is not None:
            event.source = ends.of(source, upload)
        mine.inside = True
        try:
            event.started = started = clock()
            result = original(target, source, non_blocking)
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


def reading(observer: Observer, original: Kernel) -> Kernel:
    """`aten::_local_scalar_dense` that tells what it reads; as `copying`."""
    caller = 2
    local, clock, d2h = observer.local, time.perf_counter_ns, Direction.D2H

    def local_scalar_dense(tensor: Any) -> Any:
        mine = local.mine
        if mine.inside:
            return original(tensor)
        event = observer.begin(mine, d2h, _READ, tensor.element_size(), True, caller)
        if event is None:
            return original(tensor)
        if observer.warned:
            observer.cover(event)
        ends = observer.ends
        if ends is not None:
            event.source = ends.of(tensor, False)
        mine.inside = True
        try:
            event.started = started = clock()
            result = original(tensor)
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
