"""transformers: generation, tokenizers, and the Trainer's methods and callbacks."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Callback, Effect, Hook, methods, named
from transferlint.model import Level

TRAINERS = named("transformers.", "Trainer Seq2SeqTrainer trainer.Trainer trainer_seq2seq.Seq2SeqTrainer")
_CALLBACK_BASES = named("transformers.", "TrainerCallback trainer_callback.TrainerCallback")
# `AutoTokenizer` and `AutoProcessor` stand for what their `from_pretrained` gives.
_TOKENIZERS = named(
    "transformers.", "PreTrainedTokenizer PreTrainedTokenizerFast PreTrainedTokenizerBase AutoTokenizer"
)
_PROCESSORS = named("transformers.", "ProcessorMixin AutoProcessor")
_GENERATORS = named("transformers.", "GenerationMixin generation.GenerationMixin PreTrainedModel")
_TRAINER = "huggingface.co docs transformers 'Trainer'"
_CALLBACK = "huggingface.co docs transformers 'Callbacks'"
_TOKENIZER = "huggingface.co docs transformers 'Tokenizer'"

TABLE: tuple[Api, ...] = (
    Api(
        methods(_GENERATORS, "generate"),
        Effect.DEVICE_TENSOR,
        "huggingface.co docs transformers 'Generation' generate: token ids on the model's device; its own loop asks for"
        " every token whether all sequences have ended",
    ),
    Api(
        methods(_TOKENIZERS, "decode batch_decode convert_ids_to_tokens") + methods(_PROCESSORS, "decode batch_decode"),
        Effect.READS_ARGUMENTS,
        _TOKENIZER + " decode: 'token_ids' may be a torch.Tensor; source: to_py_obj: obj.detach().cpu().tolist()",
    ),
    Api(
        methods(_TOKENIZERS, "encode encode_plus batch_encode_plus __call__ pad apply_chat_template tokenize")
        + methods(_PROCESSORS, "__call__ apply_chat_template"),
        Effect.HOST_DATA,
        _TOKENIZER + " __call__: lists, or host tensors with return_tensors='pt'",
    ),
    Api(
        methods(TRAINERS, "log"),
        Effect.FORMATS_ARGUMENTS,
        _TRAINER + " log: hands the values to on_log; the default PrinterCallback or ProgressCallback writes str(logs)",
    ),
    Api(methods(TRAINERS, "_prepare_inputs _prepare_input"), Effect.SEND, _TRAINER + ": moves a batch to args.device"),
    Api(named("transformers.", "set_seed"), Effect.NOTHING, "huggingface.co docs transformers 'Utilities for Trainer'"),
    Api(
        named("transformers.trainer_pt_utils.", "nested_numpify"),
        Effect.READS_ARGUMENTS,
        "huggingface.co docs transformers 'Utilities for Trainer'; source: tensors.cpu() and numpy()",
    ),
)

HOOKS: tuple[Hook, ...] = (
    Hook(
        methods(TRAINERS, "training_step prediction_step compute_loss floating_point_ops"),
        Level.PER_STEP,
        _TRAINER + ": called for every batch",
    ),
    Hook(
        methods(TRAINERS, "_prepare_inputs compute_loss_context_manager _maybe_log_save_evaluate"),
        Level.PER_STEP,
        _TRAINER + ": called for every batch",
        anywhere=False,
    ),
    Hook(
        methods(_CALLBACK_BASES, "on_step_begin on_step_end on_substep_end on_pre_optimizer_step on_optimizer_step"
                " on_prediction_step"),
        Level.PER_STEP,
        _CALLBACK + ": called for every step",
    ),
    Hook(
        methods(_CALLBACK_BASES, "on_log"),
        Level.PER_EPOCH,
        _CALLBACK + ": called every logging_steps",
    ),
    Hook(
        methods(_CALLBACK_BASES, "on_epoch_begin on_epoch_end on_evaluate on_save on_predict"),
        Level.PER_EPOCH,
        _CALLBACK + ": called once an epoch, evaluation or checkpoint",
    ),
    Hook(
        methods(_CALLBACK_BASES, "on_init_end on_train_begin on_train_end on_push_begin"),
        Level.ONCE,
        _CALLBACK + ": called when a run begins or ends",
    ),
    Hook(
        methods(TRAINERS, "log"),
        Level.PER_EPOCH,
        _TRAINER + ": called every logging_steps",
        anywhere=False,
    ),
    Hook(
        methods(TRAINERS, "create_optimizer create_scheduler get_train_dataloader get_eval_dataloader save_model"
                " create_optimizer_and_scheduler evaluate predict train"),
        Level.ONCE,
        _TRAINER + ": called once a run or an evaluation",
        anywhere=False,
    ),
)  # fmt: skip

CALLBACKS: tuple[Callback, ...] = tuple(
    Callback(trainer, argument, position, level, _TRAINER + f": {argument}")
    for trainer in TRAINERS
    for argument, position, level in (
        ("compute_metrics", -1, Level.PER_EPOCH),
        ("preprocess_logits_for_metrics", -1, Level.PER_STEP),
        ("compute_loss_func", -1, Level.PER_STEP),
        ("data_collator", 2, Level.PER_STEP),
    )
)
