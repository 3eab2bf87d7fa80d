"""`Scalars(writer)`: what each step moves, written to TensorBoard, Weights & Biases or whatever takes numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from runtime_check.per_step import PREFIX, PerStep


class Scalars(PerStep):
    """Counts while it is entered, and writes after every `every` steps the mean per step:
    `with Scalars(writer) as transfers:`, and `transfers.step()` at the end of each.

    `to` is a `SummaryWriter` of TensorBoard (it has `add_scalar(name, value, step)`: PyTorch documentation,
    "torch.utils.tensorboard"), a run of Weights & Biases (it has `log(values)`: its documentation, "Run.log"; the
    number of the step is among the values, as `transfers/step`), or a function of the values by name and the number of
    the step. Only Python numbers are handed over. Limits are those of `PerStep`. Raises TypeError for another `to`, and
    ValueError for fewer than one step.
    """

    def __init__(
        self,
        to: Any,
        *,
        every: int = 1,
        h2d: int | None = None,
        d2h: int | None = None,
        sync: int | None = None,
        warmup: int = 1,
    ) -> None:
        super().__init__(h2d=h2d, d2h=d2h, sync=sync, warmup=warmup)
        if every < 1:
            raise ValueError(f"every={every}: a number of steps, 1 or more")
        self._write = _writing(to)
        self._every = every

    def step(self) -> None:
        """A step ended. Raises TransferLimitExceeded where it moved more than it may."""
        try:
            self.end()
        finally:
            if self.steps % self._every == 0:
                self._write(self.scalars(), self.steps)

    def __enter__(self) -> Scalars:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._since:
            self._write(self.scalars(), self.steps)


def _writing(to: Any) -> Callable[[Mapping[str, float], int], object]:
    """How values are handed to it."""
    if hasattr(to, "add_scalar"):

        def add(values: Mapping[str, float], step: int) -> None:
            for name, value in values.items():
                to.add_scalar(name, value, step)

        return add
    if hasattr(to, "log") and callable(to.log):
        return lambda values, step: to.log({**values, f"{PREFIX}step": step})
    if callable(to):
        function: Callable[[Mapping[str, float], int], object] = to
        return function
    raise TypeError(f"Scalars({type(to).__name__}): a SummaryWriter, a run of wandb, or a function of values and step")
