"""The heat of a place in a function, before it is put in words."""

from __future__ import annotations

from transferlint import late
from transferlint.model import Level
from transferlint.reasons import Reason
from transferlint.syntax.program import Reg


@late.dataclass(frozen=True, slots=True)
class Warmth:
    """The heat of a place in a function. `cold`: why its function runs rarely; `amortised`: why it does within that;
    `reason`: what else says how often. `loop` is the region of the loop that made it hot
    (-1: none), `caller` the (file, function, register) of the call that did (None: none). `weak`: nothing but its
    arguments says that the function runs repeatedly, or a loop over elements in a function of which nothing is known.
    `unsure`: the function itself is so, whatever loop the place stands in. `doubt`: why it is doubtful in a program of
    which all is in sight (None for no reason). `every`: libraries call the function, or what calls
    it, for every batch; `turn`: a loop over steps in the function holds the place; `looped`: a call that leads to it
    stands in a loop over elements."""

    level: Level
    seen: bool
    amortised: Reason | None = None
    cold: Reason | None = None
    reason: Reason | None = None
    loop: int = -1
    caller: tuple[str, int, Reg] | None = None
    weak: bool = False
    unsure: bool = False
    doubt: Reason | None = None
    every: bool = False
    turn: bool = False
    looped: bool = False

    @property
    def hot(self) -> bool:
        """Runs at least once a step, unguarded."""
        return self.level >= Level.PER_STEP and not self.amortised and not self.cold

    @property
    def once(self) -> bool:
        """Known to run a handful of times: the code of a script outside its loops, setup, or behind a guard."""
        return bool(self.cold or self.amortised) or (self.seen and self.level <= Level.PER_EPOCH)


def rank(warmth: Warmth) -> tuple[bool, bool, bool, int]:
    """What makes one reason for heat better than another: hot at all, not merely assumed, how often."""
    return warmth.hot, not warmth.unsure, not warmth.weak, int(warmth.level)
