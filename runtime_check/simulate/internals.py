"""Torch, as the simulator uses it: mostly by names that its type hints leave out, hence untyped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch as typed_torch

torch: Any = typed_torch
C: Any = torch._C
aten: Any = torch.ops.aten
Tensor: Any = torch.Tensor

FOLDER = Path(typed_torch.__file__).parent


def operator(name: str, namespace: str = "aten") -> Any:
    """The overload that the dispatcher calls `name` ("add.Tensor", "nonzero"). Raises AttributeError."""
    base, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def has_kernel(name: str, key: str) -> bool:
    """Whether the dispatcher holds a kernel of its own for `name` ("aten::add.Tensor") at `key` ("CPU")."""
    return bool(C._dispatch_has_kernel_for_dispatch_key(name, key))
