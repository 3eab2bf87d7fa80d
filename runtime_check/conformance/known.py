"""Where the simulated device is known not to do what a row says, and why.

A reason that begins with "the row" says that the row is what seems wrong, from the library's own source; what a GPU
does decides. Such rows disagree there too, and are told.
"""

from __future__ import annotations

import types
from collections.abc import Mapping

from transferlint.knowledge.api import methods

_LISTED = (
    (
        tuple(
            f"torch.distributed.{name}"
            for name in "all_gather_object gather_object broadcast_object_list scatter_object_list".split()
        ),
        "the simulated device's process group is gloo's, which exchanges objects on the host",
    ),
    (
        methods(["accelerate.Accelerator", "accelerate.accelerator.Accelerator"], "free_memory"),
        "the recorder takes accelerate's call of `torch.cuda.empty_cache` for a wait; a device with nothing cached has"
        " none",
    ),
    (
        methods(
            ["tensordict.TensorDict", "tensordict.TensorDictBase", "tensordict.LazyStackedTensorDict",
             "tensordict.tensordict.TensorDict"],
            "tolist",
        ),
        "the row is wrong: by default tensordict's tolist keeps tensors as they are",
    ),
    (
        methods(["torch_geometric.data.Batch"], "get_example index_select to_data_list"),
        "the row is narrow: attributes whose places in the batch need no look at the device are separated without one",
    ),
    (
        ("torch_geometric.data.Batch.from_data_list",),
        "the row leaves out that torch_geometric/data/collate.py uploads how many nodes each graph has",
    ),
)  # fmt: skip
KNOWN: Mapping[str, str] = types.MappingProxyType({name: why for names, why in _LISTED for name in names})
