"""accelerate: the Accelerator's collectives stay on the device, its logging and object exchange do not."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

ACCELERATORS = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
_PAGE = "huggingface.co docs accelerate 'Accelerator'"
_UTILS = "huggingface.co docs accelerate 'Useful Utilities'"
_SOURCE = "; source: accelerate/utils/operations.py"

TABLE: tuple[Api, ...] = (
    Api(ACCELERATORS, Effect.OBJECT, _PAGE),
    Api(
        methods(ACCELERATORS, "prepare prepare_model prepare_data_loader prepare_optimizer prepare_scheduler"),
        Effect.PREPARE,
        _PAGE + " prepare: 'let the accelerator handle device placement'; prepared loaders yield batches on the device",
    ),
    Api(
        methods(ACCELERATORS, "gather reduce"),
        Effect.KEEP,
        _PAGE + " gather, reduce: collectives; the result is where the tensors are" + _SOURCE,
    ),
    Api(
        methods(ACCELERATORS, "gather_for_metrics"),
        Effect.EXCHANGES_OBJECTS,
        _PAGE + " gather_for_metrics: as gather for tensors; use_gather_object=True pickles" + _SOURCE,
        when=("use_gather_object",),
    ),
    Api(
        methods(ACCELERATORS, "pad_across_processes"),
        Effect.SHAPE,
        _PAGE + " pad_across_processes: asks all processes for their sizes and copies these to the host" + _SOURCE,
    ),
    Api(methods(ACCELERATORS, "backward"), Effect.BACKWARD, _PAGE + " backward: 'Use this method in lieu of"
    " loss.backward()'"),
    Api(
        methods(ACCELERATORS, "clip_grad_norm_"),
        Effect.KEEP,
        _PAGE + " clip_grad_norm_: 'Total norm of the parameter gradients', a tensor",
    ),
    Api(methods(ACCELERATORS, "clip_grad_value_ unscale_gradients"), Effect.NOTHING, _PAGE),
    Api(
        methods(ACCELERATORS, "log"),
        Effect.READS_ARGUMENTS,
        _PAGE + " log: 'Logs values to all stored trackers'; source: accelerate/tracking.py hands them to add_scalar,"
        " wandb's log and others, which read numbers",
    ),
    Api(methods(ACCELERATORS, "print"), Effect.FORMATS_ARGUMENTS, _PAGE + " print: 'Drop in replacement of print()'"),
    Api(
        methods(ACCELERATORS, "wait_for_everyone"),
        Effect.SYNCHRONIZE,
        _PAGE + " wait_for_everyone: torch.distributed.barrier",
    ),
    Api(
        methods(ACCELERATORS, "check_trigger"),
        Effect.READS_STATE,
        _PAGE + " check_trigger: source: accelerate/accelerator.py uploads flag_tensor when it is first asked for,"
        " and reads it by item()",
    ),
    Api(
        methods(ACCELERATORS, "accumulate no_sync autocast main_process_first local_main_process_first"
                " init_trackers end_training save_state load_state save save_model free_memory clear"
                " register_for_checkpointing unwrap_model skip_first_batches on_main_process profile"),
        Effect.NOTHING,
        _PAGE,
    ),
    Api(
        named("accelerate.utils.", "send_to_device operations.send_to_device"),
        Effect.SEND,
        _UTILS + " send_to_device: 'Recursively sends the elements in a nested list/tuple/dictionary of tensors"
        " to a given"
        " device'",
    ),
    Api(
        named("accelerate.utils.", "gather reduce broadcast concatenate operations.gather operations.reduce"),
        Effect.KEEP,
        _UTILS + _SOURCE,
    ),
    Api(
        named("accelerate.utils.", "gather_object broadcast_object_list operations.gather_object"),
        Effect.EXCHANGES_OBJECTS,
        _UTILS + " gather_object: torch.distributed.all_gather_object",
    ),
    Api(
        named("accelerate.utils.", "pad_across_processes operations.pad_across_processes"),
        Effect.SHAPE,
        _UTILS + " pad_across_processes: copies sizes to the host" + _SOURCE,
    ),
    Api(named("accelerate.utils.", "set_seed"), Effect.NOTHING, _UTILS + " set_seed"),
)  # fmt: skip
