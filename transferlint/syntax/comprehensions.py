"""Lowering of comprehensions and generator expressions: loops of the function they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from transferlint.syntax import scopes, targets
from transferlint.syntax.builder import Builder
from transferlint.syntax.program import Collect, Next, Reg, Test
from transferlint.syntax.spelling import identifier

KINDS: dict[type, str] = {cst.ListComp: "list", cst.SetComp: "set", cst.DictComp: "dict", cst.GeneratorExp: "generator"}


def comprehension(b: Builder, node: Any) -> Reg:
    """The clauses as nested regions, the element innermost, and the `Collect` after them all."""
    table = b.expressions
    clause: Any = node.for_in
    outer = b.region
    iterable = table[type(clause.iter)](b, clause.iter)
    first_region = len(b.function.regions)
    scope = scopes.opened(b, _bound(clause))
    headers: list[int] = []
    while True:
        _clause(b, clause, iterable, headers)
        clause = clause.inner_for_in
        if clause is None:
            break
        iterable = table[type(clause.iter)](b, clause.iter)
    key, value = _element(b, node)
    b.link((b.block,), headers[-1])
    scopes.close(b, scope)
    b.open(outer, headers[0])
    return b.emit(Collect(KINDS.get(type(node), "dict"), key, value, first_region), node)


def _bound(clause: cst.CompFor | None) -> Iterator[str]:
    """The names that all clauses bind."""
    while clause is not None:
        yield from (identifier(target.value) for target in targets.names(clause.target))
        clause = clause.inner_for_in


def _clause(b: Builder, clause: cst.CompFor, iterable: Reg, headers: list[int]) -> None:
    """One `for` with its conditions. Where it has no more elements the loop around it goes on."""
    region = b.add_region("comprehension", iterable, clause, b.region)
    header = b.open(region, b.block)
    element = b.emit(Next(iterable, region), clause.target)
    b.open(region, header)
    if headers:
        b.link((header,), headers[-1])
    headers.append(header)
    bound = [identifier(name.value) for name in targets.names(clause.target)]
    b.function.regions[region].target_slots = tuple(b.slot(name) for name in bound)
    targets.assign(b, clause.target, element)
    for condition in clause.ifs:
        _filter(b, condition, header)


def _filter(b: Builder, condition: cst.CompIf, header: int) -> None:
    """A condition: where it is false the loop goes on, where it is true all that follows stands in a "then" region."""
    test = b.expressions[type(condition.test)](b, condition.test)
    b.emit(Test(test, "filter"), condition.test)
    asked = b.block
    b.open(b.add_region("then", test, condition, b.region), asked)
    b.link((asked,), header)


def _element(b: Builder, node: Any) -> tuple[Reg | None, Reg]:
    """The key (of a dict comprehension) and the value."""
    table = b.expressions
    if type(node) is cst.DictComp:
        key = table[type(node.key)](b, node.key)
        return key, table[type(node.value)](b, node.value)
    element = node.elt if hasattr(node, "elt") else node.value
    return None, table[type(element)](b, element)


COMPREHENSIONS: dict[type, Any] = dict.fromkeys(KINDS, comprehension)
if hasattr(cst, "StarredDictComp"):
    COMPREHENSIONS[cst.StarredDictComp] = comprehension
