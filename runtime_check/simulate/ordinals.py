"""Device numbers: which devices there are, and which of them is the calling thread's current one.

There is one device, number 0, unless a start asks for more. CUDA has words for a number that is not there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from runtime_check.simulate.internals import Tensor, torch

OUT_OF_RANGE = (
    "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
    "(this machine's CUDA devices are simulated, and there {}; TRANSFERLINT_SIMULATED_DEVICES=N gives N of them)"
)


class Present:
    """How many devices there are in this process. A start sets it, once."""

    count = 1


class _Current(threading.local):
    index = 0


PRESENT = Present()
_CURRENT = _Current()


def count() -> int:
    """How many devices there are."""
    return PRESENT.count


def current() -> int:
    """The number of the calling thread's device, which `"cuda"` without a number names."""
    return _CURRENT.index


def use(index: int) -> int:
    """Make a device the calling thread's; a negative number changes nothing. The answer is the one it had before.
    Raises what CUDA raises where there is no such device."""
    before = _CURRENT.index
    if index >= 0:
        _CURRENT.index = _present(index)
    return before


def index_of(device: Any = None) -> int:
    """The number of the device that `device` names: a number, a `torch.device`, its text, or None for the current one.
    Raises what CUDA raises where there is no such device."""
    if device is None:
        return _CURRENT.index
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        device = device.index
        if device is None:
            return _CURRENT.index
    return _present(int(device)) if int(device) >= 0 else _CURRENT.index


def index_among(values: Any) -> int:
    """The number of the device of the first device tensor among arguments; that of the current device without one."""
    found = _first(values)
    return _CURRENT.index if found is None else found


def _first(values: Any) -> int | None:
    for value in values:
        if isinstance(value, Tensor):
            if value.is_cuda:
                return int(value.get_device())
        elif isinstance(value, (list, tuple)):
            found = _first(value)
            if found is not None:
                return found
    return None


def guarded(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, run while the device that it is told, or that of its first tensor, is the current one: C++ that makes
    tensors "on the device" means that one, as torch's kernels for CUDA are guarded."""
    if count() == 1:
        return kernel

    def run(*args: Any, **options: Any) -> Any:
        told = options.get("device")
        on_device = told is not None and torch.device(told).type == "cuda"
        before = use(index_of(told) if on_device else index_among((*args, *options.values())))
        try:
            return kernel(*args, **options)
        finally:
            use(before)

    return run


def _present(index: int) -> int:
    if index >= PRESENT.count:
        there = "is one" if PRESENT.count == 1 else f"are {PRESENT.count}"
        raise torch.AcceleratorError(OUT_OF_RANGE.format(there))
    return index
