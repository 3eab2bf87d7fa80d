"""torch.optim and torch.nn.utils: the step and what stands before it."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

_OPTIM = "docs.pytorch.org optim"
_UTILS = "docs.pytorch.org nn 'Utilities'"
_ADAM_LIKE = "Adadelta Adafactor Adagrad Adam AdamW SparseAdam Adamax ASGD NAdam RAdam RMSprop Rprop SGD"
OPTIMIZERS = named("torch.optim.", _ADAM_LIKE + " Optimizer")
_READING = named("torch.optim.", "Adafactor.step ASGD.step")

TABLE: tuple[Api, ...] = (
    Api(
        named("torch.optim.", _ADAM_LIKE + " LBFGS"),
        Effect.OPTIMIZER,
        _OPTIM + " 'Constructing it'",
    ),
    Api(
        tuple(name for name in methods(OPTIMIZERS, "step") if name not in _READING),
        Effect.NOTHING,
        _OPTIM + " 'Algorithms': with capturable=False (the default) the step counters are host tensors, and are read"
        " there; source: torch/optim/optimizer.py _get_value",
    ),
    Api(
        _READING,
        Effect.READS_STATE,
        "source: torch/optim/_adafactor.py reads the norm of each parameter by item(); torch/optim/asgd.py keeps its"
        " step on the device, reads it and uploads eta and mu",
        avoidable=False,
    ),
    Api(
        methods(["torch.optim.LBFGS"], "step"),
        Effect.READS_STATE,
        _OPTIM + " LBFGS; source: torch/optim/lbfgs.py: float(closure()) and comparisons of device values each"
        " iteration",
        avoidable=False,
    ),
    Api(named("torch.optim.swa_utils.", "AveragedModel"), Effect.MODULE, _OPTIM + " 'Weight Averaging'"),
    Api(
        named("torch.optim.swa_utils.", "AveragedModel.update_parameters"),
        Effect.READS_STATE,
        "source: torch/optim/swa_utils.py: asks whether `n_averaged` is 0, on the device if the model was made there,"
        " and uploads it if not",
        instead="`torch._foreach_lerp_(list(averaged.parameters()), list(model.parameters()), 1 - decay)` under"
        " `torch.no_grad()`, which waits for nothing, or update less often",
    ),
    Api(named("torch.optim.lr_scheduler.", "ReduceLROnPlateau"), Effect.OBJECT, _OPTIM + " 'How to adjust'"),
    Api(
        named("torch.optim.lr_scheduler.", "ReduceLROnPlateau.step"),
        Effect.READS_ARGUMENTS,
        "source: torch/optim/lr_scheduler.py: float(metrics)",
        avoidable=False,
    ),
    Api(
        methods((*OPTIMIZERS, "torch.optim.LBFGS"), "zero_grad add_param_group"),
        Effect.NOTHING,
        _OPTIM + " zero_grad",
    ),
    Api(
        tuple(
            name
            for name in methods((*OPTIMIZERS, "torch.optim.LBFGS"), "state_dict load_state_dict")
            if name != "torch.optim.NAdam.load_state_dict"  # uploads mu_product, which the step keeps on the host
        ),
        Effect.NOTHING,
        _OPTIM + " state_dict: refers to the tensors of the optimizer; nothing is copied",
    ),
    Api(
        (*named("torch.nn.utils.", "clip_grad_norm_ get_total_norm"),
         "torch.nn.utils.clip_grad.clip_grad_norm_"),
        Effect.CHECK,
        _UTILS + " clip_grad_norm_: gives the 'total norm of the parameter gradients' as a tensor;"
        " error_if_nonfinite=True"
        " asks whether it is finite; source: torch/nn/utils/clip_grad.py",
        when=("error_if_nonfinite",),
    ),
    Api(
        named("torch.nn.utils.", "clip_grads_with_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters"),
        Effect.KEEP,
        _UTILS + ": computed where the gradients and parameters are",
    ),
    Api(
        named("torch.nn.utils.rnn.", "pad_sequence"),
        Effect.KEEP,
        "docs.pytorch.org torch.nn.utils.rnn: where the sequences are",
    ),
    Api(
        named("torch.nn.utils.rnn.", "pad_packed_sequence"),
        Effect.KEEP,
        "docs.pytorch.org torch.nn.utils.rnn: where the sequences are; source: torch/nn/utils/rnn.py: of what was"
        " packed with `enforce_sorted=False` the order is copied to the host",
        instead="sort the batch by length where it is put together (`collate_fn`), and pack it with"
        " `enforce_sorted=True`: to undo the sorting here takes a copy to the host",
    ),
    Api(
        named("torch.nn.utils.rnn.", "unpad_sequence"),
        Effect.SHAPE,
        "source: torch/nn/utils/rnn.py: each sequence is what a mask selects",
    ),
    Api(
        named("torch.nn.utils.rnn.", "pack_padded_sequence pack_sequence"),
        Effect.KEEP,
        "docs.pytorch.org torch.nn.utils.rnn.pack_padded_sequence: lengths 'must be on the CPU if provided as a"
        " tensor'",
    ),
)  # fmt: skip
