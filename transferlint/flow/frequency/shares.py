"""In which share of the steps a place is expected to run: rows with weights that were fitted together.

After Y. Wu and J. R. Larus (Static branch frequency and program profile analysis, 1994) with the weights of a logistic
regression in the place of rates that are multiplied: the rows are not independent of each other. What was measured is
in benchmarks/results/shares.json (`make predictors`): lines with a transfer of public packages, whose function ran.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from transferlint import late
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.frequency.warmth import Warmth
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg
from transferlint.syntax.regions import Region

_MOST = 2  # times that a row counts
_TOLD = frozenset("ndim shape dtype dim size numel".split())  # of a tensor, without its values
_SELF = ("self", "cls")


@late.dataclass(frozen=True, slots=True)
class Row:
    """One row: its weight (of the logarithm of the odds, each time that it applies), and where it says that a place
    stands."""

    id: str
    weight: float
    words: str


ROWS = (
    Row("every-batch", 0.84, "in code that runs for every batch"),
    Row("straight", 1.19, "in no branch"),
    Row("after-exit", 0.34, "after a branch that leaves"),
    Row("object-option", -1.08, "behind a condition on attributes of its object"),
    Row("condition", -0.63, "behind a condition"),
    Row("called-in-a-loop", -0.4, "called in a loop"),
)
BIAS = -0.26
# What is not hot: the shares that were measured. Nothing is expected more seldom than the least of them: the few lines
# to which many rows apply ran more often than these say together.
COLD, AMORTISED, ONCE = 0.2, 0.12, 0.16
_WEIGHTS = {row.id: row.weight for row in ROWS}


def _of_odds(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


# A step is a turn of the loop over steps: what no branch holds in that runs in each, by what the words mean.
_ALWAYS = _of_odds(BIAS + _WEIGHTS["every-batch"] + _WEIGHTS["straight"])


def rows(function: Function, regions: Iterable[Region], warmth: Warmth) -> Counter[str]:
    """How often each row applies to a place of a function that is hot, and stands in these regions."""
    found: Counter[str] = Counter()
    conditions: dict[Reg, str] = function.lookup.kept.setdefault(rows, {})
    arms = 0
    for one in regions:
        if one.kind not in ("then", "else") or one.test is None or (one.leaves == "raise" and not one.implied):
            continue
        arms += 1
        if one.test not in conditions:
            conditions[one.test] = _condition(function, one.test)
        row = "after-exit" if one.implied else conditions[one.test]
        if row and found[row] < _MOST:
            found[row] += 1
    if not arms:
        found["straight"] = 1
    if warmth.every or warmth.turn:
        found["every-batch"] = 1
    if warmth.looped:
        found["called-in-a-loop"] = 1
    return found


def share(warmth: Warmth, found: Mapping[str, int]) -> float:
    """The share of steps, 0 to 1, in which a place is expected to run, of which `rows` found this."""
    if warmth.cold:
        return COLD
    if not warmth.hot:
        return AMORTISED if warmth.amortised else ONCE
    odds = BIAS + sum(_WEIGHTS[row] * count for row, count in found.items())
    expected = max(AMORTISED, _of_odds(odds))
    return min(1.0, expected / _ALWAYS) if warmth.turn else expected


def _condition(function: Function, test: Reg) -> str:
    """The row of an arm by its test; "" for one that asks for the shape or the type of a tensor, or whether an argument
    was given, of which no share tells."""
    given = {one.slot: one for one in function.parameters}
    own = shape = absent = none = False
    for reg in tree(function.code, test):
        made = function.code[reg]
        if isinstance(made, p.Load) and made.slot in given:
            own = own or given[made.slot].name in _SELF
            absent = absent or given[made.slot].default == "None"
        elif isinstance(made, p.Attr):
            shape = shape or made.name in _TOLD
        elif isinstance(made, p.Outer):
            shape = shape or made.name == "len"
        elif isinstance(made, p.Compare):
            consts = (function.code[one] for one in made.operands)
            none = none or any(isinstance(one, p.Const) and one.value is None for one in consts)
    if none and absent:
        return ""
    return "object-option" if own else "" if shape else "condition"
