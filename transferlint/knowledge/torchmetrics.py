"""torchmetrics: states are on the metric's device, and so is what it computes."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, Hook, methods
from transferlint.model import Level

_CLASSES = ("torchmetrics.Metric", "torchmetrics.metric.Metric", "torchmetrics.MetricCollection")
_PAGE = "lightning.ai docs torchmetrics 'torchmetrics.Metric'"

TABLE: tuple[Api, ...] = (
    Api(methods(_CLASSES, "update reset"), Effect.NOTHING, _PAGE + " update, reset: states stay on the device"),
    Api(methods(_CLASSES, "compute forward"), Effect.DEVICE_TENSOR, _PAGE + " compute, forward: tensors on its device"),
)

HOOKS: tuple[Hook, ...] = (
    Hook(methods(_CLASSES, "update"), Level.PER_STEP, _PAGE + " update: called for every batch", anywhere=False),
    Hook(methods(_CLASSES, "compute reset"), Level.PER_EPOCH, _PAGE + " compute: called once an epoch", anywhere=False),
)
