"""Memory statistics. There is no caching allocator, so they are all zero."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.facade.device import MEMORY, answering
from runtime_check.simulate.internals import torch
from runtime_check.simulate.ordinals import index_of

ZERO = (
    *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached"),
    *("max_memory_cached", "device_memory_used"),
)
NOTHING = (
    *("empty_cache", "ipc_collect", "reset_peak_memory_stats", "reset_max_memory_allocated"),
    *("reset_max_memory_cached", "reset_accumulated_memory_stats", "reset_peak_host_memory_stats"),
    *("reset_accumulated_host_memory_stats", "set_per_process_memory_fraction", "_record_memory_history"),
)
EMPTY = ("memory_stats", "memory_stats_as_nested_dict", "host_memory_stats", "host_memory_stats_as_nested_dict")


def install(changes: Changes) -> None:
    """Replace torch.cuda.memory, here and where torch.cuda names it again."""

    def about(value: Any) -> Callable[..., Any]:
        def answer(device: Any = None) -> Any:
            index_of(device)
            return value

        return answer

    def statistics(device: Any = None) -> Any:
        index_of(device)
        return collections.defaultdict(int)

    answers: dict[str, Any] = {
        **dict.fromkeys(ZERO, about(0)),
        **dict.fromkeys(NOTHING, answering(None)),
        **dict.fromkeys(EMPTY, statistics),
        "memory_summary": answering("the simulated CUDA device keeps no memory statistics"),
        "memory_snapshot": lambda *args, **kwargs: [],
        "mem_get_info": about((MEMORY, MEMORY)),
        "get_per_process_memory_fraction": answering(1.0),
        "get_allocator_backend": answering("native"),
    }
    for name, value in answers.items():
        for module in (torch.cuda, torch.cuda.memory):
            if name in vars(module):
                changes.attribute(module, name, value)
