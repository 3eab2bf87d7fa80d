"""For Lightning: `Trainer(callbacks=[TransfersCallback()])` logs what each training step moves, beside the loss.

It works with `lightning` and with `pytorch_lightning`, whichever the program has imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime_check.per_step import PerStep

if TYPE_CHECKING:
    from lightning.pytorch import Callback
else:
    try:
        if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
            from pytorch_lightning import Callback
        else:
            from lightning.pytorch import Callback
    except ImportError:
        try:
            from pytorch_lightning import Callback
        except ImportError:
            raise ImportError("transferlint.runtime.lightning needs Lightning: pip install lightning") from None


class TransfersCallback(Callback):
    """Counts transfers and waits of each training step, of all threads, and hands the mean per step to the loggers
    every `log_every_n_steps`, as `transfers/h2d` and so on (see `PerStep.scalars`).

    A step goes from the end of the last one to its own (`on_train_batch_end`), the move of its batch among it;
    validation and what runs between epochs are of none. Lightning writes its own metrics after a step that logs, so
    what it reads for them is in the next one, which is not held against `d2h` and `sync`.

    `h2d`, `d2h` and `sync` are the most that a step may have of each, after the first `warmup`. Raises
    TransferLimitExceeded in the step that has more, and ValueError for other limits. `transfers` is the count: print
    it after `fit` to see the lines.
    """

    def __init__(
        self, *, h2d: int | None = None, d2h: int | None = None, sync: int | None = None, warmup: int = 1
    ) -> None:
        super().__init__()
        self.transfers = PerStep(h2d=h2d, d2h=d2h, sync=sync, warmup=warmup)
        self._logged = False

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to count."""
        self.transfers.start()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """What came before is of no step."""
        self.transfers.begin()
        self._logged = False

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """What comes now is of no step."""
        self.transfers.hold()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The next step goes on."""
        self.transfers.resume()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A step ended."""
        try:
            self.transfers.end(excused=("d2h", "sync") if self._logged else ())
        finally:
            self._logged = _logs_now(trainer)
            if self._logged:
                self._log(trainer, self.transfers.scalars())

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Count no more."""
        self.transfers.stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Count no more."""
        self.transfers.stop()

    def _log(self, trainer: Any, values: Mapping[str, float]) -> None:
        """To the loggers themselves: `self.log` would make a tensor of each value on the device."""
        if not values:
            return
        loop = getattr(trainer.fit_loop, "epoch_loop", None)
        step = getattr(loop, "_batches_that_stepped", trainer.global_step)  # as Lightning's own callbacks number steps
        for logger in trainer.loggers:
            logger.log_metrics(values, step=step)


def _logs_now(trainer: Any) -> bool:
    """Whether Lightning writes its metrics after this step: every `log_every_n_steps`, counted from 1."""
    connector = getattr(trainer, "_logger_connector", None)
    said = getattr(connector, "should_update_logs", None)
    if isinstance(said, bool):
        return said or bool(trainer.fast_dev_run)
    every = trainer.log_every_n_steps
    return bool(every) and trainer.global_step % every == 0
