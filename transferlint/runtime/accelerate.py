"""For loops with Accelerate: `count_transfers(accelerator)` adds what a step moves to what `accelerator.log` logs."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from runtime_check.hooks import steps
from runtime_check.leading import Leader
from runtime_check.per_step import PerStep

if TYPE_CHECKING:
    from accelerate import Accelerator
else:
    try:
        from accelerate import Accelerator
    except ImportError:
        raise ImportError("transferlint.runtime.accelerate needs Accelerate: pip install accelerate") from None


class count_transfers(PerStep):
    """Counts transfers and waits of each optimizer step, of all threads, from here to `accelerator.end_training()` or
    `stop`, and adds the mean per step to what `accelerator.log` is given, as `transfers/h2d` and so on (see
    `PerStep.scalars`), where a step ended since it was last called. It can be a context manager, too.

    A step goes from the end of the last to its own, with all batches that it accumulates and what the loop does
    besides; `with transfers.pause():` leaves a region out. Where a loop has several optimizers, one of them counts.

    `h2d`, `d2h` and `sync` are the most that a step may have of each, after the first `warmup`: the `optimizer.step()`
    that ends one with more raises TransferLimitExceeded. Raises ValueError for other limits, and TypeError for what is
    no Accelerator.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        *,
        h2d: int | None = None,
        d2h: int | None = None,
        sync: int | None = None,
        warmup: int = 1,
    ) -> None:
        super().__init__(h2d=h2d, d2h=d2h, sync=sync, warmup=warmup)
        if not isinstance(accelerator, Accelerator):
            raise TypeError(f"count_transfers({type(accelerator).__name__}): an Accelerator")
        self._leader = Leader()
        self.start()
        self._undo = steps.install(self._stepped)
        self._accelerator: Any = accelerator
        self._log, self._end_training = accelerator.log, accelerator.end_training
        self._accelerator.log, self._accelerator.end_training = self._logged, self._ended

    def stop(self) -> None:
        """Count no more, and leave `accelerator.log` as it was."""
        super().stop()
        self._undo()
        for name in ("log", "end_training"):
            vars(self._accelerator).pop(name, None)

    def __enter__(self) -> count_transfers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _stepped(self, optimizer: object) -> None:
        if self._leader.ends(optimizer):
            self.end()

    def _logged(self, values: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        return self._log({**values, **self.scalars()}, *args, **kwargs)

    def _ended(self) -> Any:
        self.stop()
        return self._end_training()
