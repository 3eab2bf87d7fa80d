"""Calls of torch that look at data themselves before they return, and what to write in their place."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.transfers import Transfer
from transferlint.flow.values import MODULE
from transferlint.knowledge.api import Api, Effect
from transferlint.knowledge.lookup import row_of
from transferlint.model import Confidence
from transferlint.syntax.program import Call, Reg

from .chains import called, method, receiver
from .detection import sure

_EFFECTS = frozenset({Effect.CHECK, Effect.VALIDATES, Effect.ASKS})
_COPIES = frozenset({Effect.COPIES_OPERAND, Effect.KEEP, Effect.READS_STATE})


def looks(function: FunctionFacts, transfer: Transfer) -> Api | None:
    """The row of what a call does that asks for the truth of something it is given or computes itself; None for tests
    that the source spells."""
    row = _row(function, transfer.register) if transfer.subject is None else None
    return row if row is not None and row.effect in _EFFECTS and row.instead else None


def copies(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps where a call of torch reads something itself; "" where the source says that it does."""
    row = _row(function, transfer.register) if not transfer.explicit else None
    return row.instead if row is not None and row.effect in _COPIES else ""


def _row(function: FunctionFacts, reg: Reg) -> Api | None:
    """The row of what a call calls: a function, a method of an object or of a tensor, a module."""
    if name := called(function, reg):
        return row_of(name)
    owner, made = receiver(function, reg), function.code[reg]
    if owner is not None:
        last = method(function, reg)
        return row_of(f"{function.values[owner].name}.{last}") or row_of(f"Tensor.{last}")
    module = function.values[made.function] if isinstance(made, Call) else None
    return row_of(f"{module.name}.forward") if module is not None and module.is_a(MODULE) else None


def surely(function: FunctionFacts, transfer: Transfer, row: Api) -> Confidence:
    """As for tests that the source spells; at most possible where there is hardly a way around."""
    return sure(function, transfer, loops=False) if row.avoidable else Confidence.POSSIBLE
