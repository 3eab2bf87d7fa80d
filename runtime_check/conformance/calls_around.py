"""Calls of what torch has for several processes and for loading data, and of numpy and Python's own functions; see
`calls`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

_GROUP = "group()"  # one process, its collectives on the device


def after(setup: str, call: str, **more: str) -> dict[str, str]:
    """A call that needs something made before."""
    return {"setup": setup, "call": call, **more}


def each(owners: str, methods: Mapping[str, Any], setup: str) -> dict[str, Any]:
    """The calls of methods, for every one of the classes."""
    found: dict[str, Any] = {}
    for owner in owners.split():
        for name, call in methods.items():
            one = call if isinstance(call, dict) or call.startswith("!") else {"setup": setup, "call": call}
            found[f"{owner}.{name}"] = one
    return found


_DISTRIBUTED: dict[str, Any] = {
    "all_reduce": "F(x)", "broadcast": "F(x, 0)", "reduce": "F(x, 0)", "all_gather": "F([y], x)",
    "all_gather_into_tensor": "F(y, x)", "gather": "F(x, [y], 0)", "scatter": "F(x, [y], 0)",
    "reduce_scatter": "F(x, [y])", "reduce_scatter_tensor": "F(x, y)", "all_to_all": "F([x], [y])",
    "all_to_all_single": "F(x, y)", "all_reduce_coalesced": "F([x])", "all_gather_coalesced": "F([[y]], [x])",
    **{name: "!needs two processes" for name in "send recv isend irecv batch_isend_irecv".split()},
    "barrier": "torch.distributed.barrier()", "monitored_barrier": "!gloo alone",
    "all_gather_object": "F([None], {'a': 1})", "gather_object": "F({'a': 1}, [None], 0)",
    "broadcast_object_list": "F([{'a': 1}], 0)", "scatter_object_list": "F([None], [{'a': 1}], 0)",
    "send_object_list": "!needs two processes", "recv_object_list": "!needs two processes",
    **{
        name: "F()"
        for name in "get_rank get_world_size is_initialized is_available is_nccl_available is_gloo_available"
        " get_backend is_torchelastic_launched".split()
    },
    "get_process_group_ranks": "F(torch.distributed.group.WORLD)",
    "get_group_rank": "F(torch.distributed.group.WORLD, 0)", "get_global_rank": "F(torch.distributed.group.WORLD, 0)",
    "get_node_local_rank": "F(0)", "new_group": "F([0])",
    **{
        name: "!would replace the process group that other calls need"
        for name in "init_process_group destroy_process_group new_subgroups init_device_mesh".split()
    },
    "device_mesh.init_device_mesh": "!would replace the process group that other calls need",
    "nn.functional.all_reduce": "F(x)", "nn.functional.all_gather": "F(x)", "nn.functional.broadcast": "F(x, 0)",
    "nn.functional.reduce": "F(x, 0)", "nn.functional.gather": "F(x, 0)", "nn.functional.scatter": "F([x], 0)",
    "nn.functional.all_to_all": "F([x], [y])", "nn.functional.reduce_scatter": "F(x, [y])",
    **{
        f"_functional_collectives.{name}": call
        for name, call in {
            "all_reduce": "F(x, 'sum', torch.distributed.group.WORLD)",
            "all_gather_tensor": "F(x, 0, torch.distributed.group.WORLD)",
            "reduce_scatter_tensor": "F(x, 'sum', 0, torch.distributed.group.WORLD)",
            "broadcast": "F(x, 0, torch.distributed.group.WORLD)",
        }.items()
    },
    "Work.wait": after(f"{_GROUP}; w = torch.distributed.all_reduce(x, async_op=True)", "w.wait()"),
}  # fmt: skip
_SETS = "s = torch.utils.data.TensorDataset(host)"
_LOADING: dict[str, Any] = {
    "DataLoader": after(_SETS, "next(iter(F(s, batch_size=2)))"), "dataloader.DataLoader": after(_SETS, "F(s)"),
    "default_collate": "F([1.0, 2.0])", "default_convert": "F(numpy.ones(2))", "TensorDataset": "F(host)",
    "ConcatDataset": after(_SETS, "F([s, s])"), "ChainDataset": after(_SETS, "F([s])"),
    "StackDataset": after(_SETS, "F(s, s)"), "Subset": after(_SETS, "F(s, [0])"), "Dataset": "F()",
    "IterableDataset": "!an abstract class", "random_split": after(_SETS, "F(s, [1, 2])"),
    "SequentialSampler": after(_SETS, "list(F(s))"), "RandomSampler": after(_SETS, "list(F(s))"),
    "SubsetRandomSampler": "list(F([0, 1]))", "WeightedRandomSampler": "list(F([0.5, 0.5], 3))",
    "BatchSampler": after(_SETS, "list(F(torch.utils.data.SequentialSampler(s), 2, False))"),
    "distributed.DistributedSampler": after(_SETS, "list(F(s, 1, 0))"),
    "DistributedSampler": after(_SETS, "list(F(s, 1, 0))"), "get_worker_info": "F()",
}  # fmt: skip
_NUMPY: dict[str, Any] = {
    **{f"numpy.{name}": "F(host.numpy())" for name in "asarray array ascontiguousarray asanyarray copy".split()},
    **{f"numpy.{name}": "F(host)" for name in ("shape", "ndim")},
    "numpy.dtype": "F('float32')", "numpy.finfo": "F('float32')", "numpy.iinfo": "F('int32')",
    "numpy.result_type": "F('float32', 2)", "numpy.can_cast": "F('int32', 'int64')",
    "numpy.broadcast_shapes": "F((3, 4), (4,))", "numpy.errstate": "F()", "numpy.seterr": "F()",
    **each(
        "numpy.ndarray",
        {
            "item": "host[0, 0].numpy().item()", "astype": "host.numpy().astype('float64')",
            "view": "host.numpy().view('int32')", "reshape": "host.numpy().reshape(12)",
            **{
                name: f"host.numpy().{name}()"
                for name in "tolist tobytes copy ravel flatten squeeze transpose".split()
            },
        },
        "",
    ),
    "builtins.isinstance": "F(x, torch.Tensor)", "builtins.issubclass": "F(type(x), torch.Tensor)",
    "builtins.hasattr": "F(x, 'shape')", "builtins.open": "F('/dev/null').close()",
    "builtins.input": "!reads the terminal",
    "builtins.ord": "F('a')", "builtins.chr": "F(97)", "builtins.bytes": "F(3)", "builtins.bin": "F(3)",
    "builtins.hex": "F(3)", "builtins.oct": "F(3)", "builtins.format": "F(3)",
    "builtins.vars": "F(torch.nn.Linear(1, 1))",
    **{f"builtins.{name}": "F('text')" for name in ("repr", "str", "ascii")},
    **{f"builtins.{name}": "F(x)" for name in "len type id hash callable dir".split()},
}  # fmt: skip

CALLS: Mapping[str, Any] = types.MappingProxyType(
    {
        f"torch.distributed.{name}": call
        if isinstance(call, dict) or call.startswith("!")
        else {"setup": _GROUP, "call": call}
        for name, call in _DISTRIBUTED.items()
    }
    | {f"torch.utils.data.{name}": call for name, call in _LOADING.items()}
    | _NUMPY
)
