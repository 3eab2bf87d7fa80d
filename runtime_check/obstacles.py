"""What a capture of a CUDA graph refuses, by operation: why the host waits there, and what to write instead.

docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs, "Constraints": whatever makes the host wait for the device
fails while a graph is captured.
"""

from __future__ import annotations

from transferlint.model import Direction

_READ = (
    "a device value is read on the host",
    "keep it a tensor (a mask or torch.where for a condition), or read it after the replay",
)
_UPLOAD = (
    "the copy to the device blocks",
    "create it before the capture and fill it with copy_ before a replay, or pin the memory and pass non_blocking=True",
)
_DOWNLOAD = ("the copy to the host blocks", "copy it after the replay")
_ASKED = ("it synchronizes explicitly", "leave it out of the capture; synchronize after the replay")
_SIZE = (
    "the size of its result depends on data",
    "keep the size fixed: a mask or torch.where instead of a selection, nonzero_static, output_size=",
)
_INSIDE = ("its kernel reads a result back to the host", "do it outside of the capture")
_SIZED = frozenset(
    (
        *("nonzero", "masked_select", "index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_"),
        *("_unsafe_index_put", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"),
        *("repeat_interleave", "bincount", "_coalesce", "nms"),
    )
)


def of(operation: str, direction: Direction) -> tuple[str, str]:
    """Why an operation ("aten::nonzero") waits, and what to do instead; `direction` is that of a copy."""
    if operation.startswith("torch."):
        return _ASKED
    name = operation.rpartition("::")[2]
    if name == "_local_scalar_dense":
        return _READ
    if name == "copy_":
        return _UPLOAD if direction is Direction.H2D else _DOWNLOAD
    return _SIZE if name in _SIZED else _INSIDE
