"""`torch.accelerator`: the same devices."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.captures import Captures
from runtime_check.simulate.changes import Changes
from runtime_check.simulate.facade.device import CAPABILITY, MEMORY, answering
from runtime_check.simulate.facade.streams import Held
from runtime_check.simulate.internals import C, torch
from runtime_check.simulate.ordinals import count, current, index_of, use


def install(changes: Changes, held: Held, captures: Captures) -> None:
    """Replace torch.accelerator's functions, those that this torch has."""

    def set_index(device: Any) -> None:
        use(index_of(device))

    def synchronize(device: Any = None) -> None:
        index_of(device)
        captures.waits("torch.accelerator.synchronize")

    answers: dict[str, Any] = {
        "is_available": answering(True),
        "device_count": count,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": current,
        "current_device_idx": current,
        "set_device_index": set_index,
        "set_device_idx": set_index,
        "current_stream": held.current,
        "set_stream": held.set,
        "synchronize": synchronize,
        "get_device_capability": answering({"capability": CAPABILITY}),
        "empty_cache": answering(None),
        "memory_allocated": answering(0),
        "max_memory_allocated": answering(0),
        "memory_reserved": answering(0),
        "max_memory_reserved": answering(0),
        "memory_stats": lambda device=None: {},
        "get_memory_info": answering((MEMORY, MEMORY)),
        "reset_peak_memory_stats": answering(None),
        "reset_accumulated_memory_stats": answering(None),
    }
    for name, value in answers.items():
        if hasattr(torch.accelerator, name):
            changes.attribute(torch.accelerator, name, value)
    for name in ("_accelerator_exchangeDevice", "_accelerator_maybeExchangeDevice"):
        if hasattr(C, name):  # what the context `device_index` calls
            changes.attribute(C, name, use)
