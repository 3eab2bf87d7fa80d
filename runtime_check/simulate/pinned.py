"""Pinned memory: ordinary host memory with a mark on the Python object of its storage, which lives as long as it."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import Tensor, torch

MARK = "_simulated_pinned"
FACTORIES = (
    *("empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "eye", "tensor"),
    *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "empty_strided"),
)


def mark_pinned(tensor: Any) -> None:
    """Make the storage of a host tensor count as pinned."""
    _MARKED.any = True
    setattr(tensor.untyped_storage(), MARK, True)


def is_pinned(tensor: Any, device: Any = None) -> bool:
    """`Tensor.is_pinned`."""
    if not _MARKED.any:
        return False
    return not tensor.is_cuda and (getattr(tensor.untyped_storage(), MARK, False) or _RECEIVING.on)


class _Marked:
    """Whether any memory was pinned in this process: where none was, nobody need look."""

    any = False


class _Receiving(threading.local):
    on = False


_MARKED = _Marked()
_RECEIVING = _Receiving()


@contextlib.contextmanager
def receiving() -> Iterator[None]:
    """While this thread copies into memory that is pinned and not marked yet."""
    _MARKED.any = True
    _RECEIVING.on = True
    try:
        yield
    finally:
        _RECEIVING.on = False


def pin_memory(tensor: Any, device: Any = None) -> Any:
    """`Tensor.pin_memory`: itself where it is pinned, else a pinned copy. Raises RuntimeError as CUDA does."""
    if tensor.is_cuda:
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    if is_pinned(tensor):
        return tensor
    copy = tensor.detach().clone(memory_format=torch.preserve_format)
    mark_pinned(copy)
    return copy


def install(changes: Changes) -> None:
    """Replace torch's questions about pinned memory and the factories that take `pin_memory=`."""
    from torch.jit import _builtins
    from torch.utils import _device

    scripts: Any = _builtins
    changes.attribute(Tensor, "pin_memory", pin_memory)
    changes.attribute(Tensor, "is_pinned", is_pinned)
    storage = torch.UntypedStorage
    changes.attribute(storage, "is_pinned", lambda self, device="cuda": getattr(self, MARK, False))
    changes.attribute(storage, "pin_memory", _pin_storage)
    _device._device_constructors()  # `set_default_device` remembers the factories: let it see the real ones
    for name in FACTORIES:
        real = getattr(torch, name)
        changes.attribute(torch, name, _factory(real))
        scripted = scripts._find_builtin(real)
        if scripted is not None:  # TorchScript knows functions by identity
            scripts._register_builtin(getattr(torch, name), scripted)


def _pin_storage(storage: Any, device: Any = "cuda") -> Any:
    if storage.device.type != "cpu":
        raise TypeError(f"cannot pin '{storage.type()}' only CPU memory can be pinned")
    copy = storage.clone()
    _MARKED.any = True
    setattr(copy, MARK, True)
    return copy


def _factory(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def make(*args: Any, pin_memory: bool = False, **kwargs: Any) -> Any:
        like = args[0] if args else None
        if not isinstance(like, Tensor) and hasattr(like, "__torch_function__"):
            # a class of its own that looks up what it was called for by identity: that has to be the public name
            given = {**kwargs, "pin_memory": True} if pin_memory else kwargs
            return torch.overrides.handle_torch_function(make, (like,), *args, **given)
        tensor = real(*args, **kwargs)
        if pin_memory:
            if tensor.is_cuda:
                raise RuntimeError("Only dense CPU tensors can be pinned")
            mark_pinned(tensor)
        return tensor

    return make
