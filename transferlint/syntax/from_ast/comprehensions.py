"""Lowering of comprehensions; see `syntax/comprehensions.py`."""

from __future__ import annotations

import ast
from typing import Any

from transferlint.syntax import scopes
from transferlint.syntax.from_ast import parts, targets
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.from_ast.places import Part
from transferlint.syntax.program import Collect, Next, Reg, Test

KINDS: dict[type, str] = {
    ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict", ast.GeneratorExp: "generator"
}  # fmt: skip


def comprehension(b: Builder, node: Any) -> Reg:
    """The clauses as nested regions, the element innermost, and the `Collect` after them all."""
    table = b.expressions
    outer = b.region
    iterable = table[type(node.generators[0].iter)](b, node.generators[0].iter)
    first_region = len(b.function.regions)
    bound = [name for clause in node.generators for name in targets.names(clause.target)]
    scope = scopes.opened(b, bound)
    headers: list[int] = []
    before: ast.expr = node.value if type(node) is ast.DictComp else node.elt
    last = _last(node.generators[-1])
    for clause in node.generators:
        if headers:
            iterable = table[type(clause.iter)](b, clause.iter)
        _clause(b, clause, iterable, headers, Part(parts.clause, (before, last)))
        before = _last(clause)
    key, value = _element(b, node)
    b.link((b.block,), headers[-1])
    scopes.close(b, scope)
    b.open(outer, headers[0])
    return b.emit(Collect(KINDS[type(node)], key, value, first_region), node)


def _last(clause: ast.comprehension) -> ast.expr:
    return clause.ifs[-1] if clause.ifs else clause.iter


def _clause(b: Builder, clause: ast.comprehension, iterable: Reg, headers: list[int], part: Part) -> None:
    """One `for` with its conditions. Where it has no more elements the loop around it goes on."""
    region = b.add_region("comprehension", iterable, part, b.region)
    header = b.open(region, b.block)
    element = b.emit(Next(iterable, region), clause.target)
    b.open(region, header)
    if headers:
        b.link((header,), headers[-1])
    headers.append(header)
    b.function.regions[region].target_slots = tuple(b.slot(name) for name in targets.names(clause.target))
    targets.assign(b, clause.target, element)
    before = clause.iter
    for condition in clause.ifs:
        _filter(b, condition, header, Part(parts.clause, (before, condition)))
        before = condition


def _filter(b: Builder, condition: ast.expr, header: int, part: Part) -> None:
    """A condition: where it is false the loop goes on, where it is true all that follows stands in a "then" region."""
    test = b.expressions[type(condition)](b, condition)
    b.emit(Test(test, "filter"), condition)
    asked = b.block
    b.open(b.add_region("then", test, part, b.region), asked)
    b.link((asked,), header)


def _element(b: Builder, node: Any) -> tuple[Reg | None, Reg]:
    """The key (of a dict comprehension) and the value."""
    table = b.expressions
    if type(node) is ast.DictComp:
        key = table[type(node.key)](b, node.key)
        return key, table[type(node.value)](b, node.value)
    return None, table[type(node.elt)](b, node.elt)


COMPREHENSIONS: dict[type, Any] = dict.fromkeys(KINDS, comprehension)
