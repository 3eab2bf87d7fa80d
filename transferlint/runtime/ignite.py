"""For PyTorch-Ignite: `TransfersHandler().attach(engine)` puts what an iteration moves into `engine.state.metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime_check.per_step import PerStep

if TYPE_CHECKING:
    from ignite.engine import Engine, Events
else:
    try:
        from ignite.engine import Engine, Events
    except ImportError:
        raise ImportError("transferlint.runtime.ignite needs PyTorch-Ignite: pip install pytorch-ignite") from None


class TransfersHandler:
    """Counts transfers and waits of each iteration of an engine, of all threads, and puts them into
    `engine.state.metrics` as `transfers/h2d` and so on (see `PerStep.scalars`), for the handlers of
    `ITERATION_COMPLETED` that are attached after it: loggers, progress bars.

    An iteration goes from the fetch of its batch (`GET_BATCH_STARTED`) to `ITERATION_COMPLETED`; what other handlers do
    after that, evaluation among it, is of none.

    `h2d`, `d2h` and `sync` are the most that an iteration may have of each, after the first `warmup`. Raises
    TransferLimitExceeded in the one that has more, and ValueError for other limits. `transfers` is the count: print it
    after `run` to see the lines.
    """

    def __init__(
        self, *, h2d: int | None = None, d2h: int | None = None, sync: int | None = None, warmup: int = 1
    ) -> None:
        self.transfers = PerStep(h2d=h2d, d2h=d2h, sync=sync, warmup=warmup)

    def attach(self, engine: Engine) -> None:
        """Count in an engine from now on."""
        engine.add_event_handler(Events.STARTED, self._started)
        engine.add_event_handler(Events.GET_BATCH_STARTED, self._begin)
        engine.add_event_handler(Events.ITERATION_COMPLETED, self._end)
        engine.add_event_handler(Events.COMPLETED, self._stopped)

    def _started(self, engine: Any) -> None:
        self.transfers.start()

    def _begin(self, engine: Any) -> None:
        self.transfers.begin()

    def _end(self, engine: Any) -> None:
        try:
            self.transfers.end()
        finally:
            engine.state.metrics.update(self.transfers.scalars())

    def _stopped(self, engine: Any) -> None:
        self.transfers.stop()
