"""`nn.DataParallel` over the one device: torch's scatter and gather want CUDA's copies in C++."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import torch


def install(changes: Changes) -> None:
    """Replace torch.nn.parallel.comm's functions."""
    from torch.nn.parallel import comm

    device = torch.device("cuda", 0)

    def scatter(
        tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None, *, out: Any = None
    ) -> Any:
        if out:
            out[0].copy_(tensor)
            return out
        return (tensor.to(device, non_blocking=True),)

    def broadcast(tensor: Any, devices: Any = None, *, out: Any = None) -> Any:
        return (tensor.to(device),) if not out else (tensor, *(one.copy_(tensor) for one in out))

    def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 0) -> Any:
        return [list(tensors)]

    def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
        gathered = torch.cat([one.reshape(1) if one.dim() == 0 else one for one in tensors], dim)
        return gathered if out is None else out.copy_(gathered)

    def reduce_add(inputs: Any, destination: Any = None) -> Any:
        return torch.stack(list(inputs)).sum(0) if len(inputs) > 1 else inputs[0]

    for function in (scatter, broadcast, broadcast_coalesced, gather, reduce_add):
        changes.attribute(comm, function.__name__, function)
