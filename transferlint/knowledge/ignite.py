"""ignite: engines, the events that call handlers, metrics."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Callback, Effect, Hook, methods, named
from transferlint.model import Level

_EVENTS = "docs.pytorch.org ignite 'Events'"
_ENGINE = "docs.pytorch.org ignite 'ignite.engine'"
_METRICS = named("ignite.metrics.", "Metric metric.Metric")

TABLE: tuple[Api, ...] = (
    Api(
        named("ignite.utils.", "convert_tensor"),
        Effect.SEND,
        "docs.pytorch.org ignite 'ignite.utils' convert_tensor: 'Move tensors to relevant device'",
    ),
    Api(
        (*methods(_METRICS, "compute"),),
        Effect.DEVICE_TENSOR,
        "docs.pytorch.org ignite 'ignite.metrics': what the metric computes from its accumulators",
    ),
    Api(
        named("ignite.distributed.", "all_reduce all_gather broadcast"),
        Effect.KEEP,
        "docs.pytorch.org ignite 'ignite.distributed': collectives",
    ),
    Api(
        named("ignite.distributed.", "barrier"),
        Effect.SYNCHRONIZE,
        "docs.pytorch.org ignite 'ignite.distributed' barrier",
    ),
    Api(
        named("ignite.distributed.", "get_rank get_world_size get_local_rank backend device"),
        Effect.HOST,
        "docs.pytorch.org ignite 'ignite.distributed'",
    ),
    Api(
        named("ignite.distributed.", "auto_model auto_optim auto_dataloader"),
        Effect.PREPARE,
        "docs.pytorch.org ignite 'ignite.distributed.auto': auto_model moves the model to the device",
    ),
)

HOOKS: tuple[Hook, ...] = (
    Hook(
        methods(_METRICS, "update iteration_completed"),
        Level.PER_STEP,
        "docs.pytorch.org ignite 'ignite.metrics' Metric: on every ITERATION_COMPLETED",
        anywhere=False,
    ),
    Hook(
        methods(_METRICS, "reset started completed compute"),
        Level.PER_EPOCH,
        "docs.pytorch.org ignite 'ignite.metrics' EpochWise: on EPOCH_STARTED and EPOCH_COMPLETED",
        anywhere=False,
    ),
)

# How often a handler of each event runs; `every=`, `once=` and event filters amortise it.
EVENTS: dict[str, Level] = {
    "ITERATION_STARTED": Level.PER_STEP,
    "ITERATION_COMPLETED": Level.PER_STEP,
    "GET_BATCH_STARTED": Level.PER_STEP,
    "GET_BATCH_COMPLETED": Level.PER_STEP,
    "EPOCH_STARTED": Level.PER_EPOCH,
    "EPOCH_COMPLETED": Level.PER_EPOCH,
    "DATALOADER_STOP_ITERATION": Level.PER_EPOCH,
    "TERMINATE_SINGLE_EPOCH": Level.PER_EPOCH,
    "STARTED": Level.ONCE,
    "COMPLETED": Level.ONCE,
    "TERMINATE": Level.ONCE,
    "EXCEPTION_RAISED": Level.ONCE,
}
EVENTS_SOURCE = _EVENTS + ": 'Built-in events'"

CALLBACKS: tuple[Callback, ...] = (
    *(
        Callback(engine, "process_function", 0, Level.PER_STEP, _ENGINE + " Engine: 'in each iteration'")
        for engine in named("ignite.engine.", "Engine engine.Engine")
    ),
    *(
        Callback(f"ignite.engine.{maker}", argument, -1, Level.PER_STEP, _ENGINE + f" {maker}: {argument}")
        for maker in ("create_supervised_trainer", "create_supervised_evaluator")
        for argument in ("prepare_batch", "output_transform", "model_transform")
    ),
)
