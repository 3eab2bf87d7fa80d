"""Storages that move or copy themselves, which `torch.load`, `copy.deepcopy` and pickling do: torch would ask CUDA's
allocator for memory, here the tensor over the storage moves."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import torch
from runtime_check.simulate.ordinals import index_of


def install(changes: Changes) -> None:
    """Replace four methods of torch.UntypedStorage."""
    storage_type = torch.UntypedStorage
    clone_host, resize_host = storage_type.clone, storage_type.resize_

    def over(storage: Any) -> Any:
        return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        place = torch.device(device)
        return cuda(self, place, non_blocking) if place.type == "cuda" else self.cpu()

    def cuda(self: Any, place: Any = None, non_blocking: bool = False) -> Any:
        device = torch.device("cuda", index_of(place))
        return self if self.device == device else over(self).to(device, non_blocking=non_blocking).untyped_storage()

    def clone(self: Any) -> Any:
        return over(self).clone().untyped_storage() if self.device.type == "cuda" else clone_host(self)

    def resize_(self: Any, size: int) -> Any:
        """Device memory is not given back, so that less of it is the same memory."""
        if self.device.type != "cuda":
            return resize_host(self, size)
        if size > self.nbytes():
            raise NotImplementedError("the simulated CUDA device can not enlarge a storage in place")
        return self

    changes.attribute(storage_type, "resize_", resize_)
    changes.attribute(storage_type, "to", to)
    changes.attribute(storage_type, "cuda", cuda)
    changes.attribute(storage_type, "clone", clone)
