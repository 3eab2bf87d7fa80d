"""Which devices there are, and which is the current one."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.forge import FORKED
from runtime_check.simulate.internals import C, torch
from runtime_check.simulate.ordinals import count, current, index_of, use

NAME = "Simulated CUDA device"
CAPABILITY = (8, 0)
MEMORY = 80 << 30
NO_UUID = "00000000-0000-0000-0000-00000000000"  # and the device's number
PROPERTIES = {
    "name": NAME,
    "major": CAPABILITY[0],
    "minor": CAPABILITY[1],
    "total_memory": MEMORY,
    "multi_processor_count": 108,
    "warp_size": 32,
    "is_integrated": False,
    "is_multi_gpu_board": False,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "regs_per_multiprocessor": 65536,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 166912,
    "shared_memory_per_multiprocessor": 167936,
    "L2_cache_size": 40 << 20,
    "gcnArchName": "",
    "pci_bus_id": 0,
    "pci_device_id": 0,
    "pci_domain_id": 0,
    "clock_rate": 0,
    "memory_clock_rate": 0,
    "memory_bus_width": 0,
}


def answering(value: Any) -> Callable[..., Any]:
    """A function of anything that returns `value`."""
    return lambda *args, **kwargs: value


class DeviceContext:
    """`torch.cuda.device(...)`, of a device or a number; a negative one changes nothing."""

    def __init__(self, device: Any = None, *_more: Any) -> None:
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = use(self.idx)

    def __exit__(self, *_error: object) -> None:
        use(self.prev_idx)


class DeviceOf(DeviceContext):
    """`torch.cuda.device_of(...)`, of a tensor or storage; of one on the host it changes nothing."""

    def __init__(self, owner: Any) -> None:
        super().__init__(owner.get_device() if owner.is_cuda else -1)


def install(changes: Changes) -> None:
    """Replace torch.cuda's questions about devices."""
    owner = os.getpid()

    def lazy_init() -> None:
        if os.getpid() != owner:
            raise RuntimeError(FORKED)

    def properties(device: Any = None) -> Any:
        index = index_of(device)
        return types.SimpleNamespace(**{**PROPERTIES, "pci_bus_id": index, "uuid": f"{NO_UUID}{index:x}"})

    def peers(device: Any, peer_device: Any) -> bool:
        return index_of(device) != index_of(peer_device)

    def about(value: Any) -> Callable[..., Any]:
        def answer(device: Any = None) -> Any:
            index_of(device)
            return value

        return answer

    cuda = torch.cuda
    for name, value in {
        "is_available": answering(True),
        "device_count": count,
        "current_device": current,
        "is_initialized": answering(True),
        "init": lazy_init,
        "_lazy_init": lazy_init,
        "_lazy_call": lambda call, **kwargs: call(),
        "_is_in_bad_fork": lambda: os.getpid() != owner,
        "_initialized": True,
        "set_device": lambda device: use(-1 if isinstance(device, int) and device < 0 else index_of(device)),
        "get_device_properties": properties,
        "get_device_name": about(NAME),
        "get_device_capability": about(CAPABILITY),
        "get_arch_list": answering(["sm_80"]),
        "get_gencode_flags": answering("-gencode compute=compute_80,code=sm_80"),
        "is_bf16_supported": answering(True),
        "is_tf32_supported": answering(True),
        "can_device_access_peer": peers,
        "device": DeviceContext,
        "device_of": DeviceOf,
        "_DeviceGuard": DeviceContext,
        "_exchange_device": use,
        "_maybe_exchange_device": use,
        "_sleep": answering(None),
        "utilization": about(0),
        "memory_usage": about(0),
        "temperature": about(0),
        "power_draw": about(0),
        "clock_rate": about(0),
        "list_gpu_processes": answering("no processes are running"),
        "current_blas_handle": answering(0),
        "get_sync_debug_mode": answering(0),
        "set_sync_debug_mode": answering(None),
        "cudart": _absent("CUDA runtime"),
    }.items():
        changes.attribute(cuda, name, value)
    changes.attribute(torch.version, "cuda", torch.version.cuda or "12.8")
    if not hasattr(C, "_cuda_getDevice"):
        # `_cuda_getDeviceCount` stays away: with it, dynamo takes the build for a CUDA one and imports what is missing.
        changes.attribute(C, "_cuda_getDevice", current)
        changes.attribute(C, "_cuda_setDevice", use)
    marker = types.SimpleNamespace(
        rangePushA=answering(0), rangePop=answering(0), rangeStartA=answering(0), rangeEnd=answering(None),
        markA=answering(None), deviceRangeStart=answering(None), deviceRangeEnd=answering(None),
    )  # fmt: skip
    changes.attribute(cuda.nvtx, "_nvtx", marker)


def _absent(what: str) -> Callable[..., Any]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(f"the simulated CUDA device has no {what}")

    return refuse
