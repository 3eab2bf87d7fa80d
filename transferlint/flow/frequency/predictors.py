"""How often functions run of which nobody in sight says it: rows with the rate at which each was right.

After GCC's predict.def. What was measured is in benchmarks/results/predictors.json: of the functions of public packages
that a row applies to, and that ran, the share that ran in at least every other step (`make predictors`), as the mean
of the packages' shares: functions of one package are alike, and one that has many of them would speak for all (113 of
the 264 functions of `called-function` are of one, of which 16 were hot; of the 151 of 22 others 125). A row needs five
packages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.syntax.program import Function

if TYPE_CHECKING:
    from transferlint.flow.placement.placement import FilePlacement

HOT = 0.75  # a row that is right less often leaves a function as it is: hot by its arguments alone


@late.dataclass(frozen=True, slots=True)
class Asked:
    """What the rows look at: a function whose role says nothing, whether it takes tensors and computes on them, whether
    a call of it is in sight, and whether all its calls should be (`private`)."""

    file: FilePlacement
    function: Function
    computes: bool
    called: bool
    private: bool

    @property
    def module(self) -> bool | None:
        """Whether its class is a module; None for what is no method."""
        info = self.file.class_of(self.function)
        return info.module if info is not None and self.function.parent == info.index else None


@late.dataclass(frozen=True, slots=True)
class Predictor:
    """One row: functions that take tensors and compute on them, of some kind. `rate`: the mean share, over packages, of
    those it applies to that were hot. `tried`: why a row of a good rate decides nothing."""

    id: str
    rate: float
    applies: Callable[[Asked], bool]
    tried: str = ""

    @property
    def decides(self) -> bool:
        """Whether what it says counts as known, and not as possible."""
        return self.rate >= HOT and not self.tried


PREDICTORS: tuple[Predictor, ...] = (
    Predictor(
        "entry-function",
        0.86,
        lambda asked: asked.computes and asked.function.parent == 0 and not asked.called,
        "on the validation set it finds nothing that was ever fixed, and one place more that is right as it is",
    ),
    Predictor(
        "plain-method",
        0.79,
        lambda asked: asked.computes and asked.module is False and not (asked.called and asked.private),
    ),
    Predictor(
        "module-method",
        0.41,
        lambda asked: asked.computes and asked.module is True,
    ),
    Predictor("called-function", 0.77, lambda asked: asked.computes),
)


def prediction(asked: Asked) -> Predictor | None:
    """The first row that applies; None where none does."""
    return next((row for row in PREDICTORS if row.applies(asked)), None)
