"""MosaicML's Composer: what its trainer calls, and how often."""

from __future__ import annotations

from transferlint.knowledge.api import Hook, methods, named
from transferlint.model import Level

_EVENTS = "docs.mosaicml.com composer 'Events'"
_BASES = named(
    "composer.", "Callback Algorithm core.Callback core.Algorithm core.callback.Callback core.algorithm.Algorithm"
)
_LOGGERS = named("composer.loggers.", "LoggerDestination logger_destination.LoggerDestination")

HOOKS: tuple[Hook, ...] = (
    Hook(
        methods((*_BASES, *_LOGGERS), "before_dataloader after_dataloader batch_start before_train_batch before_forward"
                " after_forward before_loss after_loss before_backward after_backward after_train_batch batch_end"
                " eval_batch_start eval_before_forward eval_after_forward eval_batch_end"
                " predict_batch_start predict_before_forward predict_after_forward predict_batch_end"),
        Level.PER_STEP,
        _EVENTS + ": called for every batch",
        anywhere=False,
    ),
    Hook(
        methods((*_BASES, *_LOGGERS), "iteration_start iteration_end epoch_start epoch_end epoch_checkpoint"
                " eval_before_all eval_after_all eval_start eval_end predict_start predict_end"),
        Level.PER_EPOCH,
        _EVENTS + ": called once an epoch, or an evaluation",
        anywhere=False,
    ),
    Hook(
        methods((*_BASES, *_LOGGERS), "init before_load after_load fit_start fit_end close post_close"),
        Level.ONCE,
        _EVENTS + ": called when a run begins or ends",
        anywhere=False,
    ),
)  # fmt: skip
