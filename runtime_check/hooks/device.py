"""The device that the program computes on, real or simulated."""

from __future__ import annotations

import sys
from typing import Any

_KEYS = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "mtia": "MTIA", "hpu": "HPU"}  # c10/core/DispatchKey.h


def key() -> str:
    """The dispatch key of the accelerator's kernels ("CUDA"); "" where torch has no device but the host."""
    import torch

    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return "" if found is None else _KEYS.get(str(found.type), "PrivateUse1")


def simulation() -> Any:
    """The simulated device of this process, None where there is none."""
    module = sys.modules.get("runtime_check.simulate")
    return None if module is None else module.running()


def compiling() -> bool:
    """Whether torch is tracing a graph here: then nothing runs, and thread-local state must not be read."""
    import torch

    found: bool = torch.compiler.is_compiling()
    return found
