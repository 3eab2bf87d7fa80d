"""Reads of one tensor in several ways: a number, a truth, an item."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import NUMBER, SCALAR_READ, TRUTH, Transfer

from ..questions import own_checks, presence
from ..questions.alike import tensor_of
from ..questions.detection import likely
from ..questions.round_trips import decided_together, told
from . import branchless


def in_several_ways(function: FunctionFacts, above: str) -> Iterator[list[Transfer]]:
    """Reads in hot code of which rules of their own would tell apart (`above`: none with a higher code does), of one
    tensor, where it is read in more than one way. What is hotter than the first of them stands by itself."""
    if function.role.skip:
        return
    found: dict[str, list[Transfer]] = {}
    for transfer in function.transfers:
        reg = transfer.register
        tensor = tensor_of(function, transfer) if transfer.inside is None and function.has_text(reg) else ""
        if not tensor or not _tells(function, transfer):
            continue
        if function.warmth(reg).hot and not function.claimed(reg, above):
            found.setdefault(tensor, []).append(transfer)
    for group in found.values():
        group.sort(key=lambda transfer: function.span(transfer.register))
        most = function.warmth(group[0].register).level
        group = [transfer for transfer in group if function.warmth(transfer.register).level <= most]
        if len({transfer.kind for transfer in group}) > 1:
            yield group


def _tells(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a read that a rule reports by default."""
    if transfer.kind == TRUTH:
        if branchless.without_waiting(function, transfer) is not None:
            return False  # the check goes, and what is read elsewhere stays
        if presence.asks_whether_given(function, transfer) or presence.switched_apart(function, transfer):
            return False
        return own_checks.looks(function, transfer) is None and likely(function, transfer, loops=False)
    if transfer.kind not in (NUMBER, SCALAR_READ) or not likely(function, transfer) or told(function, transfer):
        return False
    return transfer.kind == NUMBER or not decided_together(function, transfer)
