"""What is the same for all groups of a run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transferlint.engine import workers
from transferlint.engine.plan import Plan
from transferlint.sources.context import Context

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from transferlint.engine.kept_results import Keeper
    from transferlint.flow.callgraph.modules import ModuleIndex


@dataclasses.dataclass(frozen=True)
class Run:
    """What is the same for all groups of a run: what is around the files, the plans by scope, the number of workers (0:
    as many as suit), who hears of progress, the indices of the jobs that are told of, what keeps results (None: nothing
    does), and what reads files (None: workers)."""

    around: Context
    plans: Sequence[Plan]
    count: int
    done: workers.Done
    told: frozenset[int]
    keeper: Keeper | None = None
    executor: Executor | None = None

    @functools.cached_property
    def index(self) -> ModuleIndex:
        """The modules of the project."""
        return self.around.index()
