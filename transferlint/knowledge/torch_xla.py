"""torch_xla: tensors of the device "xla" are lazy; a step is queued where it ends, and reads wait for it."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

_MODEL = "torch_xla.core.xla_model."
_PAGE = "docs.pytorch.org xla 'torch_xla.core.xla_model'"
_LAZY = "docs.pytorch.org xla 'PyTorch on XLA Devices', XLA tensors are lazy"

TABLE: tuple[Api, ...] = (
    Api(
        (*named(_MODEL, "xla_device"), "torch_xla.device"),
        Effect.NAME_DEVICE,
        _PAGE + " xla_device: 'Returns a given instance of an XLA device'",
    ),
    Api(
        (*named(_MODEL, "mark_step"), "torch_xla.sync", "torch_xla.step"),
        Effect.SYNCHRONIZE,
        _LAZY + "; source: torch_xla/torch_xla.py sync(wait=False): queues the graph, and waits for it with wait=True",
        when=("wait",),
        otherwise=Effect.NOTHING,
    ),
    Api(
        named(_MODEL, "wait_device_ops"),
        Effect.SYNCHRONIZE,
        _PAGE + " wait_device_ops: 'Waits for all the async operations on the given devices to complete'",
    ),
    Api(
        named(_MODEL, "mesh_reduce rendezvous"),
        Effect.EXCHANGES_OBJECTS,
        _PAGE + " mesh_reduce: 'Performs an out-of-graph client mesh reduction': of pickled data",
    ),
    Api(
        named(_MODEL, "master_print"),
        Effect.FORMATS_ARGUMENTS,
        _PAGE + " master_print: prints on the main process",
    ),
    Api(
        named(_MODEL, "optimizer_step add_step_closure save set_rng_state"),
        Effect.NOTHING,
        _PAGE + " optimizer_step: steps and all-reduces; add_step_closure: runs once the step is done",
    ),
    Api(
        named(_MODEL, "all_reduce all_gather reduce_scatter all_to_all collective_permute"),
        Effect.KEEP,
        _PAGE + " all_reduce: collectives on the device",
    ),
)
