"""torch.distributed: collectives, which NCCL runs on device tensors, and what goes through pickle."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

_PAGE = "docs.pytorch.org distributed"
_PREFIX = "torch.distributed."

TABLE: tuple[Api, ...] = (
    Api(
        named(
            _PREFIX,
            "all_reduce broadcast reduce all_gather all_gather_into_tensor gather scatter reduce_scatter"
            " reduce_scatter_tensor all_to_all all_to_all_single send recv isend irecv batch_isend_irecv"
            " all_reduce_coalesced all_gather_coalesced",
        ),
        Effect.COLLECTIVE,
        _PAGE
        + " 'Backends' (NCCL: device tensors), 'Synchronous and asynchronous collective operations': with CUDA the"
        " call returns once the operation is queued",
    ),
    Api(
        named(_PREFIX, "barrier"),
        Effect.SYNCHRONIZE,
        _PAGE + " barrier: 'blocks processes until the whole group enters this function'; ProcessGroupNCCL 'blocks the"
        " cpu thread till the completion of the barrier collective'",
    ),
    Api(
        named(_PREFIX, "monitored_barrier"),
        Effect.NOTHING,
        _PAGE + " monitored_barrier: gloo alone; waits for processes, not for the device",
    ),
    Api(
        named(
            _PREFIX,
            "all_gather_object gather_object broadcast_object_list scatter_object_list send_object_list"
            " recv_object_list",
        ),
        Effect.EXCHANGES_OBJECTS,
        _PAGE
        + " all_gather_object: pickles; 'for NCCL-based process groups, internal tensor representations of objects"
        " must be moved to the GPU device before communication starts'",
    ),
    Api(
        named(
            _PREFIX,
            "get_rank get_world_size is_initialized is_available is_nccl_available is_gloo_available get_backend"
            " get_process_group_ranks get_group_rank get_global_rank get_node_local_rank is_torchelastic_launched",
        ),
        Effect.HOST,
        _PAGE + " 'Post-Initialization': answered on the host",
    ),
    Api(
        named(
            _PREFIX,
            "init_process_group destroy_process_group new_group new_subgroups init_device_mesh"
            " device_mesh.init_device_mesh",
        ),
        Effect.NOTHING,
        _PAGE + " 'Initialization', 'Groups'",
    ),
    Api(
        named(
            _PREFIX + "nn.functional.",
            "all_reduce all_gather broadcast reduce gather scatter all_to_all reduce_scatter",
        ),
        Effect.KEEP,
        "source: torch/distributed/nn/functional.py: collectives that autograd follows, results where the tensors are",
    ),
    Api(
        named(_PREFIX + "_functional_collectives.", "all_reduce all_gather_tensor reduce_scatter_tensor broadcast"),
        Effect.KEEP,
        "source: torch/distributed/_functional_collectives.py: give a tensor on the device of their operand",
    ),
    Api(
        named(_PREFIX + "Work.", "wait"),
        Effect.NOTHING,
        _PAGE + " 'Synchronous and asynchronous collective operations': wait() 'in the case of CUDA collectives' makes"
        " the current stream wait, not the host",
    ),
)
