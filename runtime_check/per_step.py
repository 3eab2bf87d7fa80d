"""What each step of a training moves: counted, handed out as scalars, and limited.

This is what the integrations for training loops share. They say where a step begins and ends; counting is done by a
`watch` of all threads, of which only totals are read, so that a step costs some microseconds and moves nothing itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Collection, Iterator, Mapping

from runtime_check import limits
from runtime_check.guards import LOGGER
from runtime_check.records import SiteRecord
from runtime_check.totals import Totals
from runtime_check.watching import watch

PREFIX = "transfers/"


@dataclasses.dataclass(frozen=True, slots=True)
class _Mark:
    """What had been counted at a moment: in all, and where steps are limited by the id of a record."""

    totals: Totals
    counts: Mapping[int, tuple[int, int]]

    def later(self, now: _Mark, since: _Mark) -> _Mark:
        """This, as if what was counted from `since` to `now` had been counted before."""
        gained = {key: _less(pair, since.counts.get(key, (0, 0))) for key, pair in now.counts.items()}
        kept = {key: _more(pair, self.counts.get(key, (0, 0))) for key, pair in gained.items()}
        return _Mark(self.totals + (now.totals - since.totals), kept)


class PerStep:
    """Counts the transfers and waits of each step, of all threads, between `start` and `stop`.

    `h2d`, `d2h` and `sync` are the most that a step may have of each (None: as many as it likes), from the step after
    the first `warmup` on. Raises ValueError for other limits.
    """

    def __init__(
        self, *, h2d: int | None = None, d2h: int | None = None, sync: int | None = None, warmup: int = 1
    ) -> None:
        self._limits = limits.checked({"h2d": h2d, "d2h": d2h, "sync": sync})
        if warmup < 0:
            raise ValueError(f"warmup={warmup}: a number of steps, 0 or more")
        self._warmup = warmup
        self.steps = 0  # that have ended
        self._watch: watch | None = None  # made when it is needed: a process that is spawned is sent none
        self._counting = False
        self._since = 0  # steps that ended since scalars were asked for, and what they moved
        self._sum = Totals()
        self._held: list[_Mark] = []
        self._began = self._mark()

    def start(self) -> None:
        """Begin to count. Warns, by the logger "runtime_check", where torch has no accelerator: nothing crosses then.
        Raises ImportError where there is no torch."""
        if self._counting:
            return
        from runtime_check.hooks import device

        if not device.key():
            logging.getLogger(LOGGER).warning(
                "torch finds no accelerator, so that nothing is transferred; transferlint.runtime.simulate(), called "
                "before the program begins, counts on a simulated one"
            )
        self._watch = self._watch or watch(threads="all")
        self._watch.__enter__()
        self._counting = True
        self._forget()

    def stop(self) -> None:
        """Count no more; what was counted can still be read. Does nothing the second time."""
        if self._watch is not None and self._counting:
            self._counting = False
            self._watch.__exit__(None, None, None)

    def begin(self) -> None:
        """What was counted since the last step ended is of no step: evaluation, say, or what a framework logs."""
        self._began = self._mark()

    def end(self, excused: Collection[str] = ()) -> Totals:
        """A step ended; what it moved. The next one begins. Raises TransferLimitExceeded where it was too much, of
        anything but what is `excused`."""
        began, self._began = self._began, self._mark()
        moved = self._began.totals - began.totals
        self.steps += 1
        self._since += 1
        self._sum += moved
        if not self._limits or self.steps <= self._warmup:
            return moved
        over = limits.exceeded({name: most for name, most in self._limits.items() if name not in excused}, moved)
        if over:
            said = f"step {self.steps} transferred too often"
            raise limits.TransferLimitExceeded(limits.message(said, over, moved, self._seen(began)))
        return moved

    def hold(self) -> None:
        """What comes now, until `resume`, is of no step."""
        self._held.append(self._mark())

    def resume(self) -> None:
        """The step that was running at `hold` goes on; does nothing where none was held."""
        if self._held:
            since = self._held.pop()
            if not self._held:
                self._began = self._began.later(self._mark(), since)

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """A region that is of no step: `with transfers.pause(): evaluate()`."""
        self.hold()
        try:
            yield
        finally:
            self.resume()

    def scalars(self) -> dict[str, float]:
        """The mean per step over the steps that ended since this was last asked, by name; {} where none did.

        Names are `transfers/h2d`, `d2h`, `sync` (waits, those of transfers too), `h2d_bytes`, `d2h_bytes`, and
        `blocked_ms`, for how many milliseconds they kept the host; on the simulated accelerator `blocked_ms_modelled`.
        """
        steps, total = self._since, self._sum
        self._since, self._sum = 0, Totals()
        if not steps:
            return {}
        modelled = self._watch is not None and self._watch.time_source == "modelled"
        return {
            f"{PREFIX}h2d": total.h2d / steps,
            f"{PREFIX}d2h": total.d2h / steps,
            f"{PREFIX}sync": total.sync / steps,
            f"{PREFIX}h2d_bytes": total.h2d_bytes / steps,
            f"{PREFIX}d2h_bytes": total.d2h_bytes / steps,
            f"{PREFIX}blocked_ms{'_modelled' if modelled else ''}": total.blocked_ns / 1e6 / steps,
        }

    def records(self) -> tuple[SiteRecord, ...]:
        """All that was counted since `start`, by line, outside of steps too."""
        return () if self._watch is None else self._watch.records()

    def __str__(self) -> str:
        return "nothing was counted" if self._watch is None else str(self._watch)

    def _forget(self) -> None:
        self._began = self._mark()
        self._held = []
        self._since, self._sum = 0, Totals()

    def _mark(self) -> _Mark:
        if self._watch is None:
            return _Mark(Totals(), {})
        return _Mark(self._watch.totals(), self._watch.counts() if self._limits else {})

    def _seen(self, began: _Mark) -> Iterator[SiteRecord]:
        """The records of the step that has just ended, with its counts alone."""
        for record in self.records():
            pair = self._began.counts.get(record.id, (0, 0))
            count, size = _less(pair, began.counts.get(record.id, (0, 0)))
            if count:
                yield dataclasses.replace(record, count=count, bytes=size)


def _less(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] - other[0], one[1] - other[1]


def _more(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]
