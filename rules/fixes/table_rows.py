"""Rows that a loop takes from a table of constants on the host, and uploads one by one."""

from __future__ import annotations

from transferlint.flow.callgraph.names import find
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.frequency.loops import classify
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import FRESH, HOST, LITERAL, ON_DEVICE, PINNED, TENSOR
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.knowledge.torch_names import VIEWS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, origin
from .creating import RANDOM
from .making import creates, sources


def table_of(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """The table, made by torch of constants alone, of which a move in a loop uploads a row that the loop picks: it
    could be uploaded as a whole before the loop. None for other moves. A table of data is none: of it, what each step
    needs may be all that the device can hold."""
    before = transfer.before
    if transfer.subject is None or transfer.inside is not None or not transfer.places & ON_DEVICE:
        return None
    if not before.is_a(TENSOR) or before.places != HOST or before.flags & PINNED:
        return None
    row = _row(function, origin(function, transfer.subject))
    made = function.code[row] if row is not None else None
    if row is None or not isinstance(made, p.Subscript):
        return None
    value, table = function.values[made.object], made.object
    if not value.is_a(TENSOR) or value.places != HOST or not value.flags & FRESH or not _of_constants(function, table):
        return None
    at = path(function, table)
    if at is None or Writes(function, range(len(function.code))).reaches(at):
        return None
    picking = (invariance(function, r) for r in function.loops(row) if _turns(function, transfer.register, r))
    return table if any(one.holds(table) and not one.holds(made.index) for one in picking) else None


def _turns(function: FunctionFacts, moved: Reg, region: int) -> bool:
    """True for a statement's loop around the move that turns more than a handful of times."""
    loop = function.function.regions[region]
    over = function.values[loop.test] if loop.test is not None else None
    few = classify(function.function, loop, over) == "few"
    return loop.kind != "comprehension" and not few and function.inside(moved, region)


def _row(function: FunctionFacts, reg: Reg) -> Reg | None:
    """The subscript of which a chain of views and casts is made."""
    made = function.code[reg]
    while isinstance(made, p.Call):
        callee = function.code[made.function]
        if not isinstance(callee, p.Attr) or callee.name not in VIEWS:
            return None
        reg = origin(function, callee.object)
        made = function.code[reg]
    return reg if isinstance(made, p.Subscript) else None


def _of_constants(function: FunctionFacts, table: Reg) -> bool:
    """True for a variable of this function, or of one around it, that is made by torch of nothing but numbers."""
    made, at = function.code[table], table
    if isinstance(made, p.Outer):
        bound = find(function.file.program, function.function, made.name)
        owner = function.file.functions[bound[0]] if bound is not None else None
        stores = owner.stores(bound[1]) if owner is not None and bound is not None else []
        store = owner.code[stores[0]] if owner is not None and len(stores) == 1 else None
        if owner is None or not isinstance(store, p.Store):
            return False
        function, at = owner, store.value
    elif not isinstance(made, p.Load):
        return False
    found = list(sources(function, at))
    return bool(found) and all(_constant(function, one) for one in found)


def _constant(function: FunctionFacts, made: Reg) -> bool:
    """True for a call that fills a tensor with numbers of the source or puts positions in an order; random numbers
    stand for data."""
    if called(function, made).rpartition(".")[2] in RANDOM - {"randperm"}:
        return False
    return creates(function, made) or bool(function.values[made].flags & LITERAL)
