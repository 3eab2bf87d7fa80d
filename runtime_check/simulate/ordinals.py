"""Device numbers: there is one device, number 0, and CUDA has words for the others."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.internals import torch

OUT_OF_RANGE = (
    "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
    "(this machine's CUDA device is simulated, and there is one)"
)


def index_of(device: Any = None) -> int:
    """The number of the device that `device` names: 0. Raises what CUDA raises for any other."""
    if device is None:
        return 0
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        device = device.index or 0
    if int(device) > 0:
        raise torch.AcceleratorError(OUT_OF_RANGE)
    return 0
