"""Where the simulated device is known not to do what a row says, and why.

A reason that begins with "the row" says that the row is what seems wrong, from the library's own source; what a GPU
does decides. Such rows disagree there too, and are told.
"""

from __future__ import annotations

import types
from collections.abc import Mapping

from transferlint.knowledge.api import methods

_GLOO = "the simulated device's process group is gloo's, which exchanges objects on the host"
_TRIGGER = "the row leaves out that accelerate/accelerator.py uploads the flag tensor when it is first asked for"
_GRAPH = "the row is narrow: attributes whose places in the batch need no look at the device are separated without one"
_LISTED = (
    (("torch.cuda.empty_cache",), "the simulated device has no allocator that could wait"),
    (("torch.distributed.barrier",), "one process under gloo waits for nobody"),
    (
        tuple(
            f"torch.distributed.{name}"
            for name in "all_gather_object gather_object broadcast_object_list scatter_object_list".split()
        ),
        _GLOO,
    ),
    (("torch.optim.ASGD.step",), "the row leaves out that torch/optim/asgd.py uploads eta and mu, too"),
    (
        ("torch.nn.utils.rnn.unpad_sequence",),
        "the row leaves out that torch/nn/utils/rnn.py indexes with a mask: uploaded, or counted on the device",
    ),
    (
        ("torch.optim.NAdam.load_state_dict",),
        "the row is wrong: torch/optim/nadam.py keeps mu_product on the host, which load_state_dict uploads",
    ),
    (methods(["accelerate.Accelerator", "accelerate.accelerator.Accelerator"], "check_trigger set_trigger"), _TRIGGER),
    (
        methods(["accelerate.Accelerator", "accelerate.accelerator.Accelerator"], "free_memory"),
        "the row leaves out that accelerate/utils/memory.py waits for the device before it empties the cache",
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
        methods([f"torch_geometric.data.{name}" for name in ("Data", "Batch", "HeteroData")], "coalesce"),
        "the row is wrong: coalesce sorts edges and drops equal ones, and the data says how many",
    ),
    (methods(["torch_geometric.data.Batch"], "get_example index_select to_data_list"), _GRAPH),
    (
        ("torch_geometric.data.Batch.from_data_list",),
        "the row is wrong: torch_geometric/data/collate.py uploads how many nodes each graph has",
    ),
)  # fmt: skip
KNOWN: Mapping[str, str] = types.MappingProxyType({name: why for names, why in _LISTED for name in names})
