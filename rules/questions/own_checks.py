"""Calls of torch that look at data themselves before they return, and what to write in their place."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.knowledge.api import Api, Effect
from transferlint.model import Confidence

from ..code.chains import called_row
from .detection import sure

_EFFECTS = frozenset({Effect.CHECK, Effect.VALIDATES, Effect.ASKS})


def looks(function: FunctionFacts, transfer: Transfer) -> Api | None:
    """The row of what a call does that asks for the truth of something it is given or computes itself; None for tests
    that the source spells."""
    row = called_row(function, transfer.register) if transfer.subject is None else None
    return row if row is not None and row.effect in _EFFECTS and row.instead else None


def surely(function: FunctionFacts, transfer: Transfer, row: Api) -> Confidence:
    """As for tests that the source spells; at most possible where there is hardly a way around."""
    return sure(function, transfer, loops=False) if row.avoidable else Confidence.POSSIBLE
