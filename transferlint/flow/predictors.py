"""How often functions run of which nobody in sight says it: rows with the rate at which each was right.

After GCC's predict.def. What was measured is in benchmarks/results/predictors.json: of the functions of public packages
that a row applies to, and that ran, the share that ran in at least every other step (`make predictors`). A row needs
five packages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from transferlint.syntax.program import Function

if TYPE_CHECKING:
    from transferlint.flow.placement import FilePlacement

HOT = 0.75  # a row that says so of fewer leaves a function as it is: hot only by its arguments


@dataclasses.dataclass(frozen=True, slots=True)
class Predictor:
    """One row. `applies`: whether it says something of a function that takes tensors and computes on them, whose role
    says nothing, where `called` tells whether a call of it is in sight. `rate`: the share of those that were hot."""

    id: str
    words: str
    rate: float
    applies: Callable[[FilePlacement, Function, bool], bool]


def _of_class(file: FilePlacement, function: Function, module: bool) -> bool:
    info = file.class_of(function)
    return info is not None and function.parent == info.index and info.module is module


def _at_top(file: FilePlacement, function: Function, called: bool) -> bool:
    return function.parent == 0 and not called


PREDICTORS: tuple[Predictor, ...] = (
    Predictor("entry-function", "a function that nobody in sight calls", 0.83, _at_top),
    Predictor("plain-method", "a method of a class", 0.84, lambda file, one, called: _of_class(file, one, False)),
    Predictor("module-method", "a method of a module", 0.46, lambda file, one, called: _of_class(file, one, True)),
)


def prediction(file: FilePlacement, function: Function, called: bool) -> Predictor | None:
    """The row for a function that takes tensors, and computes on them; None where there is none."""
    return next((row for row in PREDICTORS if row.applies(file, function, called)), None)
