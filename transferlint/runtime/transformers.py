"""For Hugging Face's Trainer: `Trainer(..., callbacks=[TransfersCallback()])` logs what each step moves."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from runtime_check.per_step import PerStep

if TYPE_CHECKING:
    from transformers import TrainerCallback
else:
    try:
        from transformers import TrainerCallback
    except ImportError:
        raise ImportError(
            "transferlint.runtime.transformers needs Hugging Face's Transformers: pip install transformers"
        ) from None


class TransfersCallback(TrainerCallback):
    """Counts transfers and waits of each step, of all threads, and adds the mean per step to what the Trainer logs
    every `logging_steps`, as `transfers/h2d` and so on (see `PerStep.scalars`): in `state.log_history`, and in what
    TensorBoard, Weights & Biases and the other integrations write, which put `train/` before it.

    A step is an optimizer step, with all batches that it accumulates: it goes from the end of the last one to its own.
    Logging, evaluation and saving are of none. Those integrations are called before the callbacks of a program, and
    would not see what is added then; so this one moves itself to the front of the Trainer's callbacks.

    `h2d`, `d2h` and `sync` are the most that a step may have of each, after the first `warmup`. Raises
    TransferLimitExceeded in the step that has more, and ValueError for other limits. `transfers` is the count: print
    it after `train` to see the lines.
    """

    def __init__(
        self, *, h2d: int | None = None, d2h: int | None = None, sync: int | None = None, warmup: int = 1
    ) -> None:
        self.transfers = PerStep(h2d=h2d, d2h=d2h, sync=sync, warmup=warmup)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin to count."""
        self._to_front()
        self.transfers.start()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What came before is of no step."""
        self.transfers.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step ended."""
        self.transfers.end()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Add what was counted; what the Trainer read for its own values is of no step."""
        self.transfers.begin()
        if logs is None or any(name.startswith(("eval_", "test_", "train_runtime")) for name in logs):
            return
        values = self.transfers.scalars()
        logs.update(values)
        history = getattr(state, "log_history", None)
        if history and history[-1].get("step") == state.global_step:  # it was appended before callbacks are called
            history[-1].update(values)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What came before is of no step."""
        self.transfers.begin()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What came before is of no step."""
        self.transfers.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Count no more."""
        self.transfers.stop()

    def _to_front(self) -> None:
        """Callbacks are given everything but the list that they are in: it belongs to who calls (`CallbackHandler`,
        transformers/trainer_callback.py). A list of another kind is left as it is."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            handler: Any = frame.f_locals.get("self")
            callbacks = getattr(handler, "callbacks", None)
            if isinstance(callbacks, list) and self in callbacks:
                handler.callbacks = [self, *(one for one in callbacks if one is not self)]
                return
            frame = frame.f_back
