"""torch_geometric: batches of graphs, and helpers that size their results from the data unless told the size."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

CLASSES = named("torch_geometric.data.", "Data Batch HeteroData TemporalData")
_BATCH = ("torch_geometric.data.Batch",)
LOADERS = named("torch_geometric.loader.", "DataLoader NeighborLoader LinkNeighborLoader HGTLoader ClusterLoader"
                " GraphSAINTRandomWalkSampler GraphSAINTNodeSampler GraphSAINTEdgeSampler ShaDowKHopSampler"
                " RandomNodeLoader ImbalancedSampler DataListLoader DenseDataLoader")  # fmt: skip
_DATA = "pytorch-geometric.readthedocs.io torch_geometric.data.Batch"
_UTILS = "pytorch-geometric.readthedocs.io torch_geometric.utils"
_SOURCE = "; source: torch_geometric/utils"

TABLE: tuple[Api, ...] = (
    Api((*LOADERS, "torch_geometric.data.DataLoader"), Effect.LOADER, "pytorch-geometric.readthedocs.io"
    " torch_geometric.loader"),
    Api(CLASSES, Effect.OBJECT, _DATA),
    Api(
        methods(CLASSES[:3], "clone contiguous subgraph edge_subgraph"),
        Effect.SAME,
        _DATA + ": on the device of its tensors",
    ),
    Api(
        methods(CLASSES[:3], "coalesce"),
        Effect.SHAPE,
        _DATA + " coalesce: sorts the edges and drops equal ones, and the data says how many are left",
    ),
    Api(
        methods(_BATCH, "to_data_list get_example index_select"),
        Effect.SHAPE,
        _DATA + " to_data_list: 'Reconstructs the list of Data objects'; source:"
        " torch_geometric/data/separate.py reads the"
        " bounds of every graph and uploads its increments, one graph and one attribute at a time",
    ),
    Api(methods(_BATCH, "from_data_list"), Effect.KEEP, _DATA + " from_data_list: where the graphs' tensors are"),
    Api(
        methods(CLASSES[:3], "keys node_attrs edge_attrs"),
        Effect.HOST,
        _DATA + ": metadata",
    ),
    Api(
        named("torch_geometric.utils.", "scatter"),
        Effect.SHAPE,
        _UTILS + " scatter: without dim_size the size is int(index.max()) + 1" + _SOURCE + "/_scatter.py",
        unless=("dim_size",),
    ),
    Api(
        named("torch_geometric.utils.", "softmax degree to_undirected add_self_loops"),
        Effect.SHAPE,
        _UTILS + " softmax, degree, add_self_loops: without num_nodes the size is int(index.max()) + 1" + _SOURCE
        + "/num_nodes.py",
        unless=("num_nodes",),
    ),
    Api(
        named("torch_geometric.utils.", "to_dense_batch"),
        Effect.SHAPE,
        _UTILS + " to_dense_batch: without max_num_nodes and batch_size both are read by int()" + _SOURCE,
        unless=("max_num_nodes", "batch_size"),
    ),
    Api(
        named("torch_geometric.utils.", "to_dense_adj"),
        Effect.SHAPE,
        _UTILS + " to_dense_adj: as to_dense_batch" + _SOURCE,
        unless=("max_num_nodes", "batch_size"),
    ),
    Api(
        named("torch_geometric.utils.", "remove_self_loops subgraph coalesce dropout_edge k_hop_subgraph"
        " dense_to_sparse"),
        Effect.SHAPE,
        _UTILS + ": edges that a mask selects",
    ),
    Api(
        named("torch_geometric.utils.", "unbatch unbatch_edge_index"),
        Effect.SHAPE,
        _UTILS + " unbatch: sizes are read by tolist()" + _SOURCE + "/_unbatch.py",
    ),
    Api(
        named("torch_geometric.utils.", "contains_self_loops contains_isolated_nodes is_undirected"),
        Effect.TRUTH,
        _UTILS + ": give a Python bool",
    ),
    Api(
        named("torch_geometric.nn.", "global_add_pool global_mean_pool global_max_pool"),
        Effect.SHAPE,
        "pytorch-geometric.readthedocs.io torch_geometric.nn global_add_pool: 'size: The number of examples';"
        " 'automatically calculated if not given', from the data",
        unless=("size",),
    ),
)  # fmt: skip
