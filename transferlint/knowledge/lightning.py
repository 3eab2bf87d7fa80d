"""Lightning: what the module, the callbacks and Fabric do with tensors, and which hooks run how often."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, Hook, methods, named
from transferlint.model import Level

MODULES = ("lightning.LightningModule", "lightning.pytorch.LightningModule", "pytorch_lightning.LightningModule",
           "lightning.pytorch.core.LightningModule", "lightning.pytorch.core.module.LightningModule",
           "pytorch_lightning.core.LightningModule")  # fmt: skip
CALLBACK_BASES = ("lightning.Callback", "lightning.pytorch.Callback", "lightning.pytorch.callbacks.Callback",
                  "pytorch_lightning.Callback", "pytorch_lightning.callbacks.Callback")  # fmt: skip
FABRICS = ("lightning.Fabric", "lightning.fabric.Fabric", "lightning_fabric.Fabric")
TRAINERS = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")
_MODULE = "lightning.ai docs pytorch 'LightningModule'"
_LOGGING = "lightning.ai docs pytorch 'Logging'"
_HOOKS = "lightning.ai docs pytorch 'Hooks in PyTorch Lightning'"
_FABRIC = "lightning.ai docs fabric 'Fabric Methods'"

TABLE: tuple[Api, ...] = (
    Api((*FABRICS, *TRAINERS), Effect.OBJECT, "lightning.ai docs: classes"),
    Api(
        methods(MODULES, "log log_dict"),
        Effect.NOTHING,
        _LOGGING + ": 'logs every 50 steps'; source: core/module.py keeps value.detach() (and uploads a Python number);"
        " loggers and prog_bar=True read the number when they write, not at the call",
    ),
    Api(
        methods(MODULES, "print"),
        Effect.FORMATS_ARGUMENTS,
        _MODULE + " print: 'Prints only from process 0'",
    ),
    Api(methods(MODULES, "all_gather"), Effect.KEEP, _MODULE + " all_gather"),
    Api(methods(MODULES, "manual_backward backward"), Effect.BACKWARD, _MODULE + " manual_backward"),
    Api(
        methods(MODULES, "clip_gradients toggle_optimizer untoggle_optimizer optimizers lr_schedulers"
                " save_hyperparameters configure_gradient_clipping optimizer_step optimizer_zero_grad"),
        Effect.NOTHING,
        _MODULE,
    ),
    Api(
        methods(MODULES, "transfer_batch_to_device"),
        Effect.SEND,
        _MODULE + " transfer_batch_to_device: moves a batch to the module's device",
    ),
    Api(
        (*named("lightning.fabric.utilities.", "move_data_to_device apply_func.move_data_to_device"),
         *named("lightning.pytorch.utilities.", "move_data_to_device"),
         *named("lightning_fabric.utilities.", "move_data_to_device apply_func.move_data_to_device"),
         *named("pytorch_lightning.utilities.", "move_data_to_device")),
        Effect.SEND,
        "lightning.ai docs 'move_data_to_device': 'Transfers a collection of data to the given device'",
    ),
    Api(
        methods(FABRICS, "log log_dict"),
        Effect.READS_ARGUMENTS,
        _FABRIC + " log; source: fabric/fabric.py log_dict turns every tensor into a number at once",
    ),
    Api(methods(FABRICS, "print"), Effect.FORMATS_ARGUMENTS, _FABRIC + " print"),
    Api(methods(FABRICS, "to_device"), Effect.SEND, _FABRIC + " to_device: 'to move models, tensors or collections'"),
    Api(
        methods(FABRICS, "setup setup_module setup_optimizers setup_dataloaders"),
        Effect.PREPARE,
        _FABRIC + " setup, setup_dataloaders: 'moves the model and optimizer to the correct device automatically'",
    ),
    Api(methods(FABRICS, "backward"), Effect.BACKWARD, _FABRIC + " backward"),
    Api(methods(FABRICS, "all_gather all_reduce broadcast"), Effect.KEEP, _FABRIC + " all_gather, all_reduce"),
    Api(methods(FABRICS, "barrier"), Effect.SYNCHRONIZE, _FABRIC + " barrier: torch.distributed.barrier"),
    Api(
        methods(FABRICS, "clip_gradients"),
        Effect.CHECK,
        _FABRIC + " clip_gradients: error_if_nonfinite (True by default) as in clip_grad_norm_",
    ),
    Api(
        methods(FABRICS, "launch seed_everything save load load_raw no_backward_sync autocast init_module init_tensor"),
        Effect.NOTHING,
        _FABRIC,
    ),
    Api(methods(TRAINERS, "fit validate test predict"), Effect.NOTHING, "lightning.ai docs pytorch 'Trainer'"),
)  # fmt: skip

_OWNERS = (*MODULES, *CALLBACK_BASES)
HOOKS: tuple[Hook, ...] = (
    Hook(
        methods(MODULES, "training_step validation_step test_step predict_step"),
        Level.PER_STEP,
        _MODULE + ": called for every batch",
    ),
    Hook(
        methods(_OWNERS, "on_train_batch_start on_train_batch_end on_validation_batch_start on_validation_batch_end"
                " on_test_batch_start on_test_batch_end on_predict_batch_start on_predict_batch_end"
                " on_before_backward on_after_backward on_before_optimizer_step on_before_zero_grad"),
        Level.PER_STEP,
        _HOOKS + ": called for every batch",
    ),
    Hook(
        methods(MODULES, "optimizer_step optimizer_zero_grad configure_gradient_clipping lr_scheduler_step"
                " on_before_batch_transfer on_after_batch_transfer transfer_batch_to_device"),
        Level.PER_STEP,
        _HOOKS + ": called for every batch or optimizer step",
    ),
    Hook(
        methods(_OWNERS, "on_train_epoch_start on_train_epoch_end on_validation_epoch_start on_validation_epoch_end"
                " on_test_epoch_start on_test_epoch_end on_predict_epoch_start on_predict_epoch_end"
                " on_validation_start on_validation_end")
        + methods(MODULES, "training_epoch_end validation_epoch_end test_epoch_end"),
        Level.PER_EPOCH,
        _HOOKS + ": called once an epoch",
    ),
    Hook(
        methods(_OWNERS, "on_fit_start on_fit_end on_train_start on_train_end on_test_start on_test_end"
                " on_predict_start on_predict_end on_save_checkpoint on_load_checkpoint")
        + methods(CALLBACK_BASES, "on_sanity_check_start on_sanity_check_end on_exception")
        + methods(MODULES, "configure_optimizers configure_model configure_sharded_model configure_callbacks"
                  " prepare_data train_dataloader val_dataloader test_dataloader predict_dataloader"),
        Level.ONCE,
        _HOOKS + ": called when a run or a checkpoint begins or ends",
    ),
    Hook(
        methods(_OWNERS, "setup teardown"),
        Level.ONCE,
        _HOOKS + ": called when a stage begins or ends",
        anywhere=False,
    ),
)  # fmt: skip
