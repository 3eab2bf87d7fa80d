"""Which steps of a run are recorded."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """The steps that are recorded: from `first`, before `end` (None: to the end of the run)."""

    first: int = 0
    end: int | None = None

    def holds(self, step: int) -> bool:
        """True for a step that is recorded; what happens before the first boundary is step 0."""
        return step >= self.first and (self.end is None or step < self.end)
