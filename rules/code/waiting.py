"""Whether a call waits for the device in what it calls, so that a read beside it costs no wait of its own."""

from __future__ import annotations

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.kept import region_of
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, NUMBER, SCALAR_READ, TRUTH, Transfer
from transferlint.flow.lattice.values import ON_DEVICE, TENSOR
from transferlint.flow.placement.placed import Placed
from transferlint.syntax.program import Function, Reg

_WAITS = frozenset({DOWNLOAD, NUMBER, SCALAR_READ, TRUTH})
_THROUGH = frozenset({"with", "try", "for"})  # what a call goes through, though a loop may have no turn
_DEEP = 2  # calls within calls


@once
def called(function: FunctionFacts, reg: Reg) -> bool:
    """True for a call of a function of the project that waits for the device whenever it is called."""
    return _called(function, function.calls.get(reg, ""), _DEEP)


def _called(function: FunctionFacts, callee: str, depth: int) -> bool:
    place = split(callee)
    placed = function.file.placed_at(*place) if place is not None else None
    if placed is None or placed.function.is_generator or placed.role.skip:
        return False
    if any(_waits(placed, one) for one in placed.transfers):
        return True
    return depth > 0 and any(
        _always(placed.function, reg) and other != callee and _called(function, other, depth - 1)
        for reg, other in placed.calls.items()
    )


def _waits(placed: Placed, transfer: Transfer) -> bool:
    before = transfer.before
    there = before.is_a(TENSOR) and bool(before.places & ON_DEVICE)
    return transfer.kind in _WAITS and there and _always(placed.function, transfer.register)


def _always(function: Function, reg: Reg) -> bool:
    """True where every call comes by."""
    around = function.ancestors(region_of(function, reg))
    return all(region.kind in _THROUGH for region in around)
